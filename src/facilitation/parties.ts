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
    if (!isConsumer) throw unproven("the proof is the caller's own for nothing, and the caller is not the consumer");
    await call.proveBoundTo(pair.providerDid);
  } else if (!isProvider && !isConsumer) {
    throw new ServiceError("forbidden");
  }
  const own = isProvider ? said.providerDid : said.consumerDid;
  if (own !== undefined && own !== call.did) throw unproven("the body names another agent than the certificate");
  const other = isProvider ? said.consumerDid : said.providerDid;
  if (other !== undefined && other !== (isProvider ? pair.consumerDid : pair.providerDid)) {
    throw unverified("other_parties");
  }
}

/** Refuses a caller that is neither of the agents that the body names (FAC-3). */
export function refuseOutsiders(call: AgentCall, { providerDid, consumerDid }: Pair): void {
  if (call.did !== providerDid && call.did !== consumerDid) throw unproven("the body names two other agents");
}

/** Hides the refusal from a caller that has shown only a certificate (PRF-11). */
export const refusedUnproven = (call: AgentCall, refusal: ServiceError): ServiceError =>
  call.proven ? refusal : new ServiceError("proof_invalid", { reason: refusal.extra.reason ?? refusal.code });

const unproven = (reason: string): ServiceError => new ServiceError("aeap_verification_failed", { reason });

/** Refuses objects of both environments in one call (ACC-8). */
export function refuseMixed(environments: readonly (Environment | undefined)[]): void {
  if (new Set(environments.filter((one) => one !== undefined)).size > 1) throw new ServiceError("environment_mismatch");
}
