// The payer's half of a settlement against its vectors, in workerd (CHN-2, CHN-8), and the values that it refuses.
import { describe, expect, it } from "vitest";
import { hashText } from "../../src/protocol/keccak.ts";
import {
  authorize,
  checkPayment,
  drawSalt,
  encodeSettleWithAuthorization,
  type PayableIntent,
  type Payment,
  PaymentError,
  preparePayment,
} from "../../src/protocol/payment.ts";
import { make, PAYER, stated, TEXTS, terms, VECTORS } from "./payment-vectors.ts";

const [VECTOR] = VECTORS;
if (VECTOR === undefined) throw new Error("no vector");

it.each(TEXTS)("Keccak-256 of $text.length characters equals the vector", ({ text, hash }) => {
  expect(hashText(text)).toBe(hash);
});

it.each(VECTORS)("$name reproduces its vector", (vector) => {
  expect(stated(vector)).toEqual({
    payment: vector.payment,
    settlement_key: vector.settlement_key,
    nonce: vector.nonce,
    typed_data: vector.typed_data,
    calldata: vector.calldata,
  });
});

it("the data to sign is plain JSON", () => {
  const { typedData } = make(VECTOR).authorization;
  expect(JSON.parse(JSON.stringify(typedData))).toEqual(typedData);
});

it("an authorization ends with the payment's deadline and is for USDC on Base, unless its terms say otherwise", () => {
  const { prepared } = make(VECTOR);
  const { salt } = terms(VECTOR);
  expect(authorize(prepared, { from: PAYER.address, salt }).typedData).toEqual(VECTOR.typed_data);
});

it("salts differ from each other", () => {
  expect(drawSalt()).toMatch(/^0x[0-9a-f]{64}$/);
  expect(drawSalt()).not.toBe(drawSalt());
});

const fieldOf = (act: () => unknown): string | null => {
  try {
    act();
    return null;
  } catch (error) {
    if (!(error instanceof PaymentError)) throw error;
    expect(error.message.startsWith(`${error.field} `)).toBe(true);
    return error.field;
  }
};
const ZERO_ADDRESS = `0x${"0".repeat(40)}`;
const ZERO_HASH = `0x${"0".repeat(64)}`;
const MISWRITTEN = PAYER.address.replace(/[a-f]/, (digit) => digit.toUpperCase());

describe("an intent is refused with", () => {
  it.each<[string, keyof PayableIntent, unknown]>([
    ["no amount", "amount_base_units", "0"],
    ["an amount of 97 bits", "amount_base_units", String(2n ** 96n)],
    ["a negative amount", "amount_base_units", "-1"],
    ["an amount in units", "amount_base_units", "10.5"],
    ["an amount in hex", "amount_base_units", "0x10"],
    ["an empty amount", "amount_base_units", ""],
    ["the zero address as token", "token", ZERO_ADDRESS],
    ["a token too short", "token", PAYER.address.slice(0, -1)],
    ["a wallet whose checksum is wrong", "operational_wallet", MISWRITTEN],
    ["the zero address as wallet", "operational_wallet", ZERO_ADDRESS],
    ["no wallet", "operational_wallet", undefined],
    ["the zero address as contract", "contract", ZERO_ADDRESS],
    ["a chain id that is a text", "chain_id", "8453"],
    ["the chain id 0", "chain_id", 0],
    ["a hash of 31 bytes", "provider_did_hash", VECTOR.intent.provider_did_hash.slice(0, -2)],
    ["a zero hash of the provider", "provider_did_hash", ZERO_HASH],
    ["a zero hash of the consumer", "consumer_did_hash", ZERO_HASH],
    ["a zero hash of the intent", "intent_hash", ZERO_HASH],
    ["the hash of another provider", "provider_did_hash", hashText("another")],
    ["the hash of another consumer", "consumer_did_hash", hashText("another")],
    ["the hash of another intent", "intent_hash", hashText("another")],
    ["an end without a zone", "expires_at", "2026-11-21T04:25:00"],
    ["an end that is no instant", "expires_at", "2026-13-21T04:25:00Z"],
    ["an end before 1970", "expires_at", "1969-12-31T23:59:59Z"],
    ["another payment's key", "settlement_key", hashText("another")],
  ])("%s", (_, field, value) => {
    const named = { amount_base_units: /amount/, expires_at: /expires_at|deadline/ }[field as string] ?? field;
    const act = () => preparePayment({ ...VECTOR.intent, [field]: value } as PayableIntent, VECTOR.terms);
    expect(fieldOf(act)).toMatch(named);
  });

  it("no fault if its settlement key is the payment's", () => {
    const intent = { ...VECTOR.intent, settlement_key: VECTOR.settlement_key };
    expect(preparePayment(intent, VECTOR.terms).settlementKey).toBe(VECTOR.settlement_key);
  });
});

it.each<[string, object, string]>([
  ["a fee of 17 bits", { maxFeeBps: 65_536 }, "maxFeeBps"],
  ["a negative fee", { maxFeeBps: -1 }, "maxFeeBps"],
  ["a broken fee", { maxFeeBps: 0.5 }, "maxFeeBps"],
  ["refunds to the zero address", { refundTo: ZERO_ADDRESS }, "refundTo"],
  ["refunds to a checksum that is wrong", { refundTo: MISWRITTEN }, "refundTo"],
])("the payer's terms are refused with %s", (_, change, field) => {
  expect(fieldOf(() => preparePayment(VECTOR.intent, { ...VECTOR.terms, ...change }))).toBe(field);
});

it.each<[string, Partial<Record<keyof Payment, unknown>>, string]>([
  ["a deadline of 65 bits", { deadline: 2n ** 64n }, "deadline"],
  ["an amount of 97 bits", { amount: 2n ** 96n }, "amount"],
  ["no amount", { amount: 0n }, "amount"],
  ["a zero hash", { intentHash: ZERO_HASH }, "intentHash"],
  ["the zero address", { operationalWallet: ZERO_ADDRESS }, "operationalWallet"],
])("a payment is refused with %s", (_, change, field) => {
  const { payment } = make(VECTOR).prepared;
  expect(fieldOf(() => checkPayment(payment))).toBeNull();
  expect(fieldOf(() => checkPayment({ ...payment, ...change } as Payment))).toBe(field);
});

it.each<[string, object, string]>([
  ["a salt of 31 bytes", { salt: `0x${"0".repeat(62)}` }, "salt"],
  ["times without an instant", { validAfter: 10n, validBefore: 10n }, "validBefore"],
  ["a time of 257 bits", { validBefore: 2n ** 256n }, "validBefore"],
  ["a negative time", { validAfter: -1n }, "validAfter"],
  ["the zero address as payer", { from: ZERO_ADDRESS }, "from"],
])("an authorization is refused with %s", (_, change, field) => {
  const { prepared } = make(VECTOR);
  expect(fieldOf(() => authorize(prepared, { ...terms(VECTOR), ...change }))).toBe(field);
});

it.each(["", "00", "0x0", "0xzz"])("a signature %j is refused", (signature) => {
  const { prepared, authorization } = make(VECTOR);
  const act = () => encodeSettleWithAuthorization(prepared.payment, authorization, signature as `0x${string}`);
  expect(fieldOf(act)).toBe("signature");
});
