// Asks a network's second node before a final refusal, which ends the caller's attempts, and before a large settlement counts (FAC-20). If the nodes
// contradict each other about a mined transaction, an alert reports it.
import type { AgentCall } from "../call.ts";
import type { ChainResult, SettlementReading } from "../chain/gateway.ts";
import type { Network } from "../chain/networks.ts";
import { type ErrorCode, ServiceError } from "../core/errors.ts";
import { commit } from "../db/batch.ts";
import type { IntentRow } from "../db/tables/money.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";
import { type FailedCheck, toUnansweredError } from "./evidence.ts";

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
 * counts than the vault holds by the lower of both readings.
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
