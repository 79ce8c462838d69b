// Specification 4, Principals: registration against an attestation, and the reads.
import { recordActivity } from "../activity/store.ts";
import { type Examination, examination, type ManagementCall } from "../call.ts";
import { addMonths, toIso } from "../core/clock.ts";
import { type FieldError, fieldError, ServiceError, validationError } from "../core/errors.ts";
import { newId } from "../core/ids.ts";
import { ATTESTATION_MAX_AGE_MONTHS } from "../core/limits.ts";
import { decodeCursor, type Page, toPage } from "../core/page.ts";
import { present } from "../db/batch.ts";
import type { Environment } from "../db/scope.ts";
import type {
  AttestationInput,
  PrincipalInput,
  PrincipalQuery,
  PrincipalView,
  ProposedAttestation,
  ProposedPrincipal,
} from "./schema.ts";
import { effectivePrincipalStatus } from "./states.ts";
import {
  findCustomer,
  findDuplicate,
  findPrincipal,
  foldName,
  insertAttestation,
  insertPrincipal,
  listPrincipals,
  type PrincipalRow,
} from "./store.ts";

export async function registerPrincipal(call: ManagementCall, input: PrincipalInput): Promise<PrincipalView> {
  const { db, scope, now, environment } = call;
  const customerId = input.customer_id ?? null;
  const found = await call.read(
    present({
      duplicate: findDuplicate(db, scope, {
        externalRef: input.external_ref,
        legalName: input.legal_name,
        country: input.country,
      }),
      customer: customerId === null ? null : findCustomer(db, scope, customerId),
    }),
  );
  const attestation = expandAttestation(input.verification_attestation, environment, now);
  const faults = principalFaults(call, input, found.customer ?? null);
  if (faults.length > 0) throw validationError(faults);
  if (found.duplicate) {
    const { principalId, externalRef } = found.duplicate;
    const matched = externalRef === input.external_ref ? "external_ref" : "legal_name_and_country";
    throw new ServiceError("external_ref_exists", { detail: { principal_id: principalId, matched } });
  }

  const row: PrincipalRow = {
    principalId: newId("prn", now),
    platformId: found.caller.platformId,
    environment,
    tenant: false,
    legalName: input.legal_name,
    nameFolded: foldName(input.legal_name),
    country: input.country,
    entityType: input.entity_type,
    externalRef: input.external_ref,
    customerId,
    status: "ACTIVE",
    statusReason: null,
    ...attestation,
    createdAt: now,
    updatedAt: now,
  };
  const view = toPrincipalView(row, now);
  await call.commit(
    [
      insertPrincipal(db, row),
      insertAttestation(db, {
        attestationId: row.attestationId,
        principalId: row.principalId,
        verifierId: row.attestationVerifierId,
        model: row.attestationModel,
        tier: row.attestationTier,
        proof: "proof" in input.verification_attestation ? (input.verification_attestation.proof ?? null) : null,
        issuedAt: row.attestationIssuedAt,
        expiresAt: row.attestationExpiresAt,
        recordedAt: now,
      }),
      recordActivity(db, row, now, {
        action: "principal.registered",
        actor: found.caller.actor,
        subject: { type: "principal", id: row.principalId },
      }),
    ],
    view,
  );
  return view;
}

/** Of a body that the schema finds faulty: what else is wrong with the rest. */
export function examinePrincipal(call: ManagementCall, input: ProposedPrincipal): Examination {
  const customerId = input.customer_id ?? null;
  const reads = present({ customer: customerId === null ? null : findCustomer(call.db, call.scope, customerId) });
  return examination(reads, ({ customer }) => principalFaults(call, input, customer ?? null));
}

/** What the schema cannot know: where the service operates, what time it is, and whose customer that is. */
function principalFaults(call: ManagementCall, input: ProposedPrincipal, customer: unknown): FieldError[] {
  const { country, verification_attestation: attestation, customer_id: customerId = null } = input;
  return [
    ...(country === undefined ? [] : countryFaults(country, call.deps.config.jurisdictions)),
    ...(attestation === undefined ? [] : attestationFaults(attestation, call.environment, call.now)),
    ...(customerId !== null && !customer ? [fieldError("customer_id", "not_found")] : []),
  ];
}

export async function getPrincipal(call: ManagementCall, principalId: string): Promise<PrincipalView> {
  const { principal } = await call.read({ principal: findPrincipal(call.db, call.scope, principalId) });
  if (!principal) throw new ServiceError("not_found");
  return toPrincipalView(principal, call.now);
}

export async function getPrincipals(call: ManagementCall, query: PrincipalQuery): Promise<Page<PrincipalView>> {
  const afterId = query.cursor === undefined ? null : decodeCursor(query.cursor).id;
  const filter = {
    customerId: query.customer_id,
    externalRef: query.external_ref,
    status: query.status,
    now: call.now,
  };
  const { rows } = await call.read({
    rows: listPrincipals(call.db, call.scope, filter, { limit: query.limit, afterId }),
  });
  return toPage(
    rows,
    query.limit,
    (row) => ({ at: row.createdAt, id: row.principalId }),
    (row) => toPrincipalView(row, call.now),
  );
}

export function toPrincipalView(row: PrincipalRow, now: number): PrincipalView {
  const status = effectivePrincipalStatus(row, now);
  return {
    principal_id: row.principalId,
    legal_name: row.legalName,
    country: row.country,
    entity_type: row.entityType as PrincipalView["entity_type"],
    external_ref: row.externalRef,
    customer_id: row.customerId,
    environment: row.environment as Environment,
    status,
    status_reason: row.statusReason ?? (status === "ATTESTATION_EXPIRED" ? "attestation_expired" : null),
    verification_attestation: {
      attestation_id: row.attestationId,
      verifier_id: row.attestationVerifierId,
      model: row.attestationModel,
      issued_at: toIso(row.attestationIssuedAt),
      expires_at: toIso(row.attestationExpiresAt),
      ...(row.attestationTier !== null && { tier: row.attestationTier as "TIER_1" }),
    },
    created_at: toIso(row.createdAt),
    updated_at: toIso(row.updatedAt),
  };
}

type AttestationColumns = Pick<
  PrincipalRow,
  | "attestationId"
  | "attestationVerifierId"
  | "attestationModel"
  | "attestationTier"
  | "attestationIssuedAt"
  | "attestationExpiresAt"
>;

/** In sandbox a placeholder expands to a full record (contract section 4). */
function expandAttestation(input: AttestationInput, environment: Environment, now: number): AttestationColumns {
  if ("placeholder" in input) {
    return {
      attestationId: newId("att", now),
      attestationVerifierId: `${environment}-placeholder`,
      attestationModel: "kyb",
      attestationTier: input.tier ?? "TIER_3",
      attestationIssuedAt: now,
      attestationExpiresAt: addMonths(now, ATTESTATION_MAX_AGE_MONTHS),
    };
  }
  return {
    attestationId: input.attestation_id,
    attestationVerifierId: input.verifier_id,
    attestationModel: input.model,
    attestationTier: input.tier ?? null,
    attestationIssuedAt: input.issued_at,
    attestationExpiresAt: input.expires_at,
  };
}

const countryFaults = (country: string, jurisdictions: ReadonlySet<string>): FieldError[] =>
  jurisdictions.has(country)
    ? []
    : [fieldError("country", "invalid_value", "The service does not operate in this jurisdiction.")];

function attestationFaults(input: ProposedAttestation, environment: Environment, now: number): FieldError[] {
  const fault = (field: string, message: string, code: "invalid_value" | "not_found" = "invalid_value") =>
    fieldError(`verification_attestation.${field}`, code, message);
  if ("placeholder" in input) {
    return environment === "sandbox" ? [] : [fault("placeholder", "A placeholder is accepted in sandbox only.")];
  }
  const { issued_at: issuedAt, expires_at: expiresAt, verifier_id: verifierId } = input;
  const faults: FieldError[] = [];
  if (issuedAt !== undefined && issuedAt > now)
    faults.push(fault("issued_at", "The attestation is issued in the future."));
  if (expiresAt !== undefined && expiresAt <= now) faults.push(fault("expires_at", "The attestation has expired."));
  if (issuedAt !== undefined && expiresAt !== undefined && expiresAt <= issuedAt)
    faults.push(fault("expires_at", "It ends before it begins."));
  if (issuedAt !== undefined && addMonths(issuedAt, ATTESTATION_MAX_AGE_MONTHS) <= now)
    faults.push(fault("issued_at", "The attestation is older than twelve months."));
  // In production only a registered Verifier's attestation counts; none can be registered yet.
  if (environment === "production" && verifierId !== undefined)
    faults.push(fault("verifier_id", "No such Verifier is registered.", "not_found"));
  return faults;
}
