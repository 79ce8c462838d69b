// Principals and their attestations on the wire (PRN-1, PRN-6).
import * as z from "zod";
import { trimSpaces } from "../core/text.ts";
import { ENTITY_TYPES } from "../core/vocabulary.ts";
import {
  attestationModel,
  buildFixedFieldRule,
  buildNameSchema,
  buildTextSchema,
  countryInput,
  environment,
  idInput,
  instant,
  instantInput,
  metadata,
  pageQuery,
  pickValidFields,
  principalStatus,
  tier,
} from "../http/schemas.ts";

/** A revocation names the attestation in its URL, and URLs drop a segment of dots. */
const attestationId = buildNameSchema(200).refine((id) => id !== "." && id !== "..", {
  params: { code: "invalid_format" },
  message: "Must not be a dot or two.",
});
const attestation = z.strictObject({
  attestation_id: attestationId,
  verifier_id: buildNameSchema(200),
  model: attestationModel,
  issued_at: instantInput,
  expires_at: instantInput,
  tier: tier.optional(),
  proof: z.string().min(1).max(20_000).optional(),
});
const placeholder = z.strictObject({ placeholder: z.literal(true), tier: tier.optional() });

/** Either the Verifier's attestation or, in the sandbox, a placeholder. */
export const attestationInput = z
  .union([placeholder, attestation])
  .register(z.globalRegistry, { id: "AttestationInput" });

export type AttestationInput = z.infer<typeof attestationInput>;

const recording = { reactivate_agents: z.boolean().optional() };
/** The attestation, flat, and whether agents that a stop suspended return with it. */
export const recordingInput = z
  .union([placeholder.extend(recording), attestation.extend(recording)])
  .register(z.globalRegistry, { id: "AttestationRecording" });
export type RecordingInput = z.infer<typeof recordingInput>;

export function toProposedRecording(raw: unknown): ProposedAttestation {
  const whole = placeholder.extend(recording).safeParse(raw);
  return whole.success ? whole.data : pickValidFields(attestation, raw);
}

const entityType = z.enum(ENTITY_TYPES).register(z.globalRegistry, { id: "EntityType" });

export const principalInput = z
  .strictObject({
    legal_name: buildNameSchema(300),
    country: countryInput,
    entity_type: entityType,
    external_ref: buildNameSchema(200),
    customer_id: idInput.nullable().optional(),
    metadata: metadata.optional(),
    verification_attestation: attestationInput,
  })
  .register(z.globalRegistry, { id: "PrincipalInput" });

const PATCHED = { customer_id: idInput.nullable(), external_ref: buildNameSchema(200), metadata };

export const principalPatch = z.strictObject(PATCHED).partial().register(z.globalRegistry, { id: "PrincipalPatch" });
export type PrincipalPatch = z.infer<typeof principalPatch>;

/** A patch cannot change the other members. */
export const principalPatchRules = buildFixedFieldRule(() => principalView, PATCHED);

export type PrincipalInput = z.infer<typeof principalInput>;

export type ProposedAttestation = z.infer<typeof placeholder> | Partial<z.infer<typeof attestation>>;
export type ProposedPrincipal = Partial<Omit<PrincipalInput, "verification_attestation">> & {
  verification_attestation?: ProposedAttestation;
};

const anyAttestation = z.object({ verification_attestation: z.unknown() });

export function toProposedPrincipal(raw: unknown): ProposedPrincipal {
  const given = pickValidFields(anyAttestation, raw).verification_attestation;
  const whole = placeholder.safeParse(given);
  return {
    ...pickValidFields(principalInput, raw),
    verification_attestation: whole.success ? whole.data : pickValidFields(attestation, given),
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
    signed: z.boolean(),
  })
  .register(z.globalRegistry, { id: "Attestation" });

/** The Verifier of the attestation, and the reason. */
export const revocation = z
  .strictObject({ verifier_id: buildNameSchema(200).optional(), reason: buildTextSchema(500).optional() })
  .register(z.globalRegistry, { id: "RevocationInput" });
export type Revocation = z.infer<typeof revocation>;

export const attestationParams = z.object({ attestation_id: z.string() });

export const attestationQuery = z.strictObject(pageQuery);

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
    status_note: z.string().nullable(),
    metadata,
    verification_attestation: attestationView,
    attested_tier: tier,
    required_tier: tier,
    created_at: instant,
    updated_at: instant,
  })
  .register(z.globalRegistry, { id: "Principal" });

export type PrincipalView = z.infer<typeof principalView>;

export const principalQuery = z.strictObject({
  ...pageQuery,
  customer_id: z.string().max(100).optional(),
  external_ref: z.string().overwrite(trimSpaces).max(200).optional(),
  status: principalStatus.optional(),
});

export type PrincipalQuery = z.infer<typeof principalQuery>;

export const principalParams = z.object({ principal_id: z.string() });
