// A refusal by what the chain says is final for whoever hears it, and a large settlement is much to lose: where the network has a second node, it says
// the same first (FAC-20).
import type { AgentCall } from "../call.ts";
import type { ChainResult, SettlementReading } from "../chain/gateway.ts";
import type { Network } from "../chain/networks.ts";
import { type ErrorCode, ServiceError } from "../core/errors.ts";
import { notAnswered } from "./evidence.ts";

/** Refusals after which nobody asks again; `payment_not_found` asks to be repeated. */
const FINAL: readonly ErrorCode[] = ["settlement_verification_failed", "amount_mismatch", "intent_expired"];

/** What the second node says, where it was asked beside the first one; null where the network has none. */
type Second = ChainResult<SettlementReading> | null;
type Asked = {
  readonly network: Network;
  readonly txHash: string;
  readonly reading: ChainResult<SettlementReading>;
  readonly second?: Second | undefined;
};

/**
 * `judge` throws what it refuses by the reading. Where the second node says otherwise, or nothing, the chain cannot be asked. No more counts than the
 * vault holds by either.
 */
export async function judgeByTwo<T>(
  { deps }: AgentCall,
  asked: Asked,
  judge: (reading: ChainResult<SettlementReading>) => T,
): Promise<T> {
  const { network, txHash, reading } = asked;
  const requireBoth = (second: Second): void => {
    const isSame = second === null || (second.ok && reading.ok && factsOf(second.value) === factsOf(reading.value));
    if (!isSame) throw notAnswered("nodes_disagree");
  };
  let judged: T;
  try {
    judged = judge(withLower(reading, asked.second));
  } catch (refusal) {
    if (!(refusal instanceof ServiceError) || !FINAL.includes(refusal.code) || !reading.ok) throw refusal;
    requireBoth(asked.second ?? (await deps.chain.readSettlementAgain(network.network, txHash)));
    throw refusal;
  }
  requireBoth(asked.second ?? null);
  return judged;
}

function withLower(
  reading: ChainResult<SettlementReading>,
  second: Second | undefined,
): ChainResult<SettlementReading> {
  if (!reading.ok || !second?.ok || reading.value.state !== "mined" || second.value.state !== "mined") return reading;
  const [held, other] = [reading.value.held ?? 0n, second.value.held ?? 0n];
  return { ok: true, value: { ...reading.value, held: held < other ? held : other } };
}

/** Nodes may be some blocks apart. */
function factsOf(reading: SettlementReading): string {
  const { confirmations: _depth, held: _head, ...facts } = { confirmations: 0, held: null, ...reading };
  return JSON.stringify(facts, (_name, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}
