// The state machine of customers as data (PRN-24).
import { defineMachine } from "../core/machine.ts";
import { CUSTOMER_STATUSES, type CustomerStatus } from "../core/vocabulary.ts";

export const CUSTOMER_TRIGGERS = ["suspend", "reactivate"] as const;
export type CustomerTrigger = (typeof CUSTOMER_TRIGGERS)[number];

export const customerMachine = defineMachine<CustomerStatus, CustomerTrigger>({
  name: "customer",
  states: CUSTOMER_STATUSES,
  triggers: CUSTOMER_TRIGGERS,
  table: { ACTIVE: { suspend: "SUSPENDED" }, SUSPENDED: { reactivate: "ACTIVE" } },
});
