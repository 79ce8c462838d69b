// Records and lists the attestations of a platform's principals (PRN-21).
import { type ManagementCall, type Precheck, precheck, readPage } from "../call.ts";
import { type FieldError, ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import { type Database, dropAbsentReads } from "../db/batch.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { expandAttestation, findAttestationFaults, pickProof, toAttestationRow } from "../principals/attestations.ts";
import type { RecordedAttestationView } from "../principals/responses.ts";
import type { ProposedAttestation, RecordingInput } from "../principals/schema.ts";
import { type AttestationKey, findEarlierUse, listAttestations, refuseRevoked } from "../principals/store.ts";
import {
  buildAttestationReads,
  findVerifierFaults,
  toAttestationKey,
  type VerifierFacts,
} from "../principals/verified.ts";
import { toPrincipalView, toRecordedView } from "../principals/views.ts";
import { refuseChangedVerifier } from "../verifiers/store.ts";
import { attestWithAgents, buildAttestReads } from "./attest.ts";

export async function recordAttestation(
  call: ManagementCall<PrincipalRow>,
  principalId: string,
  input: RecordingInput,
) {
  const { db, deps, now, environment } = call;
  const {
    caller,
    object: before,
    verifier,
    revoked,
    had,
    ...found
  } = await call.read({
    ...buildRecordingReads(call, principalId, input),
    ...buildAttestReads(deps, principalId),
  });
  refuseTenantPrincipal(before);
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
  precheck<ReturnType<typeof buildRecordingReads>, unknown, PrincipalRow>(
    buildRecordingReads(call, principalId, input),
    ({ object, ...judging }) => {
      refuseTenantPrincipal(object);
      return findRecordingFaults(call, object, input, judging);
    },
  );

const buildRecordingReads = ({ db }: ManagementCall, principalId: string, input: ProposedAttestation) => ({
  ...buildAttestationReads(db, input),
  ...dropAbsentReads({ had: findEarlierRecording(db, principalId, toAttestationKey(input)) }),
});

const findEarlierRecording = (db: Database, principalId: string, named: AttestationKey | null) =>
  named && findEarlierUse(db, principalId, named);

/** The operator attests the tenant principal. */
function refuseTenantPrincipal({ tenant }: PrincipalRow): void {
  if (tenant) throw new ServiceError("tenant_principal_field_locked");
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
  call: ManagementCall<PrincipalRow>,
  principalId: string,
  query: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<Page<RecordedAttestationView>> {
  const page = await readPage(call, query, hashListing("attestations", [call.environment, principalId], {}));
  const { object: principal, rows } = await call.read({ rows: listAttestations(call.db, principalId, page) });
  return toPage(
    rows,
    page,
    (row) => ({ at: row.recordedAt, id: row.attestationId }),
    (row) => toRecordedView(row, principal, call.now),
  );
}
