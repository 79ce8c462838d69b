// Changes a principal's group, reference and metadata (PRN-20), none of which a document states. A principal that leaves a suspended customer is no
// longer stopped by it (PRN-19).
import { type ManagementCall, type Precheck, precheck } from "../call.ts";
import { ServiceError, toValidationError } from "../core/errors.ts";
import { enterCustomer, findCustomer, leaveCustomer } from "../customers/store.ts";
import { type Database, dropAbsentReads, type Statement } from "../db/batch.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { findWalk } from "../jobs/walk-store.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { recordEvent } from "../journal/events.ts";
import { toAttestationStop, toStoredStatus } from "../principals/effective-status.ts";
import { toEventPrincipal, toPrincipalView } from "../principals/read.ts";
import { findCustomerFaults, refuseSuspendedCustomer } from "../principals/register.ts";
import type { PrincipalPatch } from "../principals/schema.ts";
import { changePrincipal, findPrincipalByReference } from "../principals/store.ts";
import { toCanonicalJson } from "../protocol/canonical-json.ts";
import { refuseWhileStopping, settleReports } from "./reports.ts";
import { forgetReactivation } from "./store.ts";

export async function patchPrincipal(call: ManagementCall<PrincipalRow>, principalId: string, patch: PrincipalPatch) {
  const { db, now } = call;
  const {
    caller,
    object: before,
    ...found
  } = await call.read({
    ...buildPrincipalPatchReads(call, patch),
    cascade: findWalk(db, "cascade", principalId),
  });
  refuseTenantPatch(before);
  const faults = findCustomerFaults(patch, found.customer);
  if (faults.length > 0) throw toValidationError(faults);
  const after = applyPrincipalPatch(before, patch, now);
  const changes = diffPrincipal(before, after);
  if (Object.keys(changes).length === 0) throw new ServiceError("no_changes_requested");
  if (before.status === "CLOSED") throw new ServiceError("invalid_status", { detail: { status: before.status } });
  const isGrouped = after.customerId !== before.customerId;
  if (isGrouped) refuseSuspendedCustomer(found.customer);
  if (found.holder && found.holder.principalId !== principalId) {
    const detail = { principal_id: found.holder.principalId, matched: "external_ref" };
    throw new ServiceError("external_ref_exists", { detail });
  }
  if (before.status !== after.status && after.status === "ACTIVE") refuseWhileStopping(found.cascade, before.status);
  const view = toPrincipalView(after, now);
  await call.commit(
    [
      ...settleReports(db, [{ principal: before, cascade: found.cascade }], now),
      ...changePrincipal(db, before, after),
      ...(isGrouped ? changeCounts(db, before, after) : []),
      ...(before.status !== after.status ? [forgetReactivation(db, principalId)] : []),
      recordActivity(db, before, now, {
        action: "principal.updated",
        actor: caller.actor,
        subject: { type: "principal", id: principalId },
        changes,
      }),
      ...(after.status === before.status
        ? []
        : [
            recordEvent(db, after, now, {
              type: "principal.status_changed",
              object: toEventPrincipal(after, now),
              previous: { status: before.status },
            }),
          ]),
    ],
    view,
  );
  return view;
}

/** Finds the faults that need the principal and the customer. */
export function precheckPrincipalPatch(call: ManagementCall, patch: Partial<PrincipalPatch>): Precheck {
  const reads = buildPrincipalPatchReads(call, patch);
  return precheck<typeof reads, unknown, PrincipalRow>(reads, ({ object, customer }) => {
    refuseTenantPatch(object);
    return findCustomerFaults(patch, customer);
  });
}

const buildPrincipalPatchReads = ({ db, tenant }: ManagementCall, patch: Partial<PrincipalPatch>) =>
  dropAbsentReads({
    customer: typeof patch.customer_id === "string" ? findCustomer(db, tenant, patch.customer_id) : null,
    holder: patch.external_ref === undefined ? null : findPrincipalByReference(db, tenant, patch.external_ref),
  });

/** The tenant principal follows the profile of its account. */
function refuseTenantPatch({ tenant }: PrincipalRow): void {
  if (tenant) throw new ServiceError("tenant_principal_field_locked");
}

function applyPrincipalPatch(before: PrincipalRow, patch: PrincipalPatch, now: number): PrincipalRow {
  const { customer_id: customerId = before.customerId, external_ref: externalRef = before.externalRef } = patch;
  const customerStopped = before.customerStopped && customerId === before.customerId;
  // The end of the attestation is not recorded while the principal is suspended, so it is set when another stop ends.
  const attestationStop =
    customerStopped === before.customerStopped ? before.attestationStop : toAttestationStop(before, now);
  const status =
    before.status === "CLOSED" ? before.status : toStoredStatus({ ...before, customerStopped, attestationStop });
  // The note of the customer's suspension goes with it.
  const statusNote = status === before.status ? before.statusNote : null;
  const { metadata = before.metadata } = patch;
  const updatedAt = Math.max(now, before.updatedAt + 1);
  const stops = { customerStopped, attestationStop, status };
  return { ...before, customerId, externalRef, metadata, ...stops, statusNote, updatedAt };
}

function diffPrincipal(before: PrincipalRow, after: PrincipalRow): Changes {
  const members = {
    customer_id: "customerId",
    external_ref: "externalRef",
    metadata: "metadata",
    status: "status",
  } as const;
  const changed = Object.entries(members).filter(
    ([, column]) => toCanonicalJson(before[column]) !== toCanonicalJson(after[column]),
  );
  return Object.fromEntries(changed.map(([name, column]) => [name, { from: before[column], to: after[column] }]));
}

const changeCounts = (db: Database, before: PrincipalRow, after: PrincipalRow): Statement[] => [
  ...(before.customerId === null ? [] : [leaveCustomer(db, before.customerId)]),
  ...(after.customerId === null ? [] : enterCustomer(db, after.customerId)),
];
