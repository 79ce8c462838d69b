// Maps the precise reason of a refused certificate or proof to its answer (PRF-12). The answer has one code and one sentence, because an
// attacker may probe; in the sandbox, a caller with a good certificate gets the reason, the service's time and the expected text.
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

/** The maker of a replayed proof may know that it was used: the proof was good. */
export const proofRefusal = (
  reason: ProofRefusal,
  code: ErrorCode = "aeap_verification_failed",
  more: ErrorExtra = {},
): ServiceError => new ServiceError(code, { ...(reason === "replay" && { type: "replay" }), ...more, reason });

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
