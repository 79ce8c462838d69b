// Registers a principal against an attestation (PRN-1 to PRN-4, PRN-9).
import { type ManagementCall, type Precheck, precheck } from "../call.ts";
import { type FieldError, ServiceError, validationError } from "../core/errors.ts";
import { newId } from "../core/ids.ts";
import { foldName } from "../core/text.ts";
import { enterCustomer, type FoundCustomer, findCustomer } from "../customers/store.ts";
import { dropAbsentReads } from "../db/batch.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { recordActivity } from "../journal/activity.ts";
import { refuseChangedVerifier } from "../verifiers/store.ts";
import { attestationFaults, expandAttestation, proofOf, toAttestationRow } from "./attestations.ts";
import { countryFaults } from "./countries.ts";
import { customerFaults, refuseSuspendedCustomer } from "./grouping.ts";
import { firstNoticeAt } from "./notices.ts";
import type { PrincipalInput, PrincipalView, ProposedPrincipal } from "./schema.ts";
import { NO_STOPS } from "./standing.ts";
import { findDuplicate, insertAttestation, insertPrincipal, refuseRevoked } from "./store.ts";
import { attestationReads, type VerifierFacts, verifierFaults } from "./verified.ts";
import { toPrincipalView } from "./views.ts";

export async function registerPrincipal(call: ManagementCall, input: PrincipalInput): Promise<PrincipalView> {
  const { db, tenant, now, environment } = call;
  const customerId = input.customer_id ?? null;
  const found = await call.read({
    duplicate: findDuplicate(db, tenant, {
      externalRef: input.external_ref,
      legalName: input.legal_name,
      country: input.country,
    }),
    ...principalFaultReads(call, input),
  });
  const attestation = expandAttestation(input.verification_attestation, environment, now, found.verifier);
  const faults = await principalFaults(call, input, found);
  if (faults.length > 0) throw validationError(faults);
  refuseSuspendedCustomer(found.customer);
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
    closed: false,
    statusReason: null,
    statusNote: null,
    ...NO_STOPS,
    accountStopped: null,
    ...attestation,
    expiryNoticeAt: firstNoticeAt(attestation.attestationExpiresAt, call.deps.clock.now()),
    providers: 0,
    metadata: input.metadata ?? {},
    createdAt: now,
    updatedAt: now,
  };
  const view = toPrincipalView(row, now);
  const recorded = toAttestationRow(row, { proof: proofOf(input.verification_attestation), recordedAt: now });
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
  precheck(principalFaultReads(call, input), (found) => principalFaults(call, input, found));

/** Reads what the schema does not know: the customer, the Verifier and the attestation. */
const principalFaultReads = ({ db, tenant }: ManagementCall, input: ProposedPrincipal) => ({
  ...dropAbsentReads({
    customer: typeof input.customer_id === "string" ? findCustomer(db, tenant, input.customer_id) : null,
  }),
  ...attestationReads(db, input.verification_attestation),
});

type Found = VerifierFacts & { readonly customer?: FoundCustomer | null };

/** Finds the faults that no schema knows: jurisdiction, times, the Verifier and its proof, and the owner of the customer. */
async function principalFaults(
  call: ManagementCall,
  input: ProposedPrincipal,
  { customer, ...judging }: Found,
): Promise<FieldError[]> {
  const { country, verification_attestation: attestation } = input;
  return [
    ...(country === undefined ? [] : countryFaults(country, call.deps.config.jurisdictions)),
    ...(attestation === undefined ? [] : attestationFaults(attestation, call.environment, call.now)),
    ...(await verifierFaults(attestation, input, judging, call)),
    ...customerFaults(input, customer),
  ];
}
