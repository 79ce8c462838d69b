// Registers a principal against an attestation (PRN-1 to PRN-4, PRN-9), and builds the tenant principal of an account.
import { type ManagementCall, type Precheck, precheck } from "../call.ts";
import { type FieldError, ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import { foldName } from "../core/text.ts";
import type { Actor } from "../core/vocabulary.ts";
import { enterCustomer, type FoundCustomer, findCustomer } from "../customers/store.ts";
import { type Database, dropAbsentReads, type Statement } from "../db/batch.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { recordActivity } from "../journal/activity.ts";
import { refuseChangedVerifier } from "../verifiers/store.ts";
import {
  buildAttestationReads,
  expandAttestation,
  findAttestationFaults,
  findVerifierFaults,
  pickProof,
  toAttestationRow,
  type VerifierFacts,
} from "./attestations.ts";
import { NO_STOPS } from "./effective-status.ts";
import { computeFirstNotice, toPrincipalView } from "./read.ts";
import type { PrincipalInput, PrincipalView, ProposedPrincipal } from "./schema.ts";
import { findDuplicate, insertAttestation, insertPrincipal, refuseRevoked } from "./store.ts";

export async function registerPrincipal(call: ManagementCall, input: PrincipalInput): Promise<PrincipalView> {
  const { db, tenant, now, environment } = call;
  const customerId = input.customer_id ?? null;
  const found = await call.read({
    duplicate: findDuplicate(db, tenant, {
      externalRef: input.external_ref,
      legalName: input.legal_name,
      country: input.country,
    }),
    ...buildPrincipalFaultReads(call, input),
  });
  const attestation = expandAttestation(input.verification_attestation, environment, now, found.verifier);
  const faults = await findPrincipalFaults(call, input, found);
  if (faults.length > 0) throw toValidationError(faults);
  refuseSuspendedCustomer(found.customer);
  if (found.duplicate) {
    const { principalId, externalRef } = found.duplicate;
    const matched = externalRef === input.external_ref ? "external_ref" : "legal_name_and_country";
    throw new ServiceError("external_ref_exists", { detail: { principal_id: principalId, matched } });
  }

  const row: PrincipalRow = {
    principalId: createId("prn", now),
    platformId: found.caller.platformId,
    environment,
    tenant: false,
    legalName: input.legal_name,
    nameFolded: foldName(input.legal_name),
    country: input.country,
    entityType: input.entity_type,
    externalRef: input.external_ref,
    customerId,
    ...UNSTOPPED,
    ...attestation,
    expiryNoticeAt: computeFirstNotice(attestation.attestationExpiresAt, call.deps.clock.now()),
    metadata: input.metadata ?? {},
    createdAt: now,
    updatedAt: now,
  };
  const view = toPrincipalView(row, now);
  const recorded = toAttestationRow(row, { proof: pickProof(input.verification_attestation), recordedAt: now });
  await call.commit(
    [
      insertPrincipal(db, row),
      ...(customerId === null ? [] : enterCustomer(db, customerId)),
      ...(found.verifier ? [refuseChangedVerifier(db, found.verifier)] : []),
      ...("placeholder" in input.verification_attestation ? [] : [refuseRevoked(db, recorded)]),
      insertAttestation(db, recorded),
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

export const precheckPrincipal = (call: ManagementCall, input: ProposedPrincipal): Precheck =>
  precheck(buildPrincipalFaultReads(call, input), (found) => findPrincipalFaults(call, input, found));

const buildPrincipalFaultReads = ({ db, tenant }: ManagementCall, input: ProposedPrincipal) => ({
  ...dropAbsentReads({
    customer: typeof input.customer_id === "string" ? findCustomer(db, tenant, input.customer_id) : null,
  }),
  ...buildAttestationReads(db, input.verification_attestation),
});

type Found = VerifierFacts & { readonly customer?: FoundCustomer | null };

/** Finds the faults that no schema knows: jurisdiction, times, the Verifier and its proof, and the owner of the customer. */
async function findPrincipalFaults(
  call: ManagementCall,
  input: ProposedPrincipal,
  { customer, ...judging }: Found,
): Promise<FieldError[]> {
  const { country, verification_attestation: attestation } = input;
  return [
    ...(country === undefined ? [] : findCountryFaults(country, call.deps.config.jurisdictions)),
    ...(attestation === undefined ? [] : findAttestationFaults(attestation, call.environment, call.now)),
    ...(await findVerifierFaults(attestation, input, judging, call)),
    ...findCustomerFaults(input, customer),
  ];
}

/** The service operates in some countries only (PRN-2). */
export const findCountryFaults = (country: string, jurisdictions: ReadonlySet<string>): FieldError[] =>
  jurisdictions.has(country)
    ? []
    : [toFieldError("country", "invalid_value", "The service does not operate in this jurisdiction.")];

/** An unknown customer, or another platform's, is a fault of the field (PRN-20). */
export const findCustomerFaults = (
  { customer_id: customerId }: { readonly customer_id?: string | null | undefined },
  customer: FoundCustomer | null | undefined,
): FieldError[] => (typeof customerId === "string" && !customer ? [toFieldError("customer_id", "not_found")] : []);

export function refuseSuspendedCustomer(customer: FoundCustomer | null | undefined): void {
  if (customer?.status !== "SUSPENDED") return;
  const message = "The customer is SUSPENDED: reactivate it before a principal joins it.";
  throw new ServiceError("invalid_status", { message, detail: { customer_status: customer.status } });
}

const UNSTOPPED = {
  status: "ACTIVE",
  closed: false,
  statusReason: null,
  statusNote: null,
  ...NO_STOPS,
  accountStopped: null,
  providers: 0,
} as const satisfies Partial<PrincipalRow>;

// ---- The tenant principal -----------------------------------------------------------------------------------------------

export type LegalPerson = Pick<PrincipalRow, "legalName" | "country">;

/**
 * The tenant principal is the platform's own company, which follows the account's profile (ACC-6). Its attestation is a placeholder until the
 * account's review records another one.
 */
export function createTenantPrincipal(
  db: Database,
  platformId: string,
  { legalName, country }: LegalPerson,
  actor: Actor,
  now: number,
): { readonly principalId: string; readonly statements: Statement[] } {
  const principalId = createId("prn", now);
  const attested = expandAttestation({ placeholder: true }, "sandbox", now);
  const row: PrincipalRow = {
    principalId,
    platformId,
    environment: "sandbox",
    tenant: true,
    legalName,
    nameFolded: foldName(legalName),
    country,
    entityType: "company",
    externalRef: `tenant:${platformId}`,
    customerId: null,
    ...UNSTOPPED,
    ...attested,
    expiryNoticeAt: computeFirstNotice(attested.attestationExpiresAt, now),
    metadata: {},
    createdAt: now,
    updatedAt: now,
  };
  const attestation = toAttestationRow(row, { proof: null, recordedAt: now });
  const registered = {
    action: "principal.registered",
    actor,
    subject: { type: "principal", id: principalId },
  } as const;
  return {
    principalId,
    statements: [
      insertPrincipal(db, row),
      insertAttestation(db, attestation),
      recordActivity(db, row, now, registered),
    ],
  };
}
