// One transaction may hold several settlements: selects the one that pays an intent (FAC-6, FAC-7, FAC-9).
import { describe, expect, it } from "vitest";
import type { Settled } from "../../src/chain/gateway.ts";
import { hashDid, hashIntent } from "../../src/chain/hashes.ts";
import type { Network } from "../../src/chain/networks.ts";
import type { IntentRow } from "../../src/db/tables/money.ts";
import { judgePayment, type Mined, requireMined } from "../../src/facilitation/evidence.ts";

const TOKEN = `0x${"aa".repeat(20)}`;
const network = {
  network: "n",
  token: TOKEN.toUpperCase().replace("0X", "0x"),
  decimals: 6,
  required_confirmations: 12,
} as Network;
const PROVIDER = "did:aeap:11111111-1111-4111-8111-111111111111";
const CONSUMER = "did:aeap:22222222-2222-4222-8222-222222222222";
const intent = {
  intentId: "pin_1",
  providerDid: PROVIDER,
  consumerDid: CONSUMER,
  amount: 5_000_000,
  status: "OPEN",
  createdAt: 0,
  expiresAt: 1_000,
  cancelledAt: null,
  paymentTx: null,
  paymentLog: null,
  payer: null,
  terms: "terms",
} as IntentRow;
const OWN = `0x${"0a".repeat(20)}`;
const TX = "0xaa";
const at = {
  txHash: TX,
  minedAt: 500,
  now: 600,
  bound: [] as IntentRow[],
  provider: { wallets: [[OWN, 500]] } as const,
};

const settled = (logIndex: number, overrides: Partial<Settled> = {}): Settled => ({
  logIndex,
  contract: TOKEN,
  settlementKey: hashDid("key"),
  providerDidHash: hashDid(PROVIDER),
  consumerDidHash: hashDid(CONSUMER),
  intentHash: null,
  token: TOKEN,
  payer: TOKEN,
  operationalWallet: TOKEN,
  refundTo: TOKEN,
  gross: 5_000_000n,
  fee: 0n,
  escrow: 0n,
  operational: 0n,
  vaultBalance: 0n,
  ...overrides,
});
const mined = (...settlements: Settled[]): Mined => ({
  state: "mined",
  confirmations: 12,
  blockNumber: 1,
  blockHash: "0x",
  minedAt: 500,
  held: null,
  settlements,
});

function judged(settlements: Settled[], used: number[] = [], when = at): number | string {
  try {
    return judgePayment(
      network,
      mined(...settlements),
      intent,
      used.map((logIndex) => ({ logIndex })),
      when,
    ).logIndex;
  } catch (thrown) {
    const { code, extra } = thrown as { code: string; extra: { detail?: { failed_check?: string } } };
    return extra.detail?.failed_check ?? code;
  }
}

describe("the settlement that pays an intent", () => {
  it.each<[string, Settled[], number[], number | string]>([
    ["the only one", [settled(1)], [], 1],
    [
      "the one that names it, before one that names none",
      [settled(1), settled(2, { intentHash: hashIntent("pin_1") })],
      [],
      2,
    ],
    ["the one of its amount", [settled(1, { gross: 1n }), settled(2)], [], 2],
    ["the one that is not used", [settled(1), settled(2)], [1], 2],
    ["none when all are used", [settled(1), settled(2)], [1, 2], "already_facilitated"],
    ["none in an empty transaction", [], [], "no_settlement"],
    ["none of another provider", [settled(1, { providerDidHash: hashDid(CONSUMER) })], [], "other_parties"],
    ["none of another consumer", [settled(1, { consumerDidHash: hashDid(PROVIDER) })], [], "other_parties"],
    ["none in another token", [settled(1, { token: `0x${"bb".repeat(20)}` })], [], "other_parties"],
    ["none that names another intent", [settled(1, { intentHash: hashIntent("pin_2") })], [], "other_intent"],
    ["none of another amount", [settled(1, { gross: 4_999_999n })], [], "amount_mismatch"],
  ])("is %s", (_, settlements, used, expected) => {
    expect(judged(settlements, used)).toBe(expected);
  });

  it("was mined at most 30 seconds after the intent's end, to the millisecond", () => {
    expect(judged([settled(1)], [], { ...at, minedAt: 30_999, now: 1_500 })).toBe(1);
    expect(judged([settled(1)], [], { ...at, minedAt: 31_000, now: 1_500 })).toBe("intent_expired");
    const day = 24 * 3_600_000;
    expect(judged([settled(1)], [], { ...at, minedAt: 999, now: 1_000 + day - 1 })).toBe(1);
    expect(judged([settled(1)], [], { ...at, minedAt: 999, now: 1_000 + day })).toBe("intent_expired");
  });
});

describe("a reading of the chain", () => {
  const refusal = (reading: Parameters<typeof requireMined>[1]) => {
    try {
      return requireMined(network, reading).state;
    } catch (thrown) {
      const { code, extra } = thrown as { code: string; extra: { detail?: unknown } };
      return [code, extra.detail];
    }
  };
  it("of a transaction that is not final is payment_not_found, with what is missing", () => {
    expect(refusal({ ok: true, value: { state: "pending", confirmations: 3 } })).toEqual([
      "payment_not_found",
      { state: "pending", confirmations: 3, required: 12, retry_after: 18 },
    ]);
    expect(refusal({ ok: true, value: { state: "unknown" } })).toEqual([
      "payment_not_found",
      { state: "unknown", confirmations: 0, required: 12, retry_after: 24 },
    ]);
  });
  it("of a failed transaction is no settlement, and without an answer of the chain it is 503", () => {
    expect(refusal({ ok: true, value: { state: "reverted" } })).toEqual([
      "settlement_verification_failed",
      { failed_check: "reverted" },
    ]);
    const down = { kind: "chain_unavailable", network: "n", reason: "timeout" } as const;
    expect(refusal({ ok: false, error: down })).toEqual(["chain_unavailable", undefined]);
    expect(refusal({ ok: true, value: mined() })).toBe("mined");
  });
});
