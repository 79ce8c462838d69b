// The keys, registrations and proofs of Verifiers in the tests.
import { CompactSign, type CryptoKey, exportJWK, generateKeyPair } from "jose";
import { encodeUtf8 } from "../../src/core/encoding.ts";
import { DAY_MS } from "../../src/core/limits.ts";
import { operator } from "../consequences/plays/stage.ts";
import { expectStatus, type Json, principalBody, type Reply, type World } from "../support/world.ts";

export type Alg = "ES256" | "EdDSA";
export type VerifierPair = { readonly alg: Alg; readonly privateKey: CryptoKey; readonly jwk: Json };

export async function drawKey(alg: Alg = "ES256", kid: string = crypto.randomUUID()): Promise<VerifierPair> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return { alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid } };
}

export const operate = (world: World, method: string, path: string, body?: unknown, headers = {}): Promise<Reply> => {
  const { key, headers: credential } = operator();
  return world.call(method, path, { key, headers: { ...credential, ...headers }, ...(body !== undefined && { body }) });
};

const VERIFIERS = "/v1/operator/verifiers";

export const verifierBody = (keys: readonly Json[], overrides: Record<string, unknown> = {}) => ({
  name: "Acme Verification",
  jwks: { keys },
  ...overrides,
});

export const registerVerifier = async (world: World, keys: readonly Json[], overrides = {}): Promise<Json> =>
  expectStatus(await operate(world, "POST", VERIFIERS, verifierBody(keys, overrides)), 201);

export const patchVerifier = (world: World, verifierId: string, patch: unknown): Promise<Reply> =>
  operate(world, "PATCH", `${VERIFIERS}/${verifierId}`, patch);

const wholeSecond = (at: number): string => new Date(Math.floor(at / 1_000) * 1_000).toISOString();

/** An attestation of a Verifier, from whole second to whole second. */
export const attestationBy = (
  verifier_id: string,
  now = Date.now(),
  overrides: Record<string, unknown> = {},
): Json => ({
  attestation_id: `att_${crypto.randomUUID()}`,
  verifier_id,
  model: "kyb",
  issued_at: wholeSecond(now - DAY_MS),
  expires_at: wholeSecond(now + 100 * DAY_MS),
  ...overrides,
});

/** The body of a registration with an attestation of a Verifier. */
export const attestedBody = (verifierId: string, overrides: Record<string, unknown> = {}): Json =>
  principalBody({ verification_attestation: attestationBy(verifierId, Date.now(), overrides) });

/** The Verifier's claims about a body. */
export function claimsOf({ legal_name, country, external_ref, verification_attestation: given }: Json): Json {
  return {
    iss: given.verifier_id,
    jti: given.attestation_id,
    subject: { legal_name, country, external_ref },
    model: given.model,
    ...(given.tier !== undefined && { tier: given.tier }),
    iat: Date.parse(given.issued_at) / 1_000,
    exp: Date.parse(given.expires_at) / 1_000,
  };
}

/** Signs a proof. `header` replaces members of its header. */
export async function signClaims(key: VerifierPair, claims: unknown, header: Json = {}): Promise<string> {
  const text = typeof claims === "string" ? claims : JSON.stringify(claims);
  return new CompactSign(encodeUtf8(text))
    .setProtectedHeader({ alg: key.alg, typ: "aeap-attestation+jwt", kid: key.jwk.kid, ...header })
    .sign(key.privateKey);
}

export const withProof = (body: Json, proof: string): Json => ({
  ...body,
  verification_attestation: { ...body.verification_attestation, proof },
});

export const faultsOf = ({ status, body }: Reply): unknown => [
  status,
  body.code,
  body.field_errors?.map(({ field, code }: Json) => [field, code]).sort(),
];
