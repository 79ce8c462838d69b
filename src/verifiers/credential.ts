// The credential with which a Verifier revokes an attestation (PRN-25): a JWS by its registered key, for this service and one attestation,
// short-lived and good once.
import { decodeJwt } from "jose";
import { MINUTE_MS, PROOF_WINDOW_SECONDS, SECOND_MS } from "../core/limits.ts";
import type { VerifierRow } from "../db/tables/principals.ts";
import { hasBegun, type JsonObject, verifyJws } from "../protocol/jws.ts";
import { createKeyFinder, VERIFIER_ALGORITHMS } from "../protocol/verifier-keys.ts";

const REVOCATION_TYP = "aeap-revocation+jwt";
const LIFE_MS = 5 * MINUTE_MS;
/** How far a Verifier's clock may be ahead. */
const AHEAD_MS = PROOF_WINDOW_SECONDS * SECOND_MS;

/** The claims of a credential before its signature is verified: enough to find the Verifier that it names. */
export type Presented = {
  readonly jws: string;
  readonly verifierId: string;
  readonly jti: string;
  readonly endsAt: number;
};

/** Returns null if the text is not such a JWS. */
export function readCredential(jws: string): Presented | null {
  try {
    const { iss, jti, exp } = decodeJwt(jws);
    if (!isName(iss) || !isName(jti) || !Number.isSafeInteger(exp)) return null;
    return { jws, verifierId: iss, jti, endsAt: Number(exp) * SECOND_MS };
  } catch {
    return null;
  }
}

const isName = (value: unknown): value is string => typeof value === "string" && value !== "" && value.length <= 200;

export type Credential =
  | { readonly ok: true; readonly attestationId: string }
  /** The reason is for the log alone: a caller learns nothing about the keys of others. */
  | { readonly ok: false; readonly reason: string };

/** Verifies a credential at an instant of real time. `audience`: the service's issuer. */
export async function verifyCredential(
  { jws }: Presented,
  verifier: VerifierRow,
  { audience, now }: { readonly audience: string; readonly now: number },
): Promise<Credential> {
  if (verifier.status !== "enabled") return refuseCredential("the Verifier is disabled");
  const checked = await verifyJws(jws, REVOCATION_TYP, createKeyFinder(verifier.jwks), VERIFIER_ALGORITHMS);
  if (!checked.ok) return refuseCredential(checked.reason);
  const fault = findClaimFault(checked.payload, verifier, audience, now);
  return fault === null ? { ok: true, attestationId: String(checked.payload["sub"]) } : refuseCredential(fault);
}

const refuseCredential = (reason: string): Credential => ({ ok: false, reason: `revocation: ${reason}` });

function findClaimFault(claims: JsonObject, { verifierId }: VerifierRow, audience: string, now: number): string | null {
  const { iss, sub, aud, iat, exp, nbf } = claims;
  if (iss !== verifierId) return "another iss";
  if (aud !== audience) return "another aud";
  if (!isName(sub)) return "no sub";
  if (!Number.isSafeInteger(iat) || !Number.isSafeInteger(exp)) return "no iat or exp";
  const [issuedAt, endsAt] = [Number(iat) * SECOND_MS, Number(exp) * SECOND_MS];
  if (endsAt <= issuedAt || endsAt - issuedAt > LIFE_MS) return "it lasts too long";
  if (issuedAt > now + AHEAD_MS || !hasBegun(nbf, now + AHEAD_MS)) return "it is in the future";
  return endsAt <= now ? "it has ended" : null;
}
