// Maps the precise reason of a refused certificate or proof to its answer (PRF-12). The answer has one code and one sentence, because an attacker
// may probe; in the sandbox, a caller with a good certificate gets the reason, the service's time and the expected text.
import type { Deps } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { type ErrorCode, type ErrorExtra, ServiceError } from "../core/errors.ts";
import { readBatch } from "../db/batch.ts";
import { findEnvironment } from "../identity/store.ts";
import type { CertificateFault } from "../protocol/certificate.ts";
import { buildProofText, type ProofFault, type ProofStatement } from "../protocol/proof.ts";

export type ProofRefusal =
  | CertificateFault
  | ProofFault
  | "query_ambiguous"
  | "proof_missing"
  | "timestamp_missing"
  | "agent_unknown"
  | "certificate_ended"
  | "agent_ended"
  | "other_agent_named"
  | "replay";

/** At facilitation, every failed proof has one code of its own (FAC-3). */
type Answer = { readonly call: ErrorCode; readonly facilitation: ErrorCode; readonly type?: "replay" };

const EVERYWHERE = { call: "aeap_verification_failed", facilitation: "aeap_verification_failed" } as const;
const FAILED_PROOF = { call: "aeap_verification_failed", facilitation: "proof_invalid" } as const;

/** A new reason does not compile without its answer. */
const ANSWERS: Readonly<Record<ProofRefusal, Answer>> = {
  // The certificate.
  malformed: EVERYWHERE,
  algorithm_not_allowed: EVERYWHERE,
  type_not_allowed: EVERYWHERE,
  header_not_allowed: EVERYWHERE,
  key_id_missing: EVERYWHERE,
  key_unknown: EVERYWHERE,
  signature_invalid: EVERYWHERE,
  payload_malformed: EVERYWHERE,
  claims_malformed: EVERYWHERE,
  issuer_mismatch: EVERYWHERE,
  subject_mismatch: EVERYWHERE,
  agent_key_private: EVERYWHERE,
  agent_key_invalid: EVERYWHERE,
  not_yet_valid: EVERYWHERE,
  expired: EVERYWHERE,
  // The caller that presents it.
  agent_unknown: EVERYWHERE,
  certificate_ended: EVERYWHERE,
  agent_ended: EVERYWHERE,
  other_agent_named: EVERYWHERE,
  // The proof.
  proof_missing: FAILED_PROOF,
  timestamp_missing: FAILED_PROOF,
  timestamp_malformed: FAILED_PROOF,
  timestamp_too_old: FAILED_PROOF,
  timestamp_in_future: FAILED_PROOF,
  query_ambiguous: FAILED_PROOF,
  did_malformed: FAILED_PROOF,
  nonce_malformed: FAILED_PROOF,
  method_malformed: FAILED_PROOF,
  path_malformed: FAILED_PROOF,
  digest_malformed: FAILED_PROOF,
  signature_encoding: FAILED_PROOF,
  signature_form: FAILED_PROOF,
  signature_range: FAILED_PROOF,
  signature_mismatch: FAILED_PROOF,
  key_invalid: FAILED_PROOF,
  // The proof was good, so its maker may know that it was used.
  replay: { ...EVERYWHERE, type: "replay" },
};

export type RefusalPlace = "call" | "facilitation";

export function toProofRefusalError(reason: ProofRefusal, at: RefusalPlace, more: ErrorExtra = {}): ServiceError {
  const { type, [at]: code } = ANSWERS[reason];
  return new ServiceError(code, { ...(type && { type }), ...more, reason });
}

/** The refusal of a proof whose certificate verifies. `statement`: the expected one, null when the request has no text to sign. */
export async function explainRefusal(
  { db }: Deps,
  did: string,
  reason: ProofRefusal,
  statement: ProofStatement | null,
  at: RefusalPlace,
): Promise<ServiceError> {
  const { environment } = await readBatch(db, { environment: findEnvironment(db, did) });
  if (environment !== "sandbox") return toProofRefusalError(reason, at);
  const stated = statement === null ? null : buildProofText(statement);
  const detail = { reason, service_time: toIso(Date.now()), signed_text: stated?.ok ? stated.text : null };
  return toProofRefusalError(reason, at, { detail });
}
