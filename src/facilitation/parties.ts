// Who may say that a payment was made: either agent of the pair as itself, or whoever holds the consumer's proof bound to the provider.
import type { AgentCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import type { Environment } from "../core/vocabulary.ts";
import { type Pair, unverified } from "./evidence.ts";

/** What a body says of the pair beside what is stored: it is held against it. */
export type Said = { readonly [K in keyof Pair]?: Pair[K] | undefined };

/** Throws where the caller is neither agent of the pair, or its proof is not one that counts here. */
export async function proveParty(call: AgentCall, pair: Pair, said: Said): Promise<void> {
  const isProvider = call.did === pair.providerDid;
  const isConsumer = call.did === pair.consumerDid;
  if (!call.proven) {
    if (!isConsumer) throw await call.unproven("aeap_verification_failed");
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

/** The body names both agents: one that is neither disagrees with its own certificate. */
export async function refuseOutsiders(call: AgentCall, { providerDid, consumerDid }: Pair): Promise<void> {
  if (call.did === providerDid || call.did === consumerDid) return;
  throw await call.unproven("aeap_verification_failed");
}

/** Certificates are public: whoever shows no more is told of nothing but the proof. */
export const refusedUnproven = async (call: AgentCall, refusal: ServiceError): Promise<ServiceError> =>
  call.proven ? refusal : call.unproven("proof_invalid");

/** Sandbox and production objects are never mixed. */
export function refuseMixed(environments: readonly (Environment | undefined)[]): void {
  if (new Set(environments.filter((one) => one !== undefined)).size > 1) throw new ServiceError("environment_mismatch");
}
