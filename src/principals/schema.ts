// Principals and their attestations on the wire (PRN-1, PRN-6).
import * as z from "zod";
import { ENTITY_TYPES } from "../core/vocabulary.ts";
import {
  attestationModel,
  countryInput,
  environment,
  idInput,
  instant,
  instantInput,
  listOf,
  name,
  pageQuery,
  principalStatus,
  tier,
  validFields,
} from "../http/schemas.ts";

const attestation = z.strictObject({
  attestation_id: name(200),
  verifier_id: name(200),
  model: attestationModel,
  issued_at: instantInput,
  expires_at: instantInput,
  tier: tier.optional(),
  proof: z.string().min(1).max(20_000).optional(),
});
const placeholder = z.strictObject({ placeholder: z.literal(true), tier: tier.optional() });

/** Either the Verifier's attestation or, in sandbox, a placeholder. */
export const attestationInput = z
  .union([placeholder, attestation])
  .register(z.globalRegistry, { id: "AttestationInput" });

export type AttestationInput = z.infer<typeof attestationInput>;

const entityType = z.enum(ENTITY_TYPES).register(z.globalRegistry, { id: "EntityType" });

export const principalInput = z
  .strictObject({
    legal_name: name(300),
    country: countryInput,
    entity_type: entityType,
    external_ref: name(200),
    customer_id: idInput.nullable().optional(),
    verification_attestation: attestationInput,
  })
  .register(z.globalRegistry, { id: "PrincipalInput" });

export type PrincipalInput = z.infer<typeof principalInput>;

export type ProposedAttestation = z.infer<typeof placeholder> | Partial<z.infer<typeof attestation>>;
export type ProposedPrincipal = Partial<Omit<PrincipalInput, "verification_attestation">> & {
  verification_attestation?: ProposedAttestation;
};

const anyAttestation = z.object({ verification_attestation: z.unknown() });

/** The valid parts of a faulty body. */
export function proposedPrincipal(raw: unknown): ProposedPrincipal {
  const given = validFields(anyAttestation, raw).verification_attestation;
  const whole = placeholder.safeParse(given);
  return {
    ...validFields(principalInput, raw),
    verification_attestation: whole.success ? whole.data : validFields(attestation, given),
  };
}

export const attestationView = z
  .object({
    attestation_id: z.string(),
    verifier_id: z.string(),
    model: attestationModel,
    issued_at: instant,
    expires_at: instant,
    tier: tier.optional(),
  })
  .register(z.globalRegistry, { id: "Attestation" });

export const principalView = z
  .object({
    principal_id: z.string(),
    legal_name: z.string(),
    country: z.string(),
    entity_type: entityType,
    external_ref: z.string(),
    customer_id: z.string().nullable(),
    environment: environment,
    status: principalStatus,
    status_reason: z.string().nullable(),
    verification_attestation: attestationView,
    created_at: instant,
    updated_at: instant,
  })
  .register(z.globalRegistry, { id: "Principal" });

export type PrincipalView = z.infer<typeof principalView>;

export const principalList = listOf(principalView).register(z.globalRegistry, { id: "PrincipalList" });

export const principalQuery = z.strictObject({
  ...pageQuery,
  customer_id: z.string().max(100).optional(),
  external_ref: z.string().max(200).optional(),
  status: principalStatus.optional(),
});

export type PrincipalQuery = z.infer<typeof principalQuery>;

export const principalParams = z.object({ principal_id: z.string() });
