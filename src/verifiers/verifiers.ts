// Operators register, read and change Verifiers (PRN-22), whose attestations stay, whatever happens to them. The texts that a Verifier signs are
// judged here: the proof of an attestation (PRN-22), and the credential that revokes one (PRN-25).
import { decodeJwt } from "jose";
import { type OperatorCall, readPage } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import { MINUTE_MS, PROOF_WINDOW_SECONDS, SECOND_MS } from "../core/limits.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import type { AttestationModel, Tier } from "../core/vocabulary.ts";
import type { VerifierRow } from "../db/tables/principals.ts";
import { recordOperatorEntry } from "../journal/operator-log.ts";
import { hasBegun, isObject, type JsonObject, type JwsFault, verifyJws } from "../protocol/jws.ts";
import { createKeyFinder, VERIFIER_ALGORITHMS } from "../protocol/verifier-keys.ts";
import type { VerifierView } from "./responses.ts";
import type { VerifierInput, VerifierPatch, VerifierQuery } from "./schema.ts";
import { findVerifier, insertVerifier, listVerifiers, updateVerifier } from "./store.ts";

export async function registerVerifier(call: OperatorCall, input: VerifierInput): Promise<VerifierView> {
  const { db, deps, actor } = call;
  const now = deps.clock.now();
  await call.read({});
  const { name, jwks, status = "enabled" } = input;
  const row: VerifierRow = { verifierId: createId("ver", now), name, jwks, status, createdAt: now, updatedAt: now };
  const view = toView(row);
  const entry = recordOperatorEntry(db, actor, now, {
    action: "verifier.registered",
    subject: toVerifierSubject(row),
    detail: { name, jwks, status },
  });
  await call.commit([insertVerifier(db, row), entry], view);
  return view;
}

export async function getVerifiers(call: OperatorCall, query: VerifierQuery): Promise<Page<VerifierView>> {
  const page = await readPage(call, query, hashListing("verifiers", [], {}));
  const { rows } = await call.read({ rows: listVerifiers(call.db, page) });
  return toPage(rows, page, ({ createdAt, verifierId }) => ({ at: createdAt, id: verifierId }), toView);
}

export const findNamedVerifier = ({ db }: OperatorCall, { verifier_id }: { verifier_id: string }) =>
  findVerifier(db, verifier_id);

export const getVerifier = async (call: OperatorCall<VerifierRow>): Promise<VerifierView> =>
  toView((await call.read({})).object);

export async function patchVerifier(call: OperatorCall<VerifierRow>, patch: VerifierPatch): Promise<VerifierView> {
  const { db, deps, actor } = call;
  const now = deps.clock.now();
  const { object: before } = await call.read({});
  const { name = before.name, jwks = before.jwks, status = before.status } = patch;
  const after: VerifierRow = { ...before, name, jwks, status, updatedAt: Math.max(now, before.updatedAt + 1) };
  const changed = MEMBERS.filter((member) => JSON.stringify(before[member]) !== JSON.stringify(after[member]));
  if (changed.length === 0) throw new ServiceError("no_changes_requested");
  const view = toView(after);
  const entry = recordOperatorEntry(db, actor, now, {
    action: "verifier.updated",
    subject: toVerifierSubject(before),
    detail: Object.fromEntries(changed.map((member) => [member, { from: before[member], to: after[member] }])),
  });
  await call.commit([...updateVerifier(db, before, after), entry], view);
  return view;
}

const MEMBERS = ["name", "jwks", "status"] as const;

const toVerifierSubject = ({ verifierId }: VerifierRow) => ({ type: "verifier", id: verifierId });

const toView = (row: VerifierRow): VerifierView => ({
  verifier_id: row.verifierId,
  name: row.name,
  jwks: { keys: [...row.jwks.keys] },
  status: row.status,
  created_at: toIso(row.createdAt),
  updated_at: toIso(row.updatedAt),
});

// ---- Proofs of attestations ----------------------------------------------------------------------------------------------

const ATTESTATION_TYP = "aeap-attestation+jwt";

/** The person and the attestation of a body. A member that its schema refused is left out, and not compared. */
type Stated = {
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

/** The proof is a JWS by a key of its Verifier, whose claims equal the body. Returns why it does not prove the stated values, or null. */
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
  stated === undefined || (Number.isSafeInteger(claimed) && Number(claimed) * SECOND_MS === stated);

// ---- Credentials for revocation ------------------------------------------------------------------------------------------

const REVOCATION_TYP = "aeap-revocation+jwt";
const LIFE_MS = 5 * MINUTE_MS;
/** How far a Verifier's clock may be ahead. */
const AHEAD_MS = PROOF_WINDOW_SECONDS * SECOND_MS;

/** The claims before the signature is verified: enough to find the Verifier that they name. */
type Presented = {
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

/**
 * A credential is a JWS by the Verifier's key, for this service and one attestation, short-lived and good once. `audience`: the service's issuer.
 * `now`: real time.
 */
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
