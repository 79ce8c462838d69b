// Compares the chain's facts with the intent (FAC-6 to FAC-9). Pure: it returns a settlement or throws the refusal.
import type { ChainResult, Settled, SettlementReading } from "../chain/gateway.ts";
import { hashDid, hashIntent } from "../chain/hashes.ts";
import { formatTokenUnits, type Network } from "../chain/networks.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import type { IntentRow } from "../db/tables/money.ts";
import { isOwnWallet } from "../escrow/wallets.ts";
import { isInTime, isOlderThan, judgeSettlement, mayPay } from "../intents/states.ts";

export type Mined = Extract<SettlementReading, { state: "mined" }>;
export type Pair = { readonly providerDid: string; readonly consumerDid: string };

/** The comparison that failed, for `detail.failed_check`. All of it is public on the chain. */
export type FailedCheck =
  | "network"
  | "reverted"
  | "no_settlement"
  | "other_parties"
  | "other_intent"
  | "already_facilitated"
  | "no_matching_intent"
  | "intent_settled"
  | "mined_before_intent"
  | "other_wallet"
  | "other_payer"
  | "paid_by_provider"
  | "bound_to_other_intent"
  | "paid_by_other_payment";

export const toUnverifiedError = (check: FailedCheck, facts: Readonly<Record<string, unknown>> = {}): ServiceError =>
  new ServiceError("settlement_verification_failed", {
    detail: { failed_check: check, ...facts },
    reason: check,
    ...(check === "paid_by_provider" && { type: check }),
  });

const SECONDS_A_BLOCK = 2;
const RETRY_UNAVAILABLE_SECONDS = 2;

export const toUnansweredError = (reason: string): ServiceError =>
  new ServiceError("chain_unavailable", { headers: { "Retry-After": String(RETRY_UNAVAILABLE_SECONDS) }, reason });

/** Returns a final, successful transaction, or throws the refusal. A transaction that is not final yet leaves the intent usable (FAC-6). */
export function requireMined(network: Network, reading: ChainResult<SettlementReading>): Mined {
  if (!reading.ok) throw toUnansweredError(reading.error.reason);
  const { value } = reading;
  if (value.state === "mined") return value;
  if (value.state === "reverted") throw toUnverifiedError("reverted");
  const required = network.required_confirmations;
  const confirmations = value.state === "pending" ? value.confirmations : 0;
  const retryAfter = SECONDS_A_BLOCK * Math.max(1, required - confirmations);
  throw new ServiceError("payment_not_found", {
    detail: { state: value.state, confirmations, required, retry_after: retryAfter },
    headers: { "Retry-After": String(retryAfter) },
  });
}

/** The settlements between two agents in the network's own token. */
export function filterSettlements(mined: Mined, network: Network, pair: Pair): Settled[] {
  const [provider, consumer] = [hashDid(pair.providerDid), hashDid(pair.consumerDid)];
  const token = network.token.toLowerCase();
  return mined.settlements.filter(
    (one) => one.providerDidHash === provider && one.consumerDidHash === consumer && one.token === token,
  );
}

/**
 * The instant at which an intent's payment was mined, on the intent's clock: as the follower saw it, or the block's time shifted to that clock. A
 * payment that came back after a reorg counts as in time, because it was once (FAC-18).
 */
export function findMinedAt(intent: IntentRow, txHash: string, mined: Mined, ahead: number): number {
  const { paymentTx, paidAt, lostTx, expiresAt } = intent;
  if (paymentTx === txHash && paidAt !== null) return paidAt;
  const minedAt = mined.minedAt + ahead;
  return paymentTx === null && lostTx === txHash ? Math.min(minedAt, expiresAt - 1) : minedAt;
}

/** The log index of the payment that the intent waits for: the follower has seen it, or a reorg removed it. */
export function findBoundLog(intent: IntentRow, txHash: string): number | null {
  const { status, paymentTx, paymentLog, lostTx, lostLog } = intent;
  if (paymentTx !== null) return paymentTx === txHash ? paymentLog : null;
  return lostTx === txHash && status !== "SETTLED" ? lostLog : null;
}

/** `bound`: the intents to which payments of the transaction are bound. */
type JudgingContext = {
  readonly txHash: string;
  readonly minedAt: number;
  readonly now: number;
  readonly bound: readonly IntentRow[];
  /** The provider, whose own wallets cannot pay its intents (FAC-22). */
  readonly provider: Pick<AgentRow, "wallets"> | undefined;
};

/** A payment that the follower bound to an intent settles only that intent, and no other payment settles it (PAY-21). */
function refuseOtherBinding(
  { intentId, paymentTx, paymentLog }: IntentRow,
  { txHash, logIndex }: { readonly txHash: string; readonly logIndex: number },
  bound: readonly IntentRow[],
): void {
  if (bound.some((one) => findBoundLog(one, txHash) === logIndex && one.intentId !== intentId))
    throw toUnverifiedError("bound_to_other_intent");
  if (paymentTx !== null && (paymentTx !== txHash || paymentLog !== logIndex))
    throw toUnverifiedError("paid_by_other_payment");
}

const EXPIRED = { ok: false, code: "intent_expired" } as const;

/** Adds to the refusal that a party had cancelled the intent before the payment was mined (PAY-23). */
const explainCancellation = (intent: IntentRow, minedAt: number) =>
  intent.cancelledAt === null || isInTime(intent, minedAt)
    ? {}
    : {
        message: "The intent was cancelled, and its payment was mined more than 30 seconds later.",
        detail: { cancelled_at: toIso(intent.cancelledAt) },
      };

/**
 * Finds the one settlement of the transaction that pays this intent (FAC-7): of the pair, not naming another intent (a `pay` names none), not
 * facilitated before, from the named payer or else from a wallet that is not the provider's, of exactly the amount, and in time.
 */
export function judgePayment(
  network: Network,
  mined: Mined,
  intent: IntentRow,
  facilitated: readonly { logIndex: number }[],
  at: JudgingContext,
): Settled {
  if (mined.settlements.length === 0) throw toUnverifiedError("no_settlement");
  const ofPair = filterSettlements(mined, network, intent);
  if (ofPair.length === 0) throw toUnverifiedError("other_parties");
  const hash = hashIntent(intent.intentId, intent.payer);
  const forIntent = ofPair.filter((one) => one.intentHash === null || one.intentHash === hash);
  if (forIntent.length === 0) throw toUnverifiedError("other_intent");
  const used = new Set(facilitated.map((one) => one.logIndex));
  const unused = forIntent.filter((one) => !used.has(one.logIndex));
  if (unused.length === 0) throw toUnverifiedError("already_facilitated");
  const isProviders = (payer: string): boolean => isOwnWallet(at.provider?.wallets ?? [], payer, mined.minedAt);
  const fromPayer = unused.filter(({ payer }) => mayPay(intent, payer, isProviders(payer)));
  if (fromPayer.length === 0)
    throw toUnverifiedError(unused.some(({ payer }) => !isProviders(payer)) ? "other_payer" : "paid_by_provider");
  const exact = fromPayer.filter((one) => one.gross === BigInt(intent.amount));
  const paid =
    exact.find((one) => one.logIndex === findBoundLog(intent, at.txHash)) ??
    exact.find((one) => one.intentHash === hash) ??
    exact[0];
  if (!paid) {
    const detail = {
      expected: formatTokenUnits(network, intent.amount),
      settled: formatTokenUnits(network, fromPayer[0]?.gross ?? 0n),
    };
    throw new ServiceError("amount_mismatch", { detail });
  }
  if (isOlderThan(intent, at.minedAt)) throw toUnverifiedError("mined_before_intent");
  refuseOtherBinding(intent, { txHash: at.txHash, logIndex: paid.logIndex }, at.bound);
  // A payment that counts for nothing used up the intent's on-chain key, so the intent takes no unnamed payment in its place either.
  const spoilt = paid.intentHash === null && intent.terms === "";
  const judged = spoilt ? EXPIRED : judgeSettlement(intent, at.minedAt, at.now);
  if (!judged.ok) throw new ServiceError(judged.code, explainCancellation(intent, at.minedAt));
  return paid;
}
