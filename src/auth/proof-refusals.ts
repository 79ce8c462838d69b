// Maps the precise reason of a refused certificate or proof to its answer (PRF-12). The answer has one code and one sentence, because an
// attacker may probe; in the sandbox, a caller with a good certificate gets the reason, the service's time and the expected text. A
// reason without a row does not compile.
import type { Deps } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { type ErrorCode, type ErrorExtra, ServiceError } from "../core/errors.ts";
import { readBatch } from "../db/batch.ts";
import { findEnvironment } from "../identity/store.ts";
import type { CertificateFault } from "../protocol/certificate.ts";
import { type ProofFault, type ProofStatement, proofText } from "../protocol/proof.ts";

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

type Added = { readonly message?: string; readonly type?: string };
const NOTHING_MORE: Added = {};

/** The part of the answer beyond the common code and sentence. */
const ADDED: Readonly<Record<ProofRefusal, Added>> = {
  // A missing header is no secret.
  proof_missing: { message: "The header AEAP-Proof is missing." },
  timestamp_missing: { message: "The header AEAP-Timestamp is missing." },
  // The proof was good, so its maker may know that it was used.
  replay: { message: "This proof was used before: sign every call again.", type: "replay" },
  // The certificate.
  malformed: NOTHING_MORE,
  algorithm_not_allowed: NOTHING_MORE,
  type_not_allowed: NOTHING_MORE,
  header_not_allowed: NOTHING_MORE,
  key_id_missing: NOTHING_MORE,
  key_unknown: NOTHING_MORE,
  signature_invalid: NOTHING_MORE,
  payload_malformed: NOTHING_MORE,
  claims_malformed: NOTHING_MORE,
  issuer_mismatch: NOTHING_MORE,
  subject_mismatch: NOTHING_MORE,
  agent_key_private: NOTHING_MORE,
  agent_key_invalid: NOTHING_MORE,
  not_yet_valid: NOTHING_MORE,
  expired: NOTHING_MORE,
  // The stored state of the agent and its certificate.
  agent_unknown: NOTHING_MORE,
  certificate_ended: NOTHING_MORE,
  agent_ended: NOTHING_MORE,
  // The proof.
  timestamp_malformed: NOTHING_MORE,
  timestamp_too_old: NOTHING_MORE,
  timestamp_in_future: NOTHING_MORE,
  did_malformed: NOTHING_MORE,
  nonce_malformed: NOTHING_MORE,
  method_malformed: NOTHING_MORE,
  path_malformed: NOTHING_MORE,
  digest_malformed: NOTHING_MORE,
  query_ambiguous: NOTHING_MORE,
  signature_encoding: NOTHING_MORE,
  signature_form: NOTHING_MORE,
  signature_range: NOTHING_MORE,
  signature_mismatch: NOTHING_MORE,
  key_invalid: NOTHING_MORE,
  // The body says that another agent makes the call.
  other_agent_named: NOTHING_MORE,
};

export const proofRefusal = (
  reason: ProofRefusal,
  code: ErrorCode = "aeap_verification_failed",
  more: ErrorExtra = {},
): ServiceError => new ServiceError(code, { ...ADDED[reason], ...more, reason });

/**
 * The refusal of a proof whose certificate verifies. It costs one read of the agent's environment, as any public reading does.
 *
 * @param statement the expected statement; null when the request has no text to sign
 */
export async function explained(
  { db }: Deps,
  did: string,
  reason: ProofRefusal,
  statement: ProofStatement | null,
  code?: ErrorCode,
): Promise<ServiceError> {
  const { environment } = await readBatch(db, { environment: findEnvironment(db, did) });
  if (environment !== "sandbox") return proofRefusal(reason, code);
  const stated = statement === null ? null : proofText(statement);
  const detail = { reason, service_time: toIso(Date.now()), signed_text: stated?.ok ? stated.text : null };
  return proofRefusal(reason, code, { detail });
}
