// The settlement contract's arbiter and admin, and the limits of their power (CHN-6, CHN-7).
import type { Hex } from "viem";
import { beforeEach, describe, expect, test } from "vitest";
import {
  CONSUMER,
  eventsOf,
  INTENT,
  OTHER_PROVIDER,
  PROVIDER,
  pay,
  REASON,
  THRESHOLD,
  UNIT,
  useWorld,
  vaultBalance,
  type World,
  ZERO_ADDRESS,
  ZERO_HASH,
} from "./support.ts";

let world: World;
let token: Hex;

useWorld((built) => {
  world = built;
  token = built.chain.token;
});

describe("the arbiter's payout", () => {
  beforeEach(async () => {
    await pay(world, 10n * UNIT);
  });

  test("goes to the payer of the settlement, out of the provider's vault", async () => {
    const before = await world.balance(world.people.consumer.address);
    const receipt = await world.send("arbiter", "payOut", [1n, 400_000n, REASON]);
    expect(eventsOf(receipt)[0]).toMatchObject({
      eventName: "PaidOut",
      args: {
        settlementId: 1n,
        providerDidHash: PROVIDER,
        payer: world.people.consumer.address,
        token,
        amount: 400_000n,
        reasonHash: REASON,
        vaultBalance: 599_500n,
      },
    });
    expect(await world.balance(world.people.consumer.address)).toBe(before + 400_000n);
    expect(await vaultBalance(world)).toBe(599_500n);
  });

  test("is at most the settlement's gross, over all payouts", async () => {
    await world.mint(await world.vault(PROVIDER), 100n * UNIT);
    expect(await world.refusal("arbiter", "payOut", [1n, 10n * UNIT + 1n, REASON])).toBe("ExceedsGross");
    await world.send("arbiter", "payOut", [1n, 6n * UNIT, REASON]);
    expect(await world.refusal("arbiter", "payOut", [1n, 4n * UNIT + 1n, REASON])).toBe("ExceedsGross");
    expect((await world.send("arbiter", "payOut", [1n, 4n * UNIT, REASON])).status).toBe("success");
    expect(await world.refusal("arbiter", "payOut", [1n, 1n, REASON])).toBe("ExceedsGross");
  });

  test("is at most what the vault holds, and touches no other provider's vault", async () => {
    await world.send("registrar", "registerProvider", [OTHER_PROVIDER, token, world.people.other.address, THRESHOLD]);
    await world.send("consumer", "depositEscrow", [OTHER_PROVIDER, token, 50n * UNIT]);
    expect(await world.refusal("arbiter", "payOut", [1n, 999_501n, REASON])).toBe("ExceedsVault");
    await world.send("arbiter", "payOut", [1n, 999_500n, REASON]);
    expect(await vaultBalance(world, OTHER_PROVIDER)).toBe(50n * UNIT);
  });

  test("refuses zero and an unknown settlement", async () => {
    expect(await world.refusal("arbiter", "payOut", [1n, 0n, REASON])).toBe("ZeroAmount");
    for (const id of [0n, 2n])
      expect(await world.refusal("arbiter", "payOut", [id, 1n, REASON])).toBe("UnknownSettlement");
    expect(await world.refusal("stranger", "settlementOf", [0n])).toBe("UnknownSettlement");
  });

  test("works while payments are paused and after the token was delisted", async () => {
    await world.send("admin", "pause", []);
    await world.send("admin", "setTokenAllowed", [token, false]);
    expect((await world.send("arbiter", "payOut", [1n, 1n, REASON])).status).toBe("success");
  });
});

describe("the admin", () => {
  test("releases only the surplus over the threshold, and only to the wallet it has checked", async () => {
    const { wallet, stranger } = world.people;
    await world.mint(await world.vault(PROVIDER), THRESHOLD + 30n);
    const release = (to: Hex, amount: bigint) => [PROVIDER, token, to, amount] as const;
    expect(await world.refusal("admin", "releaseEscrow", release(wallet.address, 31n))).toBe("ExceedsSurplus");
    expect(await world.refusal("admin", "releaseEscrow", release(wallet.address, 0n))).toBe("ZeroAmount");
    expect(await world.refusal("admin", "releaseEscrow", release(stranger.address, 1n))).toBe("InvalidWallet");
    expect(await world.refusal("admin", "releaseEscrow", [OTHER_PROVIDER, token, wallet.address, 1n])).toBe(
      "UnknownProvider",
    );
    const receipt = await world.send("admin", "releaseEscrow", release(wallet.address, 30n));
    expect(eventsOf(receipt)[0]).toMatchObject({
      eventName: "EscrowReleased",
      args: { to: wallet.address, amount: 30n, vaultBalance: THRESHOLD },
    });
    expect(await world.balance(wallet.address)).toBe(30n);
    expect(await world.refusal("admin", "releaseEscrow", release(wallet.address, 1n))).toBe("ExceedsSurplus");
  });

  test("sets the fee up to its maximum, and where it goes", async () => {
    const { stranger } = world.people;
    expect(await world.read("feeBps")).toBe(5n);
    expect(await world.refusal("admin", "setFeeBps", [51n])).toBe("FeeTooHigh");
    await world.send("admin", "setFeeBps", [50n]);
    await world.send("admin", "setFeeRecipient", [stranger.address]);
    await pay(world, UNIT);
    expect(await world.balance(stranger.address)).toBe(5_000n);
    await world.send("admin", "setFeeBps", [0n]);
    expect(eventsOf(await pay(world, UNIT))[0]?.args).toMatchObject({ fee: 0n });
    expect(await world.refusal("admin", "setFeeRecipient", [ZERO_ADDRESS])).toBe("ZeroAddress");
    expect(await world.refusal("admin", "setFeeRecipient", [world.chain.settlementContract])).toBe("InvalidWallet");
  });

  test("lists tokens that are contracts", async () => {
    expect(await world.refusal("admin", "setTokenAllowed", [world.people.other.address, true])).toBe("UnknownToken");
    expect(await world.refusal("admin", "setTokenAllowed", [ZERO_ADDRESS, true])).toBe("ZeroAddress");
  });

  test("stops payments and deposits by pausing, until it unpauses", async () => {
    await world.send("admin", "pause", []);
    const calls = [
      ["pay", [token, UNIT, PROVIDER, CONSUMER]],
      ["payIntent", [token, UNIT, PROVIDER, CONSUMER, INTENT]],
      ["payWithAuthorization", authorizationArgs()],
      ["depositEscrow", [PROVIDER, token, UNIT]],
    ] as const;
    for (const [name, args] of calls)
      expect([name, await world.refusal("consumer", name, args)]).toEqual([name, "EnforcedPause"]);
    await world.send("admin", "unpause", []);
    expect((await pay(world, UNIT)).status).toBe("success");
  });

  test("hands over in two steps a day apart", async () => {
    const { other, admin } = world.people;
    await world.send("admin", "beginDefaultAdminTransfer", [other.address]);
    expect(await world.refusal("other", "acceptDefaultAdminTransfer", [])).toBe(
      "AccessControlEnforcedDefaultAdminDelay",
    );
    await world.client.increaseTime({ seconds: 86_401 });
    await world.client.mine({ blocks: 1 });
    expect((await world.send("other", "acceptDefaultAdminTransfer", [])).status).toBe("success");
    expect(await world.read("defaultAdmin")).toBe(other.address);
    expect(await world.refusal("admin", "pause", [])).toBe("AccessControlUnauthorizedAccount");
    expect(await world.read("hasRole", [ZERO_HASH, admin.address])).toBe(false);
  });

  test("replaces a registrar", async () => {
    const role = await world.read<Hex>("REGISTRAR_ROLE");
    const { registrar, other } = world.people;
    await world.send("admin", "revokeRole", [role, registrar.address]);
    await world.send("admin", "grantRole", [role, other.address]);
    const args = [PROVIDER, token, 1n];
    expect(await world.refusal("registrar", "setThreshold", args)).toBe("AccessControlUnauthorizedAccount");
    expect(await world.refusal("other", "setThreshold", args)).toBeNull();
  });
});

function authorizationArgs(): readonly unknown[] {
  const from = world.people.consumer.address;
  return [token, from, UNIT, PROVIDER, CONSUMER, INTENT, REASON, 0n, 2n ** 40n, 27, REASON, REASON];
}
