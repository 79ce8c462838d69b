// Compares the chain's facts with the intent (FAC-6 to FAC-9): returns a settlement or throws the refusal. A network's second node is asked before a
// final refusal, which ends the caller's attempts, and before a large settlement counts (FAC-20).
import type { AgentCall } from "../call.ts";
import type { ChainResult, Settled, SettlementReading } from "../chain/gateway.ts";
import { hashDid, hashIntent } from "../chain/hashes.ts";
import { formatTokenUnits, type Network } from "../chain/networks.ts";
import { toIso } from "../core/clock.ts";
import { type ErrorCode, ServiceError } from "../core/errors.ts";
import { commit } from "../db/batch.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import type { IntentRow } from "../db/tables/money.ts";
import { isOwnWallet } from "../escrow/former-wallets.ts";
import { isInTime, isOlderThan, judgeSettlement, mayPay } from "../intents/states.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";

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

// ---- Two nodes -------------------------------------------------------------------------------------------------------------

/** Refusals after which a caller does not ask again; `payment_not_found` asks to be repeated. */
const FINAL_REFUSALS: readonly ErrorCode[] = ["settlement_verification_failed", "amount_mismatch", "intent_expired"];

/** The second node's reading, if it was asked together with the first; null if the network has no second node. */
type SecondReading = ChainResult<SettlementReading> | null;
type AskedReadings = {
  readonly network: Network;
  readonly txHash: string;
  readonly reading: ChainResult<SettlementReading>;
  readonly second?: SecondReading | undefined;
  /** The parties' intents that the follower has bound to payments of the transaction. */
  readonly bound: readonly IntentRow[];
};

/** Refusals that contradict the follower's reading, if it bound the payment to its intent. */
const REFUTED_CHECKS: ReadonlySet<unknown> = new Set<FailedCheck>([
  ...(["reverted", "no_settlement", "other_parties", "other_intent", "other_payer"] as const),
]);

/**
 * Judges a reading; `judge` throws the refusal. If the second node contradicts the first or does not answer, the chain counts as unavailable. No more
 * counts than the vault holds by the lower of both readings. An alert reports nodes that contradict each other about a mined transaction.
 */
export async function judgeByTwo<T>(
  { db, deps }: AgentCall,
  asked: AskedReadings,
  judge: (reading: ChainResult<SettlementReading>) => T,
): Promise<T> {
  const { network, txHash, reading } = asked;
  const tell = (alert: Alert) => commit(db, [raiseAlert(db, alert)]);
  const requireBoth = async (second: SecondReading): Promise<void> => {
    if (second === null) return;
    if (second.ok && reading.ok) {
      if (toComparableFacts(second.value) === toComparableFacts(reading.value)) return;
      // A node that lags does not know the transaction yet.
      if (isMined(second.value) && isMined(reading.value))
        await tell(toDisagreementAlert(network, txHash, "The two nodes"));
    }
    throw toUnansweredError("nodes_disagree");
  };
  let judged: T;
  try {
    judged = judge(takeLowerBalance(reading, asked.second));
  } catch (refusal) {
    if (!(refusal instanceof ServiceError) || !FINAL_REFUSALS.includes(refusal.code) || !reading.ok) throw refusal;
    await requireBoth(asked.second ?? (await deps.chain.readSettlementAgain(network.network, txHash)));
    const isRefuted = refusal.code === "amount_mismatch" || REFUTED_CHECKS.has(refusal.extra.detail?.["failed_check"]);
    if (!isRefuted || !asked.bound.some(({ paymentTx }) => paymentTx === txHash)) throw refusal;
    await tell(toDisagreementAlert(network, txHash, "The node and the follower's record"));
    throw toUnansweredError("follower_disagrees");
  }
  await requireBoth(asked.second ?? null);
  return judged;
}

function takeLowerBalance(
  reading: ChainResult<SettlementReading>,
  second: SecondReading | undefined,
): ChainResult<SettlementReading> {
  if (!reading.ok || !second?.ok || reading.value.state !== "mined" || second.value.state !== "mined") return reading;
  const [held, other] = [reading.value.held ?? 0n, second.value.held ?? 0n];
  return { ok: true, value: { ...reading.value, held: held < other ? held : other } };
}

const isMined = ({ state }: SettlementReading): boolean => state === "mined" || state === "reverted";

const toDisagreementAlert = ({ network }: Network, txHash: string, who: string): Alert => ({
  kind: "network",
  subject: `${txHash} on ${network}`,
  message: `${who} disagree on a mined transaction: its facilitation waits until they agree.`,
});

/** Leaves out confirmations and the vault's balance, because nodes may be some blocks apart. */
function toComparableFacts(reading: SettlementReading): string {
  const { confirmations: _depth, held: _head, ...facts } = { confirmations: 0, held: null, ...reading };
  return JSON.stringify(facts, (_name, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}
