// Suspends and reactivates a platform's customer with all principals that it groups (PRN-24). Each principal keeps its other stops. Agents follow a
// suspension, and are reactivated one by one, or all at once with `reactivate_agents`.
import type { ManagementCall } from "../call.ts";
import { listStatesMovedBy, move } from "../core/machine.ts";
import type { ActivityAction, CascadeTrigger } from "../core/vocabulary.ts";
import type { CustomerView } from "../customers/schema.ts";
import { type CustomerTrigger, customerMachine } from "../customers/states.ts";
import { moveCustomer } from "../customers/store.ts";
import { toCustomerView } from "../customers/views.ts";
import { dropAbsentReads } from "../db/batch.ts";
import type { CustomerRow } from "../db/tables/principals.ts";
import { recordActivity } from "../journal/activity.ts";
import { isGroupedBy, isGroupedByWhile, isGroupStopping } from "../principals/group-store.ts";
import { findSuspendedOfFirst, groupReads, moveGroup } from "./group.ts";
import { toStillStoppingError } from "./reports.ts";
import { reactivateGroup } from "./restate-agents.ts";
import { forgetReactivations } from "./restatement-store.ts";
import type { Reactivation, ReactivationInput, StandingInput } from "./schema.ts";

type Decision = {
  readonly trigger: CustomerTrigger;
  readonly action: ActivityAction;
  /** The cascade of the principals' agents. */
  readonly cascade: CascadeTrigger;
  readonly customerStopped: boolean;
  readonly principalAction: ActivityAction;
};
type ReactivatedCustomer = CustomerView & { reactivation?: Reactivation };

const SUSPENSION: Decision = {
  trigger: "suspend",
  action: "customer.suspended",
  cascade: "principal_stops",
  customerStopped: true,
  principalAction: "principal.suspended",
};

const REACTIVATION: Decision = {
  trigger: "reactivate",
  action: "customer.reactivated",
  cascade: "principal_returns",
  customerStopped: false,
  principalAction: "principal.reactivated",
};

export const suspendCustomer = (call: ManagementCall<CustomerRow>, customerId: string, input: StandingInput) =>
  moveCustomerWithGroup(call, customerId, input, SUSPENSION);

export const reactivateCustomer = (call: ManagementCall<CustomerRow>, customerId: string, input: ReactivationInput) =>
  moveCustomerWithGroup(call, customerId, input, REACTIVATION);

async function moveCustomerWithGroup(
  call: ManagementCall<CustomerRow>,
  customerId: string,
  input: ReactivationInput,
  { trigger, action, cascade, customerStopped, principalAction }: Decision,
): Promise<ReactivatedCustomer> {
  const { db, deps, now, tenant, environment } = call;
  const group = isGroupedByWhile(tenant, customerId, listStatesMovedBy(customerMachine, trigger));
  const all = input.reactivate_agents ?? false;
  const {
    caller,
    object: before,
    stopping,
    suspended,
    ...found
  } = await call.read({
    ...dropAbsentReads({
      stopping: customerStopped ? null : isGroupStopping(db, group),
      suspended: all ? findSuspendedOfFirst(deps, group) : null,
    }),
    ...groupReads(deps, group, cascade),
  });
  const moved = move(customerMachine, before.status, trigger);
  // A suspension is never refused for it: it takes over the earlier cascade.
  if (stopping) throw toStillStoppingError(before.status);
  const note = input.reason ?? null;
  const { actor, platformId } = caller;
  const after: CustomerRow = {
    ...before,
    status: moved.to,
    statusNote: note,
    updatedAt: Math.max(now, before.updatedAt + 1),
  };
  const where = isGroupedBy({ platformId, environment }, customerId);
  const act = {
    where,
    set: { customerStopped },
    note,
    action: principalAction,
    cause: { trigger: cascade, reason: "principal", actor },
  } as const;
  const moving = moveGroup(deps, act, found, now, call.contended);
  const { first } = moving;
  const of = { first, others: found.principals.length > first.length, where };
  const returning = suspended ? await reactivateGroup(deps, of, { agents: suspended }, actor, now) : null;
  const view = { ...toCustomerView(after), ...(returning?.reactivation && { reactivation: returning.reactivation }) };
  const changes = {
    status: { from: moved.from, to: moved.to },
    ...(note !== null && { reason: { from: before.statusNote, to: note } }),
  };
  const subject = { type: "customer", id: customerId };
  await call.commit(
    [
      ...moveCustomer(db, before, after, moved),
      recordActivity(db, before, now, { action, actor, subject, changes }),
      ...moving.statements,
      ...(returning ? returning.statements : []),
      ...(returning || customerStopped ? [] : [forgetReactivations(db, customerId)]),
    ],
    view,
  );
  if (returning) call.background(returning.rest().catch(() => undefined));
  // A job continues the cascade if this fails.
  call.background(moving.rest().catch(() => undefined));
  return view;
}
