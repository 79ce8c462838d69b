// Reads a platform's own customers (PRN-23).
import { type ManagementCall, readPage } from "../call.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import type { CustomerRow } from "../db/tables/principals.ts";
import type { CustomerQuery, CustomerView } from "./schema.ts";
import { findCustomer, listCustomers } from "./store.ts";
import { toCustomerView } from "./views.ts";

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
