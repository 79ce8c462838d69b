// Customers of a platform (PRN-23): created, listed, changed and deleted. The principals of a customer change by their own patches.
import { type ManagementCall, readPage } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import { dropAbsentReads } from "../db/batch.ts";
import type { CustomerRow } from "../db/tables/principals.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { toCanonicalJson } from "../protocol/canonical-json.ts";
import type { CustomerInput, CustomerPatch, CustomerQuery, CustomerView } from "./schema.ts";
import {
  deleteEmptyCustomer,
  findCustomer,
  findCustomerByReference,
  insertCustomer,
  listCustomers,
  updateCustomer,
} from "./store.ts";

export async function createCustomer(call: ManagementCall, input: CustomerInput): Promise<CustomerView> {
  const { db, tenant, now, environment } = call;
  const externalRef = input.external_ref ?? null;
  const { caller, holder } = await call.read(
    dropAbsentReads({ holder: externalRef === null ? null : findCustomerByReference(db, tenant, externalRef) }),
  );
  if (holder) throw refuseTakenReference(holder.customerId);
  const row: CustomerRow = {
    customerId: createId("cus", now),
    platformId: caller.platformId,
    environment,
    name: input.name,
    externalRef,
    status: "ACTIVE",
    statusNote: null,
    metadata: input.metadata ?? {},
    principalCount: 0,
    createdAt: now,
    updatedAt: now,
  };
  const view = toCustomerView(row);
  const created = {
    action: "customer.created",
    actor: caller.actor,
    subject: { type: "customer", id: row.customerId },
  } as const;
  await call.commit([insertCustomer(db, row), recordActivity(db, row, now, created)], view);
  return view;
}

const refuseTakenReference = (customerId: string): ServiceError =>
  new ServiceError("external_ref_exists", {
    message: "A customer with this external_ref already exists.",
    detail: { customer_id: customerId },
  });

export const findNamedCustomer = ({ db, tenant }: ManagementCall, { customer_id }: { customer_id: string }) =>
  findCustomer(db, tenant, customer_id);

export const getCustomer = async (call: ManagementCall<CustomerRow>): Promise<CustomerView> =>
  toCustomerView((await call.read({})).object);

export async function getCustomers(call: ManagementCall, query: CustomerQuery): Promise<Page<CustomerView>> {
  const { external_ref: externalRef, status } = query;
  const filter = { externalRef, status };
  const page = await readPage(call, query, hashListing("customers", [call.environment], filter));
  const { rows } = await call.read({ rows: listCustomers(call.db, call.tenant, filter, page) });
  return toPage(rows, page, (row) => ({ at: row.createdAt, id: row.customerId }), toCustomerView);
}

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

/** If a principal joins at the same moment, the first commit wins: the other call is decided again, and refused. */
export async function deleteCustomer(call: ManagementCall<CustomerRow>): Promise<null> {
  const { db, now } = call;
  const { caller, object: before } = await call.read({});
  const { customerId } = before;
  if (before.principalCount > 0) {
    throw new ServiceError("customer_not_empty", { detail: { principal_count: before.principalCount } });
  }
  const deleted = {
    action: "customer.deleted",
    actor: caller.actor,
    subject: { type: "customer", id: customerId },
  } as const;
  await call.commit([...deleteEmptyCustomer(db, customerId), recordActivity(db, before, now, deleted)], null);
  return null;
}

export const toCustomerView = (row: CustomerRow): CustomerView => ({
  customer_id: row.customerId,
  name: row.name,
  external_ref: row.externalRef,
  status: row.status,
  status_note: row.statusNote,
  principal_count: row.principalCount,
  metadata: row.metadata,
  environment: row.environment,
  created_at: toIso(row.createdAt),
  updated_at: toIso(row.updatedAt),
});
