// Reads a platform's own customers (PRN-23).
import { type ManagementCall, type Precheck, precheckExists, readPage } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import type { CustomerRow } from "../db/tables/principals.ts";
import type { CustomerQuery, CustomerView } from "./schema.ts";
import { findCustomer, listCustomers } from "./store.ts";
import { toCustomerView } from "./views.ts";

export async function getCustomer(call: ManagementCall, customerId: string): Promise<CustomerView> {
  const { customer } = await call.read(buildOwnCustomerReads(call, customerId));
  return toCustomerView(requireCustomer(customer));
}

export async function getCustomers(call: ManagementCall, query: CustomerQuery): Promise<Page<CustomerView>> {
  const { external_ref: externalRef, status } = query;
  const filter = { externalRef, status };
  const page = await readPage(call, query, hashListing("customers", [call.environment], filter));
  const { rows } = await call.read({ rows: listCustomers(call.db, call.tenant, filter, page) });
  return toPage(rows, page, (row) => ({ at: row.createdAt, id: row.customerId }), toCustomerView);
}

export const precheckCustomer = (call: ManagementCall, customerId: string): Precheck =>
  precheckExists(buildOwnCustomerReads(call, customerId).customer);

export const buildOwnCustomerReads = ({ db, tenant }: ManagementCall, customerId: string) => ({
  customer: findCustomer(db, tenant, customerId),
});

export function requireCustomer(customer: CustomerRow | null): CustomerRow {
  if (!customer) throw new ServiceError("not_found");
  return customer;
}
