// Tests the settlement contract's providers: their registration, thresholds, wallets, and deposits into their vaults (CHN-3 to CHN-5).
import type { Hex } from "viem";
import { describe, expect, test } from "vitest";
import {
  eventsOf,
  OTHER_PROVIDER,
  PROVIDER,
  pay,
  THRESHOLD,
  UNIT,
  useWorld,
  type World,
  ZERO_ADDRESS,
  ZERO_HASH,
} from "./support.ts";
import { createTestContract } from "./test-contracts.ts";

let world: World;
let token: Hex;

useWorld((built) => {
  world = built;
  token = built.chain.token;
});

describe("registering a provider", () => {
  const register = (wallet: Hex, threshold = THRESHOLD, provider: Hex = OTHER_PROVIDER) =>
    [provider, token, wallet, threshold] as const;

  test("creates the vault at the address that was known before", async () => {
    const predicted = await world.vault(OTHER_PROVIDER);
    expect(await world.client.getCode({ address: predicted })).toBeUndefined();
    const receipt = await world.act("registrar", "registerProvider", register(world.people.other.address));
    expect(eventsOf(receipt)[0]).toMatchObject({
      eventName: "ProviderRegistered",
      args: { vault: predicted, operationalWallet: world.people.other.address, threshold: THRESHOLD },
    });
    expect(await world.client.getCode({ address: predicted })).toMatch(/^0x/);
    expect(await world.read("splitOf", [OTHER_PROVIDER, token])).toEqual([world.people.other.address, THRESHOLD]);
  });

  test("changes nothing if it is repeated, and is refused with other values", async () => {
    const { other, stranger } = world.people;
    await world.act("registrar", "registerProvider", register(other.address));
    const again = await world.act("registrar", "registerProvider", register(other.address));
    expect([again.status, eventsOf(again)]).toEqual(["success", []]);
    for (const args of [register(stranger.address), register(other.address, THRESHOLD - 1n)]) {
      expect(await world.refusalOf("registrar", "registerProvider", args)).toBe("ProviderExists");
    }
  });

  test("gives each provider a vault of its own, which a second token shares", async () => {
    expect(await world.vault(PROVIDER)).not.toBe(await world.vault(OTHER_PROVIDER));
    const second = await createTestContract(world, "UsdcLike", []);
    await world.act("admin", "listToken", [second, 10n]);
    const args = [PROVIDER, second, world.people.wallet.address, 5n];
    expect((await world.act("registrar", "registerProvider", args)).status).toBe("success");
    expect(await world.read("splitOf", [PROVIDER, second])).toEqual([world.people.wallet.address, 5n]);
    expect(await world.read("splitOf", [PROVIDER, token])).toEqual([world.people.wallet.address, THRESHOLD]);
  });

  test("in a further token requires the present wallet of the first one, so that a new wallet waits for its delay", async () => {
    const { wallet, other } = world.people;
    const second = await createTestContract(world, "UsdcLike", []);
    await world.act("admin", "listToken", [second, 10n]);
    const refusal = (address: Hex) =>
      world.refusalOf("registrar", "registerProvider", [PROVIDER, second, address, 10n]);
    expect(await world.read("firstTokenOf", [PROVIDER])).toBe(token);
    expect(await refusal(other.address)).toBe("WalletDiffers");
    expect(await refusal(wallet.address)).toBeNull();
    await world.send("wallet", "moveOperationalWallet", [PROVIDER, token, other.address]);
    expect(await refusal(wallet.address)).toBe("WalletDiffers");
    expect(await refusal(other.address)).toBeNull();
  });

  test("counts tokens that were sent to the vault before it existed, and each token by itself", async () => {
    const { other } = world.people;
    const vault = await world.vault(OTHER_PROVIDER);
    await world.mint(vault, THRESHOLD - 3n);
    expect(await world.read("splitOf", [OTHER_PROVIDER, token])).toEqual([ZERO_ADDRESS, 0n]);
    await world.act("registrar", "registerProvider", register(other.address));
    expect(await world.read("escrowBalance", [OTHER_PROVIDER, token])).toBe(THRESHOLD - 3n);
    expect(eventsOf(await pay(world, UNIT, OTHER_PROVIDER))[0]?.args).toMatchObject({ escrow: 3n });
    const second = await createTestContract(world, "UsdcLike", []);
    expect(await world.read("escrowBalance", [OTHER_PROVIDER, second])).toBe(0n);
  });

  test("refuses a zero hash, a zero wallet, the vault or the contract as wallet, an unlisted token, and a threshold out of bounds", async () => {
    const { other, stranger } = world.people;
    const refusal = (args: readonly unknown[]) => world.refusalOf("registrar", "registerProvider", args);
    expect(await refusal(register(other.address, THRESHOLD, ZERO_HASH))).toBe("ZeroHash");
    expect(await refusal(register(ZERO_ADDRESS))).toBe("ZeroAddress");
    expect(await refusal(register(await world.vault(OTHER_PROVIDER)))).toBe("InvalidWallet");
    expect(await refusal(register(world.chain.settlementContract))).toBe("InvalidWallet");
    expect(await refusal([OTHER_PROVIDER, stranger.address, other.address, 1n])).toBe("UnknownToken");
    for (const threshold of [THRESHOLD / 2n - 1n, THRESHOLD + 1n])
      expect(await refusal(register(other.address, threshold))).toBe("InvalidThreshold");
  });

  test("allows changes of threshold and wallet, which apply to later payments", async () => {
    const { stranger, wallet } = world.people;
    const half = THRESHOLD / 2n;
    const named = { providerDidHash: PROVIDER, token };
    const changes: readonly (readonly [string, readonly unknown[], string, Readonly<Record<string, unknown>>])[] = [
      ["setThreshold", [half], "ThresholdSet", { threshold: half }],
      ["setLowThreshold", [half, 0n], "ThresholdSet", { threshold: 0n }],
      [
        "setOperationalWallet",
        [wallet.address, stranger.address],
        "OperationalWalletSet",
        { operationalWallet: stranger.address },
      ],
    ];
    for (const [name, args, eventName, values] of changes) {
      const [set] = eventsOf(await world.act("registrar", name, [PROVIDER, token, ...args]));
      expect(set).toMatchObject({ eventName, args: { ...named, ...values } });
    }
    expect(await world.read("splitOf", [PROVIDER, token])).toEqual([stranger.address, 0n]);
    expect(eventsOf(await pay(world, UNIT))[0]?.args).toMatchObject({ escrow: 0n, operational: UNIT - 500n });
    expect(await world.balance(stranger.address)).toBe(UNIT - 500n);
  });

  test("a threshold is between half the base and the base, and a low one is below the present one that it names", async () => {
    const set = (threshold: bigint) => world.refusalOf("registrar", "setThreshold", [PROVIDER, token, threshold]);
    expect([await set(THRESHOLD / 2n), await set(THRESHOLD)]).toEqual([null, null]);
    expect([await set(THRESHOLD / 2n - 1n), await set(THRESHOLD + 1n)]).toEqual([
      "InvalidThreshold",
      "InvalidThreshold",
    ]);
    const low = (present: bigint, threshold: bigint) =>
      world.refusalOf("registrar", "setLowThreshold", [PROVIDER, token, present, threshold]);
    expect([await low(THRESHOLD, 0n), await low(THRESHOLD, THRESHOLD - 1n)]).toEqual([null, null]);
    for (const [present, threshold] of [
      [THRESHOLD - 1n, 0n],
      [THRESHOLD, THRESHOLD],
      [THRESHOLD, THRESHOLD + 1n],
    ] as const)
      expect(await low(present, threshold)).toBe("InvalidThreshold");
    await world.act("admin", "listToken", [token, 0n]);
    expect([await set(THRESHOLD), await low(THRESHOLD, 0n)]).toEqual(["UnknownToken", null]);
  });

  test("the present wallet alone can name another one at once", async () => {
    const { other, stranger } = world.people;
    const move = [PROVIDER, token, other.address];
    expect(await world.refusal("stranger", "moveOperationalWallet", move)).toBe("WalletDiffers");
    const receipt = await world.send("wallet", "moveOperationalWallet", move);
    expect(eventsOf(receipt)[0]).toMatchObject({
      eventName: "OperationalWalletSet",
      args: { providerDidHash: PROVIDER, token, operationalWallet: other.address },
    });
    expect(await world.read("splitOf", [PROVIDER, token])).toEqual([other.address, THRESHOLD]);
    for (const [wallet, error] of [
      [ZERO_ADDRESS, "ZeroAddress"],
      [world.chain.settlementContract, "InvalidWallet"],
    ])
      expect(await world.refusal("other", "moveOperationalWallet", [PROVIDER, token, wallet])).toBe(error);
    expect(await world.refusal("wallet", "moveOperationalWallet", [PROVIDER, token, stranger.address])).toBe(
      "WalletDiffers",
    );
  });

  test("a threshold keeps its bounds with an odd base, and does not change when the base changes", async () => {
    await world.act("admin", "listToken", [token, 7n]);
    const set = (threshold: bigint) => world.refusalOf("registrar", "setThreshold", [PROVIDER, token, threshold]);
    expect([await set(3n), await set(4n), await set(7n), await set(8n)]).toEqual([
      "InvalidThreshold",
      null,
      null,
      "InvalidThreshold",
    ]);
    expect(await world.read("splitOf", [PROVIDER, token])).toEqual([world.people.wallet.address, THRESHOLD]);
  });

  test("the setters refuse an unknown provider and an impossible wallet", async () => {
    const { other, wallet: present } = world.people;
    expect(await world.refusalOf("registrar", "setThreshold", [OTHER_PROVIDER, token, 1n])).toBe("UnknownProvider");
    expect(await world.refusalOf("arbiter", "setReserve", [OTHER_PROVIDER, token, 1n])).toBe("UnknownProvider");
    const setWallet = (provider: Hex, wallet: Hex, from: Hex = present.address) =>
      world.refusalOf("registrar", "setOperationalWallet", [provider, token, from, wallet]);
    expect(await setWallet(PROVIDER, other.address, other.address)).toBe("WalletDiffers");
    expect(await setWallet(OTHER_PROVIDER, other.address)).toBe("UnknownProvider");
    expect(await setWallet(PROVIDER, ZERO_ADDRESS)).toBe("ZeroAddress");
    expect(await setWallet(PROVIDER, await world.vault(PROVIDER))).toBe("InvalidWallet");
  });
});

describe("pre-funding", () => {
  test("lets anyone deposit into a vault", async () => {
    const receipt = await world.send("consumer", "depositEscrow", [PROVIDER, token, 15n * UNIT]);
    expect(eventsOf(receipt)[0]).toMatchObject({
      eventName: "EscrowDeposited",
      args: {
        providerDidHash: PROVIDER,
        token,
        from: world.people.consumer.address,
        amount: 15n * UNIT,
        vaultBalance: 15n * UNIT,
      },
    });
    expect(await world.read("escrowBalance", [PROVIDER, token])).toBe(15n * UNIT);
    expect(eventsOf(await pay(world, UNIT))[0]?.args).toMatchObject({ escrow: 0n });
  });

  test("refuses a zero amount, an unknown provider and an unlisted token", async () => {
    const refusal = (args: readonly unknown[]) => world.refusal("consumer", "depositEscrow", args);
    expect(await refusal([PROVIDER, token, 0n])).toBe("ZeroAmount");
    expect(await refusal([OTHER_PROVIDER, token, 1n])).toBe("UnknownProvider");
    expect(await refusal([PROVIDER, world.people.other.address, 1n])).toBe("UnknownToken");
    await world.act("admin", "listToken", [token, 0n]);
    expect(await refusal([PROVIDER, token, 1n])).toBe("UnknownToken");
  });
});
