// Records and lists the attestations of a platform's principals (PRN-21).
import { type ManagementCall, type Precheck, precheck, readPage } from "../call.ts";
import { type FieldError, ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import { type Database, dropAbsentReads } from "../db/batch.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { expandAttestation, findAttestationFaults, pickProof, toAttestationRow } from "../principals/attestations.ts";
import { precheckOwnPrincipal } from "../principals/read.ts";
import type { RecordedAttestationView } from "../principals/responses.ts";
import type { ProposedAttestation, RecordingInput } from "../principals/schema.ts";
import {
  type AttestationKey,
  findEarlierUse,
  findPrincipal,
  listAttestations,
  refuseRevoked,
} from "../principals/store.ts";
import {
  buildAttestationReads,
  findVerifierFaults,
  toAttestationKey,
  type VerifierFacts,
} from "../principals/verified.ts";
import { toPrincipalView, toRecordedView } from "../principals/views.ts";
import { refuseChangedVerifier } from "../verifiers/store.ts";
import { attestWithAgents, buildAttestReads } from "./attest.ts";

export async function recordAttestation(call: ManagementCall, principalId: string, input: RecordingInput) {
  const { db, deps, now, environment } = call;
  const { caller, principal, verifier, revoked, had, ...found } = await call.read({
    ...buildRecordingReads(call, principalId, input),
    ...buildAttestReads(deps, principalId),
  });
  const before = requireAttestable(principal);
  const faults = await findRecordingFaults(call, before, input, { verifier, revoked, had });
  if (faults.length > 0) throw toValidationError(faults);
  const attested = await attestWithAgents(
    deps,
    { ...found, principal: before },
    {
      attestation: expandAttestation(input, environment, now, verifier),
      proof: pickProof(input),
      actor: caller.actor,
      entry: true,
      reactivate: input.reactivate_agents ?? false,
    },
    now,
  );
  const { principal: after, reactivation } = attested;
  const row = toAttestationRow(after, { proof: pickProof(input), recordedAt: after.updatedAt });
  const view = {
    ...toRecordedView(row, after, now),
    principal_status: toPrincipalView(after, now).status,
    ...(reactivation && { reactivation }),
  };
  const named = toAttestationKey(input);
  await call.commit(
    [
      ...attested.statements,
      ...(verifier ? [refuseChangedVerifier(db, verifier)] : []),
      ...(named ? [refuseRevoked(db, named)] : []),
    ],
    view,
  );
  call.background(attested.rest());
  return view;
}

export const precheckRecording = (call: ManagementCall, principalId: string, input: ProposedAttestation): Precheck =>
  precheck(buildRecordingReads(call, principalId, input), ({ principal, ...judging }) =>
    findRecordingFaults(call, requireAttestable(principal), input, judging),
  );

const buildRecordingReads = ({ db, tenant }: ManagementCall, principalId: string, input: ProposedAttestation) => ({
  principal: findPrincipal(db, tenant, principalId),
  ...buildAttestationReads(db, input),
  ...dropAbsentReads({ had: findEarlierRecording(db, principalId, toAttestationKey(input)) }),
});

const findEarlierRecording = (db: Database, principalId: string, named: AttestationKey | null) =>
  named && findEarlierUse(db, principalId, named);

function requireAttestable(principal: PrincipalRow | null): PrincipalRow {
  if (!principal) throw new ServiceError("not_found");
  // The operator attests the tenant principal.
  if (principal.tenant) throw new ServiceError("tenant_principal_field_locked");
  return principal;
}

/** Finds the faults that no schema knows: times, the Verifier and its proof, and an attestation that was recorded before. */
async function findRecordingFaults(
  call: ManagementCall,
  principal: PrincipalRow,
  input: ProposedAttestation,
  { had = false, ...judging }: VerifierFacts & { readonly had?: boolean | undefined },
): Promise<FieldError[]> {
  const { environment, now } = call;
  const person = { legal_name: principal.legalName, country: principal.country, external_ref: principal.externalRef };
  return [
    ...findAttestationFaults(input, environment, now, ""),
    ...(await findVerifierFaults(input, person, judging, call, "")),
    ...(had
      ? [toFieldError("attestation_id", "invalid_value", "This attestation was already recorded for the principal.")]
      : []),
  ];
}

export async function getAttestations(
  call: ManagementCall,
  principalId: string,
  query: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<Page<RecordedAttestationView>> {
  const { db, tenant, now } = call;
  const page = await readPage(
    call,
    query,
    hashListing("attestations", [call.environment, principalId], {}),
    precheckOwnPrincipal(call, principalId),
  );
  const { principal, rows } = await call.read({
    principal: findPrincipal(db, tenant, principalId),
    rows: listAttestations(db, principalId, page),
  });
  if (!principal) throw new ServiceError("not_found");
  return toPage(
    rows,
    page,
    (row) => ({ at: row.recordedAt, id: row.attestationId }),
    (row) => toRecordedView(row, principal, now),
  );
}
