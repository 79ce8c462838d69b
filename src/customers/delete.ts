// Deletes a customer that groups no principal (PRN-23). If a principal joins at the same moment, the first commit wins: the other call is decided
// again, and refused.
import type { ManagementCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import type { CustomerRow } from "../db/tables/principals.ts";
import { recordActivity } from "../journal/activity.ts";
import { deleteEmptyCustomer } from "./store.ts";

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
