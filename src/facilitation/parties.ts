// Proves that the caller may facilitate: either agent of the pair as itself, or any caller with the consumer's proof bound to the provider (FAC-2).
import { type AgentCall, type Precheck, precheck } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import type { Environment } from "../core/vocabulary.ts";
import { dropAbsentReads } from "../db/batch.ts";
import { findIntent } from "../intents/store.ts";
import { type Pair, toUnverifiedError } from "./evidence.ts";
import type { NamedParties } from "./schema.ts";

/** The DIDs that a body names, which are checked against the stored pair. */
export type ClaimedParties = { readonly [K in keyof Pair]?: Pair[K] | undefined };

/** Throws if the caller is neither agent of the pair, or its proof does not count here. */
export async function proveParty(call: AgentCall, pair: Pair, said: ClaimedParties): Promise<void> {
  await proveCaller(call, findCallee(call, pair, said));
  const isProvider = call.did === pair.providerDid;
  if (!isProvider && call.did !== pair.consumerDid) throw new ServiceError("forbidden");
  const own = isProvider ? said.providerDid : said.consumerDid;
  if (own !== undefined && own !== call.did) throw await call.unproven();
  const other = isProvider ? said.consumerDid : said.providerDid;
  if (other !== undefined && other !== (isProvider ? pair.consumerDid : pair.providerDid)) {
    throw toUnverifiedError("other_parties");
  }
}

/**
 * The agent to which the caller's proof may be bound: the provider, if the caller is the intent's consumer; if the intent is another's or does not
 * exist, the provider that the body names. A certificate alone must not reveal whose intent it is (PRF-11).
 */
function findCallee(call: AgentCall, pair: Pair | null, said: ClaimedParties): string | undefined {
  if (call.did === pair?.consumerDid) return pair.providerDid;
  return call.did === pair?.providerDid ? undefined : said.providerDid;
}

/** Throws unless the caller has proven itself, or its proof is bound to this agent. */
async function proveCaller(call: AgentCall, calleeDid: string | undefined): Promise<void> {
  if (call.proven) return;
  if (calleeDid === undefined) throw await call.unproven();
  await call.proveBoundTo(calleeDid);
}

/** Refuses a caller that is neither of the agents that the body names (FAC-3). */
export async function refuseOutsiders(call: AgentCall, { providerDid, consumerDid }: Pair): Promise<void> {
  if (call.did !== providerDid && call.did !== consumerDid) throw await call.unproven();
}

/** Refuses an unknown intent. Only a proven caller learns that it does not exist (PRF-11). */
export async function refuseUnknownIntent(call: AgentCall, said: ClaimedParties): Promise<never> {
  await proveCaller(call, findCallee(call, null, said));
  throw new ServiceError("not_found");
}

/** Finds the agent that verifies a bound proof when the schema refuses the body (FAC-3). */
export function precheckFacilitation(call: AgentCall, { intentId, providerDid }: NamedParties): Precheck {
  const reads = dropAbsentReads({ intent: intentId === undefined ? null : findIntent(call.db, intentId) });
  return {
    ...precheck(reads, () => []),
    calleeOf: ({ intent }: { intent?: Pair | null }) => findCallee(call, intent ?? null, { providerDid }),
  };
}

/** Refuses a call that mixes objects of both environments (ACC-8). */
export function refuseMixed(environments: readonly (Environment | undefined)[]): void {
  if (new Set(environments.filter((one) => one !== undefined)).size > 1) throw new ServiceError("environment_mismatch");
}
