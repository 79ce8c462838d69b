// Responses about principals and their attestations.
import * as z from "zod";
import { buildListSchema } from "../http/response-parts.ts";
import { instant, principalStatus } from "../http/schemas.ts";
import { attestationView, principalView } from "./schema.ts";

const attestationStatus = z
  .enum(["current", "expired", "revoked", "replaced"])
  .register(z.globalRegistry, { id: "AttestationStatus" });

export const recordedAttestationView = z
  .object({
    ...attestationView.shape,
    principal_id: z.string(),
    status: attestationStatus,
    proof: z.string().nullable(),
    recorded_at: instant,
    revoked_at: instant.nullable(),
    revocation_reason: z.string().nullable(),
  })
  .register(z.globalRegistry, { id: "RecordedAttestation" });
export type RecordedAttestationView = z.infer<typeof recordedAttestationView>;

export const attestationList = buildListSchema(recordedAttestationView).register(z.globalRegistry, {
  id: "AttestationList",
});

export const attestedView = recordedAttestationView.extend({ principal_status: principalStatus });

export const revocationView = z
  .object({
    attestation_id: z.string(),
    verifier_id: z.string(),
    status: z.literal("revoked"),
    revoked_at: instant,
  })
  .register(z.globalRegistry, { id: "Revocation" });
export type RevocationView = z.infer<typeof revocationView>;

export const principalList = buildListSchema(principalView).register(z.globalRegistry, { id: "PrincipalList" });
