// Records and lists the attestations of a platform's principals (PRN-21), and attests a principal, also the tenant principal (ACC-24).
import { type ManagementCall, type Precheck, precheck, readPage } from "../call.ts";
import type { Deps } from "../context.ts";
import { type FieldError, ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { MINUTE_MS } from "../core/limits.ts";
import { move } from "../core/machine.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import { type Actor, isActiveOrFunding } from "../core/vocabulary.ts";
import { type Database, dropAbsentReads, type ReadResults, type Statement } from "../db/batch.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { findWalk } from "../jobs/walk-store.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { recordEvent } from "../journal/events.ts";
import {
  type AttestationColumns,
  buildAttestationReads,
  expandAttestation,
  findAttestationFaults,
  findVerifierFaults,
  pickProof,
  toAttestationKey,
  toAttestationRow,
  type VerifierFacts,
} from "../principals/attestations.ts";
import { computeRenewedNotice, toEventPrincipal, toPrincipalView, toRecordedView } from "../principals/read.ts";
import type { RecordedAttestationView } from "../principals/responses.ts";
import type { ProposedAttestation, RecordingInput } from "../principals/schema.ts";
import { principalMachine } from "../principals/states.ts";
import {
  type AttestationKey,
  attestPrincipal,
  findEarlierUse,
  insertAttestation,
  listAttestations,
  refuseRevoked,
} from "../principals/store.ts";
import { refuseChangedVerifier } from "../verifiers/store.ts";
import { endAttestation, expireWithAgents, isEndUnrecorded } from "./expire.ts";
import { refuseWhileStopping, settleReports, toStillStoppingError } from "./reports.ts";
import { buildRestateReads, type Restating, restateAgents, restateAndReactivate } from "./restate-agents.ts";
import { computeSliceEnd } from "./slice.ts";
import { relistPrincipal } from "./store.ts";

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

// ---- Attesting a principal with its agents ------------------------------------------------------------------------------

/** The reads of an attestation, besides the principal. `principalId` may be an expression of the same trip. */
export const buildAttestReads = (deps: Deps, principalId: Parameters<typeof buildRestateReads>[1]) => ({
  cascade: findWalk(deps.db, "cascade", principalId),
  ...buildRestateReads(deps, principalId),
});

type Found = ReadResults<ReturnType<typeof buildAttestReads>> & { readonly principal: PrincipalRow };

export type Attesting = {
  readonly attestation: AttestationColumns;
  readonly proof: string | null;
  readonly actor: Actor;
  /** True reactivates the agents that stops of the principal suspended; otherwise each waits for its own reactivation. */
  readonly reactivate: boolean;
  /** False if the entry of a larger act reports the changes. */
  readonly entry: boolean;
};

export type Attested = { readonly principal: PrincipalRow; readonly changes: Changes } & Restating;

/**
 * Attests a principal. Its batch first records an end that no job has recorded, and makes the agents' documents stale, because they state the
 * attestation.
 */
export async function attestWithAgents(deps: Deps, found: Found, attesting: Attesting, now: number): Promise<Attested> {
  const { db } = deps;
  refuseWhileStopping(found.cascade, found.principal.status);
  const ended = await recordAttestationEnd(deps, found, now);
  const { actor, proof } = attesting;
  const before = ended.principal;
  const moved = move(principalMachine, before.status, "attest");
  const updatedAt = Math.max(now, before.updatedAt + 1);
  const principal: PrincipalRow = {
    ...before,
    ...attesting.attestation,
    expiryNoticeAt: computeRenewedNotice(
      before.expiryNoticeAt,
      attesting.attestation.attestationExpiresAt,
      deps.clock.now(),
    ),
    status: moved.to,
    attestationStop: null,
    updatedAt,
  };
  const restating = attesting.reactivate
    ? await restateAndReactivate(deps, principal, ended, actor, now)
    : // A change of the status means that the attestation had ended since, so an earlier request to reactivate agents no longer counts.
      await restateAgents(deps, principal, ended, now, moved.from !== moved.to);
  const view = toPrincipalView(principal, now);
  // Rows are ordered like the principal's changes, even within one millisecond.
  const row = toAttestationRow(principal, { proof, recordedAt: updatedAt });
  const changes: Changes = {
    verification_attestation: {
      from: toPrincipalView(before, now).verification_attestation,
      to: view.verification_attestation,
    },
    ...(moved.from !== moved.to && { status: { from: moved.from, to: moved.to } }),
  };
  const subject = { type: "principal", id: before.principalId };
  return {
    principal,
    changes,
    rest: restating.rest,
    reactivation: restating.reactivation,
    statements: [
      ...ended.statements,
      ...(before === found.principal ? relistAtEnd(deps, before) : []),
      ...attestPrincipal(db, before, principal),
      insertAttestation(db, row),
      ...(attesting.entry
        ? [recordActivity(db, before, now, { action: "principal.attestation_recorded", actor, subject, changes })]
        : []),
      ...(moved.from === moved.to
        ? []
        : [
            recordEvent(db, before, now, {
              type: "principal.status_changed",
              object: toEventPrincipal(principal, now),
              previous: { status: moved.from },
            }),
          ]),
      ...restating.statements,
    ],
  };
}

/** Covers the duration of a call and the difference of clocks. */
const COMMIT_MARGIN_MS = MINUTE_MS;

/**
 * If the attestation ends in real time before the commit, readers of the directory may have seen the agents suspended (DIR-7), and no job will record
 * that end. So the agents are listed again (DIR-15).
 */
function relistAtEnd({ db, clock }: Deps, { principalId, status, attestationExpiresAt }: PrincipalRow): Statement[] {
  const now = clock.now();
  const ends = status === "ACTIVE" && attestationExpiresAt <= now + COMMIT_MARGIN_MS;
  return ends ? [relistPrincipal(db, principalId, now)] : [];
}

/** Returns what was found as it is after an end that no job has recorded, and the statements that record the end. */
async function recordAttestationEnd(
  deps: Deps,
  found: Found,
  now: number,
): Promise<Found & { statements: readonly Statement[] }> {
  const { db } = deps;
  const { principal: before } = found;
  if (!isEndUnrecorded(before, now)) {
    return { ...found, statements: settleReports(db, [{ principal: before, cascade: found.cascade }], now) };
  }
  // If one batch cannot take all agents, the end is recorded now, and its cascade has to finish first.
  if (computeSliceEnd(deps, found.agents) !== null) {
    await endAttestation(deps, before.principalId, now);
    throw toStillStoppingError(before.status);
  }
  const agents = found.agents.filter(({ agent }) => isActiveOrFunding(agent.status));
  const ends = expireWithAgents(deps, before, { ...found, agents }, now);
  return {
    ...found,
    principal: ends.after,
    agents: found.agents.map((one) => ({
      ...one,
      agent: isActiveOrFunding(one.agent.status) ? suspendByAttestation(one.agent, now) : one.agent,
    })),
    statements: ends.statements,
  };
}

type FoundAgent = Found["agents"][number]["agent"];
const suspendByAttestation = (agent: FoundAgent, now: number): FoundAgent => ({
  ...agent,
  status: "SUSPENDED",
  suspensionReason: "attestation",
  suspendedFrom: agent.status,
  statusNote: null,
  updatedAt: now,
});
