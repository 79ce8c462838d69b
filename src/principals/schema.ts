// Specification 2.3 on the wire: the principal and its verification attestation.
import { z } from "@hono/zod-openapi";
import { instant, instantInput, listOf, pageQuery, text } from "../http/schemas.ts";
import { validFields } from "../http/validation.ts";
import { PRINCIPAL_STATUSES } from "./states.ts";

export const ENTITY_TYPES = ["company", "individual"] as const;
export const TIERS = ["TIER_1", "TIER_2", "TIER_3"] as const;

const attestation = z.strictObject({
  attestation_id: text(200).openapi({ example: "att_kyb_7781" }),
  verifier_id: text(200).openapi({ example: "ver_acme_kyb" }),
  model: z.enum(["kyb", "kyc"]),
  issued_at: instantInput,
  expires_at: instantInput,
  tier: z.enum(TIERS).optional(),
  proof: z.string().min(1).max(20_000).optional().openapi({ description: "Compact JWS by the Verifier." }),
});
const placeholder = z.strictObject({ placeholder: z.literal(true), tier: z.enum(TIERS).optional() });

/** Either the Verifier's attestation or, in sandbox, a placeholder. */
export const attestationInput = z.union([placeholder, attestation]).openapi("AttestationInput");

export type AttestationInput = z.infer<typeof attestationInput>;

export const principalInput = z
  .strictObject({
    legal_name: text(300).openapi({ description: "As on the registration document.", example: "Acme Robotics GmbH" }),
    country: z
      .string()
      .regex(/^[A-Z]{2}$/, "It is two capital letters, ISO 3166-1 alpha-2, as DE.")
      .openapi({ description: "ISO 3166-1 alpha-2, a jurisdiction that the service operates in.", example: "DE" }),
    entity_type: z.enum(ENTITY_TYPES),
    external_ref: text(200).openapi({
      description: "The platform's own identifier; unique per environment.",
      example: "crm-4711",
    }),
    customer_id: z.string().max(100).nullable().optional(),
    verification_attestation: attestationInput,
  })
  .openapi("PrincipalInput");

export type PrincipalInput = z.infer<typeof principalInput>;

export type ProposedAttestation = z.infer<typeof placeholder> | Partial<z.infer<typeof attestation>>;
export type ProposedPrincipal = Partial<Omit<PrincipalInput, "verification_attestation">> & {
  verification_attestation?: ProposedAttestation;
};

/** What of a faulty body is valid. */
export function proposedPrincipal(raw: unknown): ProposedPrincipal {
  const given = validFields(z.object({ verification_attestation: z.unknown() }), raw).verification_attestation;
  const whole = placeholder.safeParse(given);
  return {
    ...validFields(principalInput, raw),
    verification_attestation: whole.success ? whole.data : validFields(attestation, given),
  };
}

export const attestationView = z.object({
  attestation_id: z.string(),
  verifier_id: z.string(),
  model: z.string(),
  issued_at: instant,
  expires_at: instant,
  tier: z.enum(TIERS).optional(),
});

export const principalView = z
  .object({
    principal_id: z.string(),
    legal_name: z.string(),
    country: z.string(),
    entity_type: z.enum(ENTITY_TYPES),
    external_ref: z.string(),
    customer_id: z.string().nullable(),
    environment: z.enum(["sandbox", "production"]),
    status: z.enum(PRINCIPAL_STATUSES),
    status_reason: z.string().nullable(),
    verification_attestation: attestationView,
    created_at: instant,
    updated_at: instant,
  })
  .openapi("Principal");

export type PrincipalView = z.infer<typeof principalView>;

export const principalList = listOf(principalView).openapi("PrincipalList");

export const principalQuery = z.strictObject({
  ...pageQuery,
  customer_id: z.string().max(100).optional().openapi({ description: "A customer's id, or `none` for the ungrouped." }),
  external_ref: z.string().max(200).optional(),
  status: z.enum(PRINCIPAL_STATUSES).optional(),
});

export type PrincipalQuery = z.infer<typeof principalQuery>;

export const principalParams = z.object({ principal_id: z.string() });
