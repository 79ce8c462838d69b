// Store of customers, which group principals (PRN-23).
import { and, eq, type SQL, sql } from "drizzle-orm";
import type { Move } from "../core/machine.ts";
import type { AskedRows, FoundRows } from "../core/page.ts";
import { CUSTOMER_STATUSES, type CustomerStatus } from "../core/vocabulary.ts";
import { type Database, mustChange, type Read, readOne, type Statement } from "../db/batch.ts";
import { readRanged, selectBareColumns } from "../db/pages.ts";
import { isOfTenant, type Tenant } from "../db/statement.ts";
import { type CustomerRow, customers } from "../db/tables/principals.ts";

/** The part of a customer that decides whether a principal may join it. */
export type FoundCustomer = Pick<CustomerRow, "customerId" | "status">;

export const findCustomer = (db: Database, tenant: Tenant, customerId: string): Read<CustomerRow | null> =>
  readOne(
    db
      .select()
      .from(customers)
      .where(and(eq(customers.customerId, customerId), isOfTenant(customers, tenant))),
  );

export const findCustomerByReference = (
  db: Database,
  tenant: Tenant,
  externalRef: string,
): Read<{ customerId: string } | null> =>
  readOne(
    db
      .select({ customerId: customers.customerId })
      .from(customers)
      .where(and(isOfTenant(customers, tenant), eq(customers.externalRef, externalRef))),
  );

export type CustomerFilter = {
  readonly externalRef?: string | undefined;
  readonly status?: CustomerStatus | undefined;
};

const LISTED_COLUMNS = selectBareColumns(customers);

/**
 * Newest first. Ids are ordered by time, so the id is the whole keyset. A list of all statuses merges the ranges of one index, because another index
 * would cost every new customer a row.
 */
export const listCustomers = (
  db: Database,
  tenant: Tenant,
  { externalRef, status }: CustomerFilter,
  page: AskedRows,
): Read<FoundRows<CustomerRow>> => {
  const range = (...conditions: (SQL | undefined)[]) =>
    sql`customers where ${and(isOfTenant(customers, tenant), ...conditions, page.after === null ? undefined : sql`customer_id < ${page.after.id}`)}`;
  const inStatus = (of: CustomerStatus) => range(sql`status = ${of}`);
  const states = status === undefined ? CUSTOMER_STATUSES : [status];
  const from =
    externalRef === undefined
      ? states.map(inStatus)
      : [range(sql`external_ref = ${externalRef}`, status === undefined ? undefined : sql`status = ${status}`)];
  return readRanged(db, { ranges: { columns: LISTED_COLUMNS, from, order: sql`customer_id desc` } }, page.limit);
};

/** Aborts the batch (Conflict) if another customer has taken the reference. */
export const insertCustomer = (db: Database, row: CustomerRow): Statement => db.insert(customers).values(row);

type Patched = Pick<CustomerRow, "name" | "externalRef" | "metadata" | "updatedAt">;

/** Changes a customer only if it is as it was read. It does not set the number of its principals, which may change meanwhile. */
export const updateCustomer = (
  db: Database,
  before: CustomerRow,
  { name, externalRef, metadata, updatedAt }: Patched,
): Statement[] =>
  mustChange(
    db,
    db
      .update(customers)
      .set({ name, externalRef, metadata, updatedAt })
      .where(and(eq(customers.customerId, before.customerId), eq(customers.updatedAt, before.updatedAt))),
  );

/** Suspends or reactivates a customer only if it is as it was read. It does not set the number of its principals. */
export const moveCustomer = (
  db: Database,
  { customerId, updatedAt: known }: CustomerRow,
  { statusNote, updatedAt }: CustomerRow,
  { from, to }: Move<CustomerStatus>,
): Statement[] =>
  mustChange(
    db,
    db
      .update(customers)
      .set({ status: to, statusNote, updatedAt })
      .where(and(eq(customers.customerId, customerId), eq(customers.status, from), eq(customers.updatedAt, known))),
  );

/** Aborts the batch (Conflict) if a principal has joined meanwhile, or another call has deleted the customer. */
export const deleteEmptyCustomer = (db: Database, customerId: string): Statement[] =>
  mustChange(
    db,
    db.delete(customers).where(and(eq(customers.customerId, customerId), eq(customers.principalCount, 0))),
  );

/** Counts a principal that joins. Aborts the batch (Conflict) if the customer was suspended or deleted meanwhile. */
export const enterCustomer = (db: Database, customerId: string): Statement[] =>
  mustChange(
    db,
    db
      .update(customers)
      .set({ principalCount: sql`${customers.principalCount} + 1` })
      .where(and(eq(customers.customerId, customerId), eq(customers.status, "ACTIVE"))),
  );

/** Counts a principal that leaves, whatever the customer's status. */
export const leaveCustomer = (db: Database, customerId: string): Statement =>
  db
    .update(customers)
    .set({ principalCount: sql`${customers.principalCount} - 1` })
    .where(eq(customers.customerId, customerId));
