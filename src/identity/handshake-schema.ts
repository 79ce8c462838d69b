// Requests of the handshake: the checks of a certificate, a proof and a document (IDN-25).
import * as z from "zod";
import { AID_MAX_CHARS, CERTIFICATE_MAX_CHARS } from "../core/limits.ts";
import { didInput, jsonObject } from "../http/schemas.ts";

const certificate = z.string().min(1).max(CERTIFICATE_MAX_CHARS);
export const certificateInput = z.strictObject({ certificate }).register(z.globalRegistry, { id: "CertificateInput" });

const shared = { certificate, proof: z.string().min(1).max(1000), timestamp: z.string().min(1).max(64) };

export const proofInput = z
  .discriminatedUnion("proof_type", [
    z.strictObject({ proof_type: z.literal("challenge_response"), nonce: z.string().min(1).max(256), ...shared }),
    z.strictObject({ proof_type: z.literal("bound_proof"), callee_did: didInput, ...shared }),
  ])
  .register(z.globalRegistry, { id: "ProofInput" });
export type ProofInput = z.infer<typeof proofInput>;

export const aidInput = z
  .strictObject({ aid: z.union([z.string().min(1).max(AID_MAX_CHARS), jsonObject]) })
  .register(z.globalRegistry, { id: "AidInput" });
