// A refusal by what the chain says is final for whoever hears it: where the network has a second node, it says the same first (FAC-20). A
// payment that counts costs no second question.
import type { AgentCall } from "../call.ts";
import type { ChainResult, SettlementReading } from "../chain/gateway.ts";
import type { Network } from "../chain/networks.ts";
import { type ErrorCode, ServiceError } from "../core/errors.ts";
import { notAnswered } from "./evidence.ts";

/** Refusals after which nobody asks again; `payment_not_found` asks to be repeated. */
const FINAL: readonly ErrorCode[] = ["settlement_verification_failed", "amount_mismatch", "intent_expired"];

type Asked = { readonly network: Network; readonly txHash: string; readonly reading: ChainResult<SettlementReading> };

/** `judge` throws what it refuses by the reading. Where the second node says otherwise, or nothing, the chain cannot be asked. */
export async function judgeByTwo<T>({ deps }: AgentCall, asked: Asked, judge: () => T): Promise<T> {
  try {
    return judge();
  } catch (refusal) {
    const { network, txHash, reading } = asked;
    if (!(refusal instanceof ServiceError) || !FINAL.includes(refusal.code) || !reading.ok) throw refusal;
    const second = await deps.chain.readSettlementAgain(network.network, txHash);
    if (second === null || (second.ok && factsOf(second.value) === factsOf(reading.value))) throw refusal;
    throw notAnswered("nodes_disagree");
  }
}

/** Nodes may be some blocks apart. */
function factsOf(reading: SettlementReading): string {
  const { confirmations: _depth, ...facts } = { confirmations: 0, ...reading };
  return JSON.stringify(facts, (_name, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}
