// Creates a customer (PRN-23).
import type { ManagementCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import { dropAbsentReads } from "../db/batch.ts";
import type { CustomerRow } from "../db/tables/principals.ts";
import { recordActivity } from "../journal/activity.ts";
import type { CustomerInput, CustomerView } from "./schema.ts";
import { findCustomerByReference, insertCustomer } from "./store.ts";
import { toCustomerView } from "./views.ts";

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

/** Names the customer that has the reference. */
export const refuseTakenReference = (customerId: string): ServiceError =>
  new ServiceError("external_ref_exists", {
    message: "A customer with this external_ref already exists.",
    detail: { customer_id: customerId },
  });
