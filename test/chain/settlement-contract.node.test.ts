// Tests the settlement contract's payments, providers and deposits (CHN-1 to CHN-5).
import { type Abi, decodeEventLog, encodeAbiParameters, type Hex, keccak256, toFunctionSelector } from "viem";
import { describe, expect, test } from "vitest";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import { type FullPayment, signPayment } from "../../scripts/chain/payments.ts";
import { hashIntent } from "../../src/chain/hashes.ts";
import {
  CONSUMER,
  eventsOf,
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
  ZERO_HASH,
} from "./support.ts";

let world: World;
let token: Hex;

useWorld((built) => {
  world = built;
  token = built.chain.token;
});

const types = (...names: string[]) => names.map((type) => ({ type }));
const KEY = types("bytes32", "bytes32", "bytes32", "address", "uint256");
const FACTS = types("bytes32", "bytes32", "address", "uint96", "address", "uint64", "uint96");
/** The key of the nth payment that names no intent. */
const plainKey = (n: bigint): Hex =>
  keccak256(encodeAbiParameters(types("address", "uint256"), [world.chain.settlementContract, n]));

const FORMS = ["payIntent", "settle", "settleWithAuthorization"] as const;
// ERC3009UsedAuthorization of the token, whose errors are not in our ABI.
const USED = toFunctionSelector("ERC3009UsedAuthorization(address,bytes32)");
/** The calls by which one payment can be made. */
async function formsOf(payment: FullPayment): Promise<Readonly<Record<(typeof FORMS)[number], readonly unknown[]>>> {
  const { privateKey } = world.people.consumer;
  const p = await signPayment(world.anvil.chainId, privateKey, world.chain.settlementContract, payment);
  return {
    payIntent: [payment.token, payment.amount, payment.providerDidHash, payment.consumerDidHash, payment.intentHash],
    settle: [payment],
    settleWithAuthorization: [p.payment, p.from, p.validAfter, p.validBefore, p.salt, p.signature],
  };
}

test("the contract's constants and initial values are the published ones", async () => {
  const { authority, vaultImplementation } = world.chain;
  const values = {
    ...{ BPS: 10_000n, MAX_FEE_BPS: 50n, ESCROW_BPS: 1_000n, PAY_OUT_WINDOW: 400n * 86_400n },
    ...{ feeBps: 5, feeRecipient: world.people.feeRecipient.address, paused: false, plainPayments: 0n },
    ...{ authority, vaultImplementation },
  };
  for (const [name, value] of Object.entries(values)) expect([name, await world.read(name)]).toEqual([name, value]);
  expect(await world.read("baseOf", [token])).toBe(THRESHOLD);
  expect(await world.read("reserveOf", [PROVIDER, token])).toBe(0n);
  expect(await world.read("commitmentOf", [plainKey(1n)])).toBe(ZERO_HASH);
});

describe("paying", () => {
  test("pay has the selector that AEA/P clients call", () => {
    expect(toFunctionSelector("pay(address,uint256,bytes32,bytes32)")).toBe("0x8edb6743");
    expect(settlementAbi.find((entry) => "name" in entry && entry.name === "pay")).toMatchObject({
      inputs: [{ type: "address" }, { type: "uint256" }, { type: "bytes32" }, { type: "bytes32" }],
    });
  });

  test("a payment is split into 5 bps fee, 10 % of the net for escrow, and the rest", async () => {
    const { consumer, feeRecipient, wallet } = world.people;
    const receipt = await pay(world, 10n * UNIT);
    expect(receipt.status).toBe("success");
    expect(await world.balance(feeRecipient.address)).toBe(0n);
    expect(await vaultBalance(world)).toBe(999_500n);
    expect(await world.balance(wallet.address)).toBe(8_995_500n);
    expect(await world.balance(consumer.address)).toBe(990n * UNIT);
    expect(await world.balance(world.chain.settlementContract)).toBe(5_000n);
  });

  test("Settled has the published signature and a zero intentHash for pay, and the event with the key follows it", async () => {
    const receipt = await pay(world, 10n * UNIT);
    const [settled, recorded] = eventsOf(receipt);
    expect(settled).toMatchObject({
      eventName: "Settled",
      args: {
        providerDidHash: PROVIDER,
        consumerDidHash: CONSUMER,
        intentHash: ZERO_HASH,
        token,
        payer: world.people.consumer.address,
        gross: 10n * UNIT,
        fee: 5_000n,
        escrow: 999_500n,
        operational: 8_995_500n,
      },
    });
    expect(recorded).toMatchObject({
      eventName: "SettlementRecorded",
      args: {
        key: plainKey(1n),
        providerDidHash: PROVIDER,
        operationalWallet: world.people.wallet.address,
        refundTo: world.people.consumer.address,
        vaultBalance: 999_500n,
      },
    });
    expect(recorded?.logIndex).toBe((settled?.logIndex ?? 0) + 1);
    // Three indexed hashes, then six words: decoded here by its text, independently of the generated ABI.
    const published = {
      type: "event",
      name: "Settled",
      inputs: [
        ...["providerDidHash", "consumerDidHash", "intentHash"].map((name) => ({
          name,
          type: "bytes32",
          indexed: true,
        })),
        ...["token", "payer"].map((name) => ({ name, type: "address", indexed: false })),
        ...["gross", "fee", "escrow", "operational"].map((name) => ({ name, type: "uint256", indexed: false })),
      ],
    };
    const log = receipt.logs.find(({ logIndex }) => logIndex === settled?.logIndex);
    expect(log && decodeEventLog({ abi: [published] as Abi, data: log.data, topics: log.topics })).toMatchObject({
      eventName: "Settled",
    });
  });

  test("payIntent has the intent's hash and the payment's key, and pay has the key of its number", async () => {
    await pay(world, UNIT);
    expect(eventsOf(await pay(world, UNIT))[1]?.args).toMatchObject({ key: plainKey(2n) });
    expect(await world.read("plainPayments")).toBe(2n);
    const receipt = await world.send("consumer", "payIntent", [token, UNIT, PROVIDER, CONSUMER, INTENT]);
    const [settled, recorded] = eventsOf(receipt);
    expect(settled?.args).toMatchObject({ intentHash: INTENT, gross: UNIT });
    const key = keccak256(encodeAbiParameters(KEY, [PROVIDER, CONSUMER, INTENT, token, UNIT]));
    expect(recorded?.args).toMatchObject({ key });
    expect(await world.read("keyOf", [paymentOf(world, { amount: UNIT })])).toBe(key);
  });

  test("a payment stores one slot, a commitment to its facts", async () => {
    const facts = await factsOf(world, await pay(world, 10n * UNIT));
    const values = [facts.key, PROVIDER, token, facts.gross, facts.refundTo, facts.settledAt, 0n] as const;
    expect(await world.read("commitmentOf", [facts.key])).toBe(keccak256(encodeAbiParameters(FACTS, values)));
  });

  test.each(FORMS)("an intent that was paid by %s cannot be paid again in any form", async (form) => {
    const args = await formsOf(paymentOf(world));
    expect((await world.send("consumer", form, args[form])).status).toBe("success");
    // Another wallet, fee, deadline or address for refunds does not make it another payment.
    const changed = await formsOf(
      paymentOf(world, { maxFeeBps: 50, deadline: 9_999_999_999n, refundTo: world.people.other.address }),
    );
    for (const again of FORMS)
      for (const by of [args, changed])
        expect([again, await world.refusal("consumer", again, by[again])]).toEqual([
          again,
          // The token itself refuses a used authorization.
          again === form && by === args && again === "settleWithAuthorization" ? USED : "AlreadyPaid",
        ]);
    expect(await world.balance(world.people.consumer.address)).toBe(990n * UNIT);
    // Another amount, consumer or intent is another payment.
    for (const other of [{ amount: UNIT }, { consumerDidHash: REASON }, { intentHash: REASON }])
      expect(await world.refusal("consumer", "settle", [paymentOf(world, other)])).toBeNull();
  });

  test.each(FORMS)("%s of an intent that names its payer works from that address only", async (form) => {
    const { consumer, stranger } = world.people;
    const named = (payer: Hex) => formsOf(paymentOf(world, { intentHash: hashIntent("pin_1", payer) }));
    expect(await world.refusal("consumer", form, (await named(stranger.address))[form])).toBe("PayerDiffers");
    // The authorization is the consumer's, whoever submits it.
    const by = form === "settleWithAuthorization" ? "stranger" : "consumer";
    const receipt = await world.send(by, form, (await named(consumer.address))[form]);
    expect(eventsOf(receipt)[0]?.args).toMatchObject({ payer: consumer.address });
  });

  test("settle pays on the payer's terms, and refunds go to the payer's address for them", async () => {
    const { stranger } = world.people;
    const receipt = await world.send("consumer", "settle", [paymentOf(world, { refundTo: stranger.address })]);
    expect(eventsOf(receipt)[1]?.args).toMatchObject({ refundTo: stranger.address });
    expect(eventsOf(receipt)[0]?.args).toMatchObject({ escrow: 999_500n, operational: 8_995_500n });
  });

  test.each([
    ["another wallet", "WalletDiffers", () => ({ operationalWallet: world.people.stranger.address })],
    ["a lower highest fee", "FeeTooHigh", () => ({ maxFeeBps: 4 })],
    ["a deadline that has passed", "DeadlinePassed", () => ({ deadline: 1n })],
    ["no address for refunds", "ZeroAddress", () => ({ refundTo: ZERO_ADDRESS })],
    // A payout to the provider's own vault would be recorded as money that has left it.
    ["refunds to the vault", "InvalidWallet", async () => ({ refundTo: await world.vault(PROVIDER) })],
    ["refunds to the contract", "InvalidWallet", () => ({ refundTo: world.chain.settlementContract })],
    ["no intent", "ZeroHash", () => ({ intentHash: ZERO_HASH })],
    ["no consumer", "ZeroHash", () => ({ consumerDidHash: ZERO_HASH })],
    ["nothing", "ZeroAmount", () => ({ amount: 0n })],
    ["more than 96 bits", "SafeCastOverflowedUintDowncast", () => ({ amount: 2n ** 96n })],
    ["an unknown provider", "UnknownProvider", () => ({ providerDidHash: OTHER_PROVIDER })],
  ])("settle refuses %s", async (_, error, change) => {
    expect(await world.refusal("consumer", "settle", [paymentOf(world, await change())])).toBe(error);
  });

  test("settle pays up to and including the deadline", async () => {
    const { timestamp } = await world.client.getBlock();
    const deadline = timestamp + 100n;
    await world.client.setNextBlockTimestamp({ timestamp: deadline + 1n });
    expect((await world.send("consumer", "settle", [paymentOf(world, { deadline })])).status).toBe("reverted");
    await world.client.setNextBlockTimestamp({ timestamp: deadline + 100n });
    const later = paymentOf(world, { deadline: deadline + 100n });
    expect((await world.send("consumer", "settle", [later])).status).toBe("success");
  });

  test("escrow stops at the threshold, and everything above is operational", async () => {
    await world.mint(await world.vault(PROVIDER), THRESHOLD - 7n);
    const [settled] = eventsOf(await pay(world, 10n * UNIT));
    expect(settled?.args).toMatchObject({ escrow: 7n, operational: 10n * UNIT - 5_000n - 7n });
    expect(eventsOf(await pay(world, 10n * UNIT))[0]?.args).toMatchObject({
      escrow: 0n,
      operational: 10n * UNIT - 5_000n,
    });
  });

  test("one base unit goes to the operational wallet whole", async () => {
    expect(eventsOf(await pay(world, 1n))[0]?.args).toMatchObject({ gross: 1n, fee: 0n, escrow: 0n, operational: 1n });
  });

  test("quote returns the split that pay makes", async () => {
    expect(await world.read("quote", [token, 10n * UNIT, PROVIDER])).toEqual([5_000n, 999_500n, 8_995_500n]);
  });

  test.each([
    ["a zero amount", "ZeroAmount", () => [token, 0n, PROVIDER, CONSUMER]],
    ["an unknown provider", "UnknownProvider", () => [token, UNIT, OTHER_PROVIDER, CONSUMER]],
    ["an unlisted token", "UnknownToken", () => [world.people.other.address, UNIT, PROVIDER, CONSUMER]],
    ["a zero provider hash", "UnknownProvider", () => [token, UNIT, ZERO_HASH, CONSUMER]],
    ["a zero consumer hash", "ZeroHash", () => [token, UNIT, PROVIDER, ZERO_HASH]],
    ["more than the payer has", "ERC20InsufficientBalance", () => [token, 1_001n * UNIT, PROVIDER, CONSUMER]],
  ])("pay refuses %s", async (_, error, args) => {
    // A token's own error is not in our ABI, so its selector is compared.
    const name = await world.refusal("consumer", "pay", args());
    expect(name).toBe(error === "ERC20InsufficientBalance" ? "0xe450d38c" : error);
    expect((await world.send("consumer", "pay", args())).status).toBe("reverted");
    expect(await vaultBalance(world)).toBe(0n);
  });

  test("payIntent refuses a zero intent", async () => {
    expect(await world.refusal("consumer", "payIntent", [token, UNIT, PROVIDER, CONSUMER, ZERO_HASH])).toBe("ZeroHash");
  });

  test("pay needs the payer's own allowance", async () => {
    await world.mint(world.people.stranger.address, UNIT);
    expect((await world.send("stranger", "pay", [token, UNIT, PROVIDER, CONSUMER])).status).toBe("reverted");
  });

  test("a delisted token is no longer accepted", async () => {
    await world.act("admin", "listToken", [token, 0n]);
    expect(await world.refusal("consumer", "pay", [token, UNIT, PROVIDER, CONSUMER])).toBe("UnknownToken");
    const signed = [paymentOf(world), world.people.consumer.address, 0n, 2n ** 40n, INTENT, "0x"];
    expect(await world.refusal("consumer", "settleWithAuthorization", signed)).toBe("UnknownToken");
  });
});
