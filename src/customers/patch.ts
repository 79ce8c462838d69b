// Changes a customer's name, reference and metadata (PRN-23). Its principals change by their own patches.
import type { ManagementCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { dropAbsentReads } from "../db/batch.ts";
import type { CustomerRow } from "../db/tables/principals.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { toCanonicalJson } from "../protocol/canonical-json.ts";
import { refuseTakenReference } from "./create.ts";
import type { CustomerPatch, CustomerView } from "./schema.ts";
import { findCustomerByReference, updateCustomer } from "./store.ts";
import { toCustomerView } from "./views.ts";

export async function patchCustomer(call: ManagementCall<CustomerRow>, patch: CustomerPatch): Promise<CustomerView> {
  const { db, tenant, now } = call;
  const { external_ref: wanted } = patch;
  const {
    caller,
    object: before,
    holder,
  } = await call.read(
    dropAbsentReads({ holder: typeof wanted === "string" ? findCustomerByReference(db, tenant, wanted) : null }),
  );
  const { customerId } = before;
  const after = applyCustomerPatch(before, patch, now);
  const changes = diffCustomer(before, after);
  if (Object.keys(changes).length === 0) throw new ServiceError("no_changes_requested");
  if (holder && holder.customerId !== customerId) throw refuseTakenReference(holder.customerId);
  const view = toCustomerView(after);
  const updated = {
    action: "customer.updated",
    actor: caller.actor,
    subject: { type: "customer", id: customerId },
    changes,
  } as const;
  await call.commit([...updateCustomer(db, before, after), recordActivity(db, before, now, updated)], view);
  return view;
}

function applyCustomerPatch(before: CustomerRow, patch: CustomerPatch, now: number): CustomerRow {
  const { name = before.name, external_ref: externalRef = before.externalRef, metadata = before.metadata } = patch;
  return { ...before, name, externalRef, metadata, updatedAt: Math.max(now, before.updatedAt + 1) };
}

const MEMBERS = { name: "name", external_ref: "externalRef", metadata: "metadata" } as const;

function diffCustomer(before: CustomerRow, after: CustomerRow): Changes {
  const changed = Object.entries(MEMBERS).filter(
    ([, column]) => toCanonicalJson(before[column]) !== toCanonicalJson(after[column]),
  );
  return Object.fromEntries(changed.map(([name, column]) => [name, { from: before[column], to: after[column] }]));
}
