// Reads a platform's own customers (PRN-23).
import { askedPage, type ManagementCall, type Precheck, precheckKnown } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { listingOf, type Page, toPage } from "../core/page.ts";
import type { CustomerRow } from "../db/tables/principals.ts";
import type { CustomerQuery, CustomerView } from "./schema.ts";
import { findCustomer, listCustomers } from "./store.ts";
import { toCustomerView } from "./views.ts";

export async function getCustomer(call: ManagementCall, customerId: string): Promise<CustomerView> {
  const { customer } = await call.read(ownCustomer(call, customerId));
  return toCustomerView(known(customer));
}

export async function getCustomers(call: ManagementCall, query: CustomerQuery): Promise<Page<CustomerView>> {
  const { external_ref: externalRef, status } = query;
  const filter = { externalRef, status };
  const page = await askedPage(call, query, listingOf("customers", [call.environment], filter));
  const { rows } = await call.read({ rows: listCustomers(call.db, call.tenant, filter, page) });
  return toPage(rows, page, (row) => ({ at: row.createdAt, id: row.customerId }), toCustomerView);
}

export const precheckCustomer = (call: ManagementCall, customerId: string): Precheck =>
  precheckKnown(ownCustomer(call, customerId).customer);

export const ownCustomer = ({ db, tenant }: ManagementCall, customerId: string) => ({
  customer: findCustomer(db, tenant, customerId),
});

export function known(customer: CustomerRow | null): CustomerRow {
  if (!customer) throw new ServiceError("not_found");
  return customer;
}
