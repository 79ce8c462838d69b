// A Verifier's credential to revoke an attestation, and the call that uses it.
import { ISSUER, type Json, type Reply, type World } from "../support/world.ts";
import { signClaims, type VerifierPair } from "../verifiers/support.ts";

const seconds = (): number => Math.floor(Date.now() / 1_000);

export const claimsFor = (attestation: Json, overrides: Json = {}): Json => ({
  iss: attestation.verifier_id,
  sub: attestation.attestation_id,
  aud: ISSUER,
  jti: crypto.randomUUID(),
  iat: seconds(),
  exp: seconds() + 300,
  ...overrides,
});

export const credential = (pair: VerifierPair, attestation: Json, overrides: Json = {}, header: Json = {}) =>
  signClaims(pair, claimsFor(attestation, overrides), { typ: "aeap-revocation+jwt", ...header });

export const revokeAs = (
  world: World,
  attestationId: string,
  headers: Record<string, string>,
  body?: Json,
): Promise<Reply> =>
  world.call("POST", `/v1/attestations/${attestationId}/revoke`, {
    key: null,
    headers,
    ...(body !== undefined && { body }),
  });

export const revoke = (world: World, attestationId: string, jws: string, body?: Json): Promise<Reply> =>
  revokeAs(world, attestationId, { Authorization: `Bearer ${jws}` }, body);
