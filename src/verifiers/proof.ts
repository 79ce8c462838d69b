// The proof of an attestation: a JWS by a key of its Verifier, whose claims equal the body (PRN-22). Pure.
import type { AttestationModel, Tier } from "../core/vocabulary.ts";
import type { VerifierRow } from "../db/tables/principals.ts";
import { hasBegun, isObject, type JsonObject, type JwsFault, verifyJws } from "../protocol/jws.ts";
import { createKeyFinder, VERIFIER_ALGORITHMS } from "../protocol/verifier-keys.ts";

const ATTESTATION_TYP = "aeap-attestation+jwt";

/** The person and the attestation of a body. A member that its schema refused is left out, and not compared. */
export type Stated = {
  readonly legalName?: string | undefined;
  readonly country?: string | undefined;
  readonly externalRef?: string | undefined;
  readonly attestationId?: string | undefined;
  readonly model?: AttestationModel | undefined;
  /** Absent if the body states none, so the claim has to be absent too. */
  readonly tier?: Tier | undefined;
  readonly issuedAt?: number | undefined;
  readonly expiresAt?: number | undefined;
};

/** Returns why the proof does not prove the stated values at an instant, or null if it does. */
export async function findProofFault(
  proof: string,
  { verifierId, jwks }: VerifierRow,
  stated: Stated,
  now: number,
): Promise<string | null> {
  const checked = await verifyJws(proof, ATTESTATION_TYP, createKeyFinder(jwks), VERIFIER_ALGORITHMS);
  if (!checked.ok) return SENTENCES[checked.reason];
  if (!hasBegun(checked.payload["nbf"], now)) return "The proof is not valid yet: its `nbf` is in the future.";
  const differing = findDifferingClaims(checked.payload, verifierId, stated);
  return differing.length === 0 ? null : `The proof and the body differ: ${differing.join(", ")}.`;
}

const SENTENCES: Readonly<Record<JwsFault, string>> = {
  malformed: "Must be a compact JWS.",
  algorithm_not_allowed: "The `alg` of the JWS must be ES256 or EdDSA.",
  type_not_allowed: `The \`typ\` of the JWS must be ${ATTESTATION_TYP}.`,
  header_not_allowed: "The header of the JWS must name its key only by `kid`.",
  key_id_missing: "The header of the JWS must have a `kid`.",
  key_unknown: "The Verifier has no key of this `kid`.",
  signature_invalid: "The signature was not made with the Verifier's key.",
  payload_malformed: "The payload of the JWS must be a JSON object.",
};

function findDifferingClaims(claims: JsonObject, verifierId: string, stated: Stated): string[] {
  const subject: JsonObject = isObject(claims["subject"]) ? claims["subject"] : {};
  const { legalName, country, externalRef, attestationId, model, tier, issuedAt, expiresAt } = stated;
  const equal: Readonly<Record<string, boolean>> = {
    iss: claims["iss"] === verifierId,
    jti: isSame(claims["jti"], attestationId),
    "subject.legal_name": isSame(subject["legal_name"], legalName),
    "subject.country": isSame(subject["country"], country),
    // The Verifier may not know the platform's reference of the person, so this claim is optional.
    "subject.external_ref": !Object.hasOwn(subject, "external_ref") || isSame(subject["external_ref"], externalRef),
    model: isSame(claims["model"], model),
    tier: claims["tier"] === tier,
    iat: isInstant(claims["iat"], issuedAt),
    exp: isInstant(claims["exp"], expiresAt),
  };
  return Object.keys(equal).filter((claim) => !equal[claim]);
}

const isSame = (claimed: unknown, stated: string | undefined): boolean => stated === undefined || claimed === stated;

/** Claims are whole seconds, so an instant between two of them equals no claim. */
const isInstant = (claimed: unknown, stated: number | undefined): boolean =>
  stated === undefined || (Number.isSafeInteger(claimed) && (claimed as number) * 1_000 === stated);
