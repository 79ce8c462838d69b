// The customer that a principal joins (PRN-4, PRN-20).
import { type FieldError, ServiceError, toFieldError } from "../core/errors.ts";
import type { FoundCustomer } from "../customers/store.ts";

/** An unknown customer, or another platform's, is a fault of the field. */
export const findCustomerFaults = (
  { customer_id: customerId }: { readonly customer_id?: string | null | undefined },
  customer: FoundCustomer | null | undefined,
): FieldError[] => (typeof customerId === "string" && !customer ? [toFieldError("customer_id", "not_found")] : []);

/** A principal cannot join a suspended customer. */
export function refuseSuspendedCustomer(customer: FoundCustomer | null | undefined): void {
  if (customer?.status !== "SUSPENDED") return;
  const message = "The customer is SUSPENDED: reactivate it before a principal joins it.";
  throw new ServiceError("invalid_status", { message, detail: { customer_status: customer.status } });
}
