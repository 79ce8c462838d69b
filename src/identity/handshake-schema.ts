// The handshake on the wire: the challenge, and the checks of a certificate, a proof and a document (IDN-25).
import * as z from "zod";
import { AID_MAX_CHARS, CERTIFICATE_MAX_CHARS } from "../core/limits.ts";
import { did, didInput, instant, jsonObject, url } from "../http/schemas.ts";

export const challengeView = z
  .object({ nonce: z.string().min(16), expires_in: z.number().int(), expires_at: instant })
  .register(z.globalRegistry, { id: "Challenge" });

const certificate = z.string().min(1).max(CERTIFICATE_MAX_CHARS);
export const certificateInput = z.strictObject({ certificate }).register(z.globalRegistry, { id: "CertificateInput" });

export const certificateCheck = z
  .object({
    valid: z.boolean(),
    reason: z.string().nullable(),
    agent_id: z.string().nullable(),
    cert_tier: z.string().nullable(),
    economic_role: z.string().nullable(),
    claims: jsonObject.nullable(),
  })
  .register(z.globalRegistry, { id: "CertificateCheck" });

const shared = { certificate, proof: z.string().min(1).max(1000), timestamp: z.string().min(1).max(64) };

export const proofInput = z
  .discriminatedUnion("proof_type", [
    z.strictObject({ proof_type: z.literal("challenge_response"), nonce: z.string().min(1).max(256), ...shared }),
    z.strictObject({ proof_type: z.literal("bound_proof"), callee_did: didInput, ...shared }),
  ])
  .register(z.globalRegistry, { id: "ProofInput" });
export type ProofInput = z.infer<typeof proofInput>;

export const proofCheck = z
  .object({ verified: z.boolean(), reason: z.string().nullable(), agent_id: z.string().nullable() })
  .register(z.globalRegistry, { id: "ProofCheck" });

export const aidInput = z
  .strictObject({ aid: z.union([z.string().min(1).max(AID_MAX_CHARS), jsonObject]) })
  .register(z.globalRegistry, { id: "AidInput" });

export const aidCheck = z
  .object({
    valid: z.boolean(),
    reason: z.string().nullable(),
    did: did.nullable(),
    version: z.number().int().nullable(),
    revision: z.number().int().nullable(),
  })
  .register(z.globalRegistry, { id: "AidCheck" });

const jwk = z.object({
  kty: z.literal("EC"),
  crv: z.literal("P-256"),
  x: z.string(),
  y: z.string(),
  kid: z.string(),
  use: z.literal("sig"),
  alg: z.literal("ES256"),
});
export const jwksView = z.object({ keys: z.array(jwk) }).register(z.globalRegistry, { id: "Jwks" });

export const discoveryView = z
  .object({
    service_did: did,
    issuer: url,
    jwks_uri: url,
    challenge_endpoint: url,
    status_lists_uri: url,
    proof_formats: z.array(z.string()),
    status_page: url.nullable(),
  })
  .register(z.globalRegistry, { id: "Discovery" });
