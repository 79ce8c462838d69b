// Registers a principal against an attestation (PRN-1 to PRN-4).
import { type ManagementCall, type Precheck, precheck } from "../call.ts";
import { type FieldError, fieldError, ServiceError, validationError } from "../core/errors.ts";
import { newId } from "../core/ids.ts";
import { foldName } from "../core/text.ts";
import { present } from "../db/batch.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { recordActivity } from "../journal/activity.ts";
import { attestationFaults, currentAttestation, expandAttestation } from "./attestations.ts";
import { countryFaults } from "./countries.ts";
import type { PrincipalInput, PrincipalView, ProposedPrincipal } from "./schema.ts";
import { findCustomer, findDuplicate, insertAttestation, insertPrincipal } from "./store.ts";
import { toPrincipalView } from "./views.ts";

export async function registerPrincipal(call: ManagementCall, input: PrincipalInput): Promise<PrincipalView> {
  const { db, tenant, now, environment } = call;
  const customerId = input.customer_id ?? null;
  const found = await call.read(
    present({
      duplicate: findDuplicate(db, tenant, {
        externalRef: input.external_ref,
        legalName: input.legal_name,
        country: input.country,
      }),
      customer: customerId === null ? null : findCustomer(db, tenant, customerId),
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
    accountStopped: null,
    ...attestation,
    createdAt: now,
    updatedAt: now,
  };
  const view = toPrincipalView(row, now);
  await call.commit(
    [
      insertPrincipal(db, row),
      insertAttestation(db, currentAttestation(row, { proof: proofOf(input), recordedAt: now })),
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

const proofOf = ({ verification_attestation: given }: PrincipalInput): string | null =>
  "proof" in given ? (given.proof ?? null) : null;

/** Finds the further faults of a body that the schema refuses. */
export function precheckPrincipal(call: ManagementCall, input: ProposedPrincipal): Precheck {
  const customerId = input.customer_id ?? null;
  const reads = present({ customer: customerId === null ? null : findCustomer(call.db, call.tenant, customerId) });
  return precheck(reads, ({ customer }) => principalFaults(call, input, customer ?? null));
}

/** The faults that no schema knows: jurisdiction, time, and ownership of the customer. */
function principalFaults(call: ManagementCall, input: ProposedPrincipal, customer: unknown): FieldError[] {
  const { country, verification_attestation: attestation, customer_id: customerId = null } = input;
  return [
    ...(country === undefined ? [] : countryFaults(country, call.deps.config.jurisdictions)),
    ...(attestation === undefined ? [] : attestationFaults(attestation, call.environment, call.now)),
    ...(customerId !== null && !customer ? [fieldError("customer_id", "not_found")] : []),
  ];
}
