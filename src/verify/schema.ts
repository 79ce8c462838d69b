// Contract section 7 on the wire: challenge, and the checks of a certificate, a proof and a document.
import { z } from "@hono/zod-openapi";
import { instant } from "../http/schemas.ts";

export const challengeView = z
  .object({ nonce: z.string().min(16), expires_in: z.number().int(), expires_at: instant })
  .openapi("Challenge");

const certificate = z.string().min(1).max(20_000);
export const certificateInput = z.strictObject({ certificate }).openapi("CertificateInput");

export const certificateCheck = z
  .object({
    valid: z.boolean(),
    reason: z.string().nullable(),
    agent_id: z.string().nullable(),
    cert_tier: z.string().nullable(),
    economic_role: z.string().nullable(),
    claims: z.looseObject({}).nullable(),
  })
  .openapi("CertificateCheck");

const shared = { certificate, proof: z.string().min(1).max(1000), timestamp: z.string().min(1).max(64) };

export const proofInput = z
  .discriminatedUnion("proof_type", [
    z.strictObject({ proof_type: z.literal("challenge_response"), nonce: z.string().min(1).max(256), ...shared }),
    z.strictObject({ proof_type: z.literal("bound_proof"), callee_did: z.string().min(1).max(100), ...shared }),
  ])
  .openapi("ProofInput");
export type ProofInput = z.infer<typeof proofInput>;

export const proofCheck = z
  .object({ verified: z.boolean(), reason: z.string().nullable(), agent_id: z.string().nullable() })
  .openapi("ProofCheck");

export const aidInput = z
  .strictObject({ aid: z.union([z.string().min(1).max(200_000), z.looseObject({})]) })
  .openapi("AidInput", { description: "The JSON document as it was served, or the compact JWS." });

export const aidCheck = z
  .object({
    valid: z.boolean(),
    reason: z.string().nullable(),
    did: z.string().nullable(),
    version: z.number().int().nullable(),
    revision: z.number().int().nullable(),
  })
  .openapi("AidCheck");

const jwk = z.object({
  kty: z.literal("EC"),
  crv: z.literal("P-256"),
  x: z.string(),
  y: z.string(),
  kid: z.string(),
  use: z.literal("sig"),
  alg: z.literal("ES256"),
});
export const jwksView = z.object({ keys: z.array(jwk) }).openapi("Jwks");

export const discoveryView = z
  .object({
    service_did: z.string(),
    issuer: z.string(),
    jwks_uri: z.string(),
    challenge_endpoint: z.string(),
    status_lists_uri: z.string(),
    proof_formats: z.array(z.string()),
  })
  .openapi("Discovery");
