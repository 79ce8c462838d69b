// Tests the settlement contract's arbiter, guardian and admin, and the limits of their power (CHN-6, CHN-7).
import type { Hex } from "viem";
import { beforeEach, describe, expect, test } from "vitest";
import { awaitReceipt } from "../../scripts/chain/client.ts";
import { artifacts } from "../../scripts/chain/deploy.ts";
import { signPayment } from "../../scripts/chain/payments.ts";
import {
  CONSUMER,
  eventsOf,
  type Facts,
  factsOf,
  INTENT,
  OTHER_PROVIDER,
  PROVIDER,
  pay,
  paymentOf,
  REASON,
  THRESHOLD,
  UNIT,
  useWorld,
  vaultBalance,
  type World,
  ZERO_ADDRESS,
} from "./support.ts";

let world: World;
let token: Hex;
let facts: Facts;

useWorld((built) => {
  world = built;
  token = built.chain.token;
});

const payOut = (amount: bigint, change: Partial<Facts> = {}) =>
  world.act("arbiter", "payOut", [{ ...facts, ...change }, amount]);
const refused = (amount: bigint, change: Partial<Facts> = {}) =>
  world.refusalOf("arbiter", "payOut", [{ ...facts, ...change }, amount]);

describe("the arbiter's payout", () => {
  beforeEach(async () => {
    facts = await factsOf(world, await pay(world, 10n * UNIT));
  });

  test("goes from the provider's vault to the payer's address for refunds", async () => {
    const { consumer, stranger } = world.people;
    const receipt = await world.send("consumer", "settle", [paymentOf(world, { refundTo: stranger.address })]);
    facts = await factsOf(world, receipt);
    const before = await world.balance(consumer.address);
    const [paid] = eventsOf(await payOut(400_000n));
    const named = { key: facts.key, providerDidHash: PROVIDER, refundTo: stranger.address, token };
    const amounts = { amount: 400_000n, vaultBalance: 2n * 999_500n - 400_000n };
    expect(paid).toMatchObject({ eventName: "PaidOut", args: { ...named, ...amounts } });
    expect([await world.balance(stranger.address), await world.balance(consumer.address)]).toEqual([400_000n, before]);
    expect(await vaultBalance(world)).toBe(2n * 999_500n - 400_000n);
  });

  test("is at most the settlement's gross over all payouts, and has to name what was paid out before", async () => {
    await world.mint(await world.vault(PROVIDER), 100n * UNIT);
    expect(await refused(10n * UNIT + 1n)).toBe("ExceedsGross");
    await payOut(6n * UNIT);
    // If two awards are decided at the same time, the second one names facts that are no longer true.
    expect(await refused(4n * UNIT)).toBe("UnknownSettlement");
    const paidOut = 6n * UNIT;
    expect(await refused(4n * UNIT + 1n, { paidOut })).toBe("ExceedsGross");
    expect((await payOut(4n * UNIT, { paidOut })).status).toBe("success");
    expect(await refused(1n, { paidOut: 10n * UNIT })).toBe("ExceedsGross");
    expect(await refused(1n, { paidOut })).toBe("UnknownSettlement");
  });

  test("is at most what the vault holds, and touches no other provider's vault", async () => {
    await world.act("registrar", "registerProvider", [OTHER_PROVIDER, token, world.people.other.address, THRESHOLD]);
    await world.send("consumer", "depositEscrow", [OTHER_PROVIDER, token, 50n * UNIT]);
    expect(await refused(999_501n)).toBe("ExceedsVault");
    expect((await payOut(999_500n)).status).toBe("success");
    expect(await vaultBalance(world)).toBe(0n);
    expect(await vaultBalance(world, OTHER_PROVIDER)).toBe(50n * UNIT);
  });

  test.each<[string, () => Partial<Facts>]>([
    ["key", () => ({ key: REASON })],
    ["provider", () => ({ providerDidHash: OTHER_PROVIDER })],
    ["token", () => ({ token: world.people.other.address })],
    ["gross", () => ({ gross: 11n * UNIT })],
    ["refundTo", () => ({ refundTo: world.people.stranger.address })],
    ["settledAt", () => ({ settledAt: facts.settledAt + 1n })],
    ["paidOut", () => ({ paidOut: 1n })],
  ])("is refused with another %s than the settlement's, and so is a refund", async (_, change) => {
    expect(await refused(1n, change())).toBe("UnknownSettlement");
    const args = [{ ...facts, ...change() }, 1n];
    expect(await world.refusal("consumer", "refund", args)).toBe("UnknownSettlement");
  });

  test("is possible until the end of the 400th day, and a refund at any time", async () => {
    const last = facts.settledAt + 400n * 86_400n;
    const at = (timestamp: bigint) => world.client.setNextBlockTimestamp({ timestamp });
    await at(last);
    expect((await payOut(1n)).status).toBe("success");
    await at(last + 1n);
    expect((await payOut(1n, { paidOut: 1n })).status).toBe("reverted");
    expect(await refused(1n, { paidOut: 1n })).toBe("TooOld");
    expect((await world.send("consumer", "refund", [{ ...facts, paidOut: 1n }, 1n])).status).toBe("success");
  });

  test("is refused if its amount is zero", async () => {
    expect(await refused(0n)).toBe("ZeroAmount");
  });

  test("does not count refunds", async () => {
    await world.mint(await world.vault(PROVIDER), 100n * UNIT);
    await world.send("consumer", "refund", [facts, 9n * UNIT]);
    expect((await payOut(10n * UNIT)).status).toBe("success");
  });

  test("works while payments are paused and after the token was delisted, like all that returns money", async () => {
    await world.mint(await world.vault(PROVIDER), THRESHOLD);
    await world.act("guardian", "pause", []);
    await world.act("admin", "listToken", [token, 0n]);
    expect((await payOut(1n)).status).toBe("success");
    expect((await world.send("consumer", "refund", [{ ...facts, paidOut: 1n }, 1n])).status).toBe("success");
    expect((await world.send("stranger", "releaseSurplus", [PROVIDER, token])).status).toBe("success");
    expect((await world.send("stranger", "sweepFees", [token])).status).toBe("success");
    expect((await world.act("registrar", "setLowThreshold", [PROVIDER, token, THRESHOLD, 1n])).status).toBe("success");
    expect((await world.act("arbiter", "setReserve", [PROVIDER, token, 1n])).status).toBe("success");
    const move = [PROVIDER, token, world.people.other.address];
    expect((await world.send("wallet", "moveOperationalWallet", move)).status).toBe("success");
  });
});

describe("a refund", () => {
  test("is paid by the caller to the payer's address for refunds, and leaves the vault alone", async () => {
    const { stranger } = world.people;
    facts = await factsOf(
      world,
      await world.send("consumer", "settle", [paymentOf(world, { refundTo: stranger.address })]),
    );
    const held = await vaultBalance(world);
    await world.act("guardian", "pause", []);
    const receipt = await world.send("consumer", "refund", [facts, 2n * UNIT]);
    expect(eventsOf(receipt)[0]).toMatchObject({
      eventName: "Refunded",
      args: {
        key: facts.key,
        from: world.people.consumer.address,
        refundTo: stranger.address,
        token,
        amount: 2n * UNIT,
      },
    });
    expect(await world.balance(stranger.address)).toBe(2n * UNIT);
    expect(await vaultBalance(world)).toBe(held);
    expect(await world.refusal("consumer", "refund", [facts, 0n])).toBe("ZeroAmount");
    // A refund comes out of the caller's own tokens.
    expect(await world.refusal("other", "refund", [facts, 1n])).not.toBeNull();
  });

  test("is at most the part of the gross that payouts and earlier refunds have left", async () => {
    facts = await factsOf(world, await pay(world, 10n * UNIT));
    await payOut(400_000n);
    const now = { ...facts, paidOut: 400_000n };
    const left = 10n * UNIT - 400_000n;
    const refusal = (amount: bigint, of = now) => world.refusal("consumer", "refund", [of, amount]);
    expect(await refusal(left + 1n)).toBe("ExceedsGross");
    await world.send("consumer", "refund", [now, left - 2n]);
    expect(await world.read("refundedOf", [facts.key])).toBe(left - 2n);
    expect([await refusal(2n), await refusal(3n)]).toEqual([null, "ExceedsGross"]);
    // A later payout may leave less than nothing.
    await world.mint(await world.vault(PROVIDER), 10n * UNIT);
    await payOut(10n * UNIT - 400_000n, { paidOut: 400_000n });
    expect(await refusal(1n, { ...facts, paidOut: 10n * UNIT })).toBe("ExceedsGross");
  });

  test("does not invalidate a waiting payout", async () => {
    facts = await factsOf(world, await pay(world, 10n * UNIT));
    await world.send("wallet", "pay", [token, 1n, PROVIDER, CONSUMER]);
    await world.sendTo("wallet", token, artifacts.TestUSDC.abi, "approve", [world.chain.settlementContract, 1n]);
    expect((await world.send("wallet", "refund", [facts, 1n])).status).toBe("success");
    expect((await payOut(1n)).status).toBe("success");
  });
});

describe("another address for refunds", () => {
  const to = () => world.people.stranger.address;
  beforeEach(async () => {
    facts = await factsOf(world, await pay(world, 10n * UNIT));
  });

  test("is named at once by the holder of the present one, and payouts and refunds go there", async () => {
    const [event] = eventsOf(await world.send("consumer", "moveRefundTo", [facts, to()]));
    const named = { key: facts.key, providerDidHash: PROVIDER, refundTo: to() };
    expect(event).toMatchObject({ eventName: "RefundToSet", args: named });
    expect(await refused(1n)).toBe("UnknownSettlement");
    expect((await payOut(3n, { refundTo: to() })).status).toBe("success");
    const now = { ...facts, refundTo: to(), paidOut: 3n };
    expect((await world.send("consumer", "refund", [now, 4n])).status).toBe("success");
    expect(await world.balance(to())).toBe(7n);
  });

  test("is not named by other callers, and is never the zero address, the contract or the vault", async () => {
    const refusal = (address: Hex, of = facts) => world.refusal("consumer", "moveRefundTo", [of, address]);
    expect(await world.refusal("wallet", "moveRefundTo", [facts, to()])).toBe("RefundToDiffers");
    expect(await refusal(to(), { ...facts, paidOut: 1n })).toBe("UnknownSettlement");
    expect(await refusal(ZERO_ADDRESS)).toBe("ZeroAddress");
    for (const address of [world.chain.settlementContract, await world.vault(PROVIDER)]) {
      expect(await refusal(address)).toBe("InvalidWallet");
    }
  });

  test("is not named by the arbiter while the token accepts the present one", async () => {
    expect(await world.refusalOf("arbiter", "setRefundTo", [facts, to()])).toBe("RefundToAccepted");
  });
});

describe("the surplus of a vault", () => {
  const release = () => world.send("stranger", "releaseSurplus", [PROVIDER, token]);
  const refusal = (provider = PROVIDER) => world.refusal("stranger", "releaseSurplus", [provider, token]);

  test("is released to the operational wallet above threshold and reserve, whoever calls", async () => {
    const { wallet } = world.people;
    expect(await refusal(OTHER_PROVIDER)).toBe("UnknownProvider");
    await world.mint(await world.vault(PROVIDER), THRESHOLD + 30n);
    await world.act("arbiter", "setReserve", [PROVIDER, token, 12n]);
    await world.act("guardian", "pause", []);
    const [released] = eventsOf(await release());
    const args = { providerDidHash: PROVIDER, token, to: wallet.address, amount: 18n, vaultBalance: THRESHOLD + 12n };
    expect(released).toMatchObject({ eventName: "SurplusReleased", args });
    expect(await world.balance(wallet.address)).toBe(18n);
    expect(await refusal()).toBe("NothingToRelease");
    await world.act("arbiter", "setReserve", [PROVIDER, token, 0n]);
    await release();
    expect(await world.balance(wallet.address)).toBe(30n);
  });

  test("is the whole balance for a provider that has left", async () => {
    await world.mint(await world.vault(PROVIDER), THRESHOLD);
    await world.act("registrar", "setLowThreshold", [PROVIDER, token, THRESHOLD, 0n]);
    await release();
    expect(await world.balance(world.people.wallet.address)).toBe(THRESHOLD);
  });

  test("has a reserve within 96 bits", async () => {
    const args = (reserve: bigint) => [PROVIDER, token, reserve];
    expect(await world.refusalOf("arbiter", "setReserve", args(2n ** 96n))).toBe("SafeCastOverflowedUintDowncast");
    const [set] = eventsOf(await world.act("arbiter", "setReserve", args(2n ** 96n - 1n)));
    expect(set).toMatchObject({ eventName: "ReserveSet", args: { reserve: 2n ** 96n - 1n } });
    await world.mint(await world.vault(PROVIDER), THRESHOLD);
    expect(await refusal()).toBe("NothingToRelease");
  });
});

describe("the admin", () => {
  test("sets the fee up to its maximum, and the recipient of fees", async () => {
    const { stranger, feeRecipient } = world.people;
    expect(await world.read("feeBps")).toBe(5);
    expect(await world.refusalOf("admin", "setFeeBps", [51n])).toBe("FeeTooHigh");
    const [set] = eventsOf(await world.act("admin", "setFeeBps", [50n]));
    expect(set).toMatchObject({ eventName: "FeeSet", args: { feeBps: 50n } });
    await pay(world, UNIT);
    expect(await world.balance(world.chain.settlementContract)).toBe(5_000n);
    const [moved] = eventsOf(await world.act("admin", "setFeeRecipient", [stranger.address]));
    expect(moved).toMatchObject({ eventName: "FeeRecipientSet", args: { feeRecipient: stranger.address } });
    expect(await world.read("feeRecipient")).toBe(stranger.address);
    // Tokens that were sent to the contract by mistake are swept too.
    await world.mint(world.chain.settlementContract, 7n);
    const [swept] = eventsOf(await world.send("consumer", "sweepFees", [token]));
    expect(swept).toMatchObject({ eventName: "FeesSwept", args: { token, to: stranger.address, amount: 5_007n } });
    expect(await world.balance(stranger.address)).toBe(5_007n);
    expect(await world.balance(feeRecipient.address)).toBe(0n);
    expect(await world.refusal("consumer", "sweepFees", [token])).toBe("ZeroAmount");
    await world.act("admin", "setFeeBps", [0n]);
    expect(eventsOf(await pay(world, UNIT))[0]?.args).toMatchObject({ fee: 0n });
    expect(await world.refusalOf("admin", "setFeeRecipient", [ZERO_ADDRESS])).toBe("ZeroAddress");
    expect(await world.refusalOf("admin", "setFeeRecipient", [world.chain.settlementContract])).toBe("InvalidWallet");
  });

  test("lists only tokens that are contracts", async () => {
    expect(await world.refusalOf("admin", "listToken", [world.people.other.address, 1n])).toBe("UnknownToken");
    const [listed] = eventsOf(await world.act("admin", "listToken", [token, 3n]));
    expect(listed).toMatchObject({ eventName: "TokenListed", args: { token, base: 3n } });
    expect(await world.read("baseOf", [token])).toBe(3n);
  });

  test("lifts the guardian's pause of payments and deposits", async () => {
    const stopped = await world.act("guardian", "pause", []);
    expect(eventsOf(stopped).map(({ eventName }) => eventName)).toEqual(["Paused"]);
    const { consumer } = world.people;
    const calls = [
      ["pay", [token, UNIT, PROVIDER, CONSUMER]],
      ["payIntent", [token, UNIT, PROVIDER, CONSUMER, INTENT]],
      ["settle", [paymentOf(world)]],
      ["depositEscrow", [PROVIDER, token, UNIT]],
    ] as const;
    for (const [name, args] of calls)
      expect([name, await world.refusal("consumer", name, args)]).toEqual([name, "PaymentsPaused"]);
    const p = await signPayment(
      world.anvil.chainId,
      consumer.privateKey,
      world.chain.settlementContract,
      paymentOf(world),
    );
    const signed = [p.payment, p.from, p.validAfter, p.validBefore, p.salt, p.signature];
    expect(await world.refusal("stranger", "settleWithAuthorization", signed)).toBe("PaymentsPaused");
    expect(await world.read("paused")).toBe(true);
    const lifted = await world.act("admin", "unpause", []);
    expect([eventsOf(lifted).map(({ eventName }) => eventName), await world.read("paused")]).toEqual([
      ["Unpaused"],
      false,
    ]);
    expect((await pay(world, UNIT)).status).toBe("success");
    // A payment that was stopped is not lost.
    expect((await world.send("stranger", "settleWithAuthorization", signed)).status).toBe("success");
  });
});

test("the contract does not take the chain's own coin", async () => {
  const params = [
    { from: world.people.consumer.address, to: world.chain.settlementContract, value: "0x1", gas: "0x30d40" },
  ];
  const hash: Hex = await world.client.transport.request({ method: "eth_sendTransaction", params });
  expect((await awaitReceipt(world.client, hash)).status).toBe("reverted");
});
