// The dry run of the spend policy (PAY-20): answers every check of an order with its outcome. It holds and writes nothing.
import { findAgent } from "../agents/find-store.ts";
import { type AgentCall, type ManagementCall, type Precheck, precheck } from "../call.ts";
import { formatTokenUnits } from "../chain/networks.ts";
import { toIsoOrNull } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { DAY_MS } from "../core/limits.ts";
import { findPublicAgent } from "../identity/store.ts";
import { type Judgement, judgeOrder, ORDER_CHECKS, toSpender } from "./eligibility.ts";
import { findFirstSettlements } from "./first-store.ts";
import { buildProposalReads, consumersClock, findCandidateNetworks, findOrderFaults, toProposal } from "./order.ts";
import type { EvaluationView, OrderCheckView } from "./responses.ts";
import type { EvaluationInput } from "./schema.ts";
import { judgePolicy } from "./spend-policy.ts";
import type { SpenderRow } from "./spend-store.ts";

type EvaluationCall = AgentCall | ManagementCall;

export async function evaluateOrder(
  call: EvaluationCall,
  did: string,
  input: EvaluationInput,
): Promise<EvaluationView> {
  const { db, now, deps } = call;
  const { provider_did: providerDid, amount, currency, network = null } = input;
  const order = { consumerDid: did, providerDid, amount, currency, network };
  const candidates = findCandidateNetworks(deps.config, order);
  const reads = {
    ...buildProposalReads(call, order, candidates),
    firsts: findFirstSettlements(db, did, currency, now),
  };
  const found = await readEvaluationFacts(call, did, reads);
  const proposal = toProposal(call, order, candidates, found);
  const { parties, request } = proposal;
  const judgements = judgeOrder(proposal, now);
  const { deal, settling } = request;
  const window = toWindowView([parties.consumer, ...parties.delegators], found.firsts, settling);
  return {
    did,
    provider_did: providerDid,
    amount: formatTokenUnits(settling, request.units),
    currency,
    network: deal?.network.network ?? null,
    market: deal?.market ?? null,
    allowed: judgements.every(({ refusal }) => refusal === null),
    checks: ORDER_CHECKS.map((check) =>
      toCheckView(
        check,
        judgements.find((judgement) => judgement.check === check),
      ),
    ),
    ...window,
  };
}

type Reads = ReturnType<typeof buildProposalReads> & { readonly firsts: ReturnType<typeof findFirstSettlements> };

/** An agent evaluates for itself, a platform for its own agents. */
async function readEvaluationFacts(call: EvaluationCall, did: string, reads: Reads) {
  if (call.surface === "management") {
    const found = await call.read({ ...reads, own: findAgent(call.db, call.tenant, did) }, consumersClock);
    if (!found.own) throw new ServiceError("not_found");
    return found;
  }
  const found = await call.read(reads, consumersClock);
  refuseOtherAgents(call, did);
  return found;
}

function refuseOtherAgents(call: AgentCall, did: string): void {
  if (call.did !== did) throw new ServiceError("forbidden", { message: "An agent can ask only for itself." });
}

function toCheckView(check: OrderCheckView["check"], judgement: Judgement | undefined): OrderCheckView {
  const { refusal = null, policy } = judgement ?? {};
  const { check: _check, passed: _passed, ...compared } = policy ?? {};
  const detail = policy ? compared : refusal?.extra.detail;
  return { check, passed: refusal === null, ...(refusal && { code: refusal.code }), ...(detail && { detail }) };
}

/** The amount left in the narrowest window, and the instant at which the first settlement that counts in it leaves it. */
function toWindowView(
  spenders: readonly SpenderRow[],
  firsts: Readonly<Record<string, number>>,
  settling: Parameters<typeof formatTokenUnits>[0] & { readonly currency: string },
): Pick<EvaluationView, "remaining" | "window_resets_at"> {
  const nothing = { units: 0, currency: settling.currency, decimals: settling.decimals };
  const anybody = { certTier: "TIER_3", rating: 1 } as const;
  const judged = judgePolicy(spenders.map(toSpender), anybody, nothing).find(({ check }) => check === "spending_limit");
  if (judged?.remaining === undefined) return { remaining: null, window_resets_at: null };
  const { agent } = spenders.find((one) => one.agent.did === (judged.delegator ?? spenders[0]?.agent.did)) ?? {};
  const first = agent && firsts[agent.did];
  const days = agent?.spendingLimit?.window_days ?? 0;
  return {
    remaining: judged.remaining,
    window_resets_at: toIsoOrNull(first === undefined ? null : first + days * DAY_MS),
  };
}

/** Refuses a caller that may not ask for the agent (404, 403) before 422, and finds the further faults of a body that the schema refuses. */
export function precheckEvaluation(call: EvaluationCall, did: string, input: Partial<EvaluationInput>): Precheck {
  const { provider_did: providerDid, ...rest } = input;
  const own = call.surface === "management" ? findAgent(call.db, call.tenant, did) : findPublicAgent(call.db, did);
  const provider = findPublicAgent(call.db, providerDid ?? "");
  return precheck({ own, provider }, (found) => {
    if (call.surface === "management" && !found.own) throw new ServiceError("not_found");
    if (call.surface === "agent") refuseOtherAgents(call, did);
    return findOrderFaults(call.deps.config, { ...rest, consumerDid: did, providerDid }, { consumer: true, ...found });
  });
}
