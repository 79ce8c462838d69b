// Proves that the caller may facilitate: either agent of the pair as itself, or with the consumer's proof bound to the provider (FAC-2).
import type { AgentCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import type { Environment } from "../core/vocabulary.ts";
import { type Pair, unverified } from "./evidence.ts";

/** The DIDs that a body names, to be checked against the stored pair. */
export type Said = { readonly [K in keyof Pair]?: Pair[K] | undefined };

/** Throws when the caller is neither agent of the pair, or its proof does not count here. */
export async function proveParty(call: AgentCall, pair: Pair, said: Said): Promise<void> {
  const isProvider = call.did === pair.providerDid;
  const isConsumer = call.did === pair.consumerDid;
  if (!call.proven) {
    // The same answer as for an unknown intent: a certificate alone does not tell whose intent it is (PRF-11).
    if (!isConsumer) throw await call.unproven("proof_invalid");
    await call.proveBoundTo(pair.providerDid);
  } else if (!isProvider && !isConsumer) {
    throw new ServiceError("forbidden");
  }
  const own = isProvider ? said.providerDid : said.consumerDid;
  if (own !== undefined && own !== call.did) throw await call.unproven("aeap_verification_failed");
  const other = isProvider ? said.consumerDid : said.providerDid;
  if (other !== undefined && other !== (isProvider ? pair.consumerDid : pair.providerDid)) {
    throw unverified("other_parties");
  }
}

/** Refuses a caller that is neither of the agents that the body names (FAC-3). */
export async function refuseOutsiders(call: AgentCall, { providerDid, consumerDid }: Pair): Promise<void> {
  if (call.did === providerDid || call.did === consumerDid) return;
  throw await call.unproven(call.proven ? "aeap_verification_failed" : "proof_invalid");
}

/** Hides the refusal from a caller that has shown only a certificate (PRF-11). */
export const refusedUnproven = async (call: AgentCall, refusal: ServiceError): Promise<ServiceError> =>
  call.proven ? refusal : call.unproven("proof_invalid");

/** Refuses objects of both environments in one call (ACC-8). */
export function refuseMixed(environments: readonly (Environment | undefined)[]): void {
  if (new Set(environments.filter((one) => one !== undefined)).size > 1) throw new ServiceError("environment_mismatch");
}
