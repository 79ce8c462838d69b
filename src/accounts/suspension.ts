// Suspension and reinstatement of an account by the operator (ACC-25, ACC-26). From the commit its keys and sessions are refused and its agents
// count as suspended, on every surface; reinstatement reactivates only the agents that the suspension took.
import type { OperatorCall } from "../call.ts";
import { cascadeAccount } from "../cascades/cascades.ts";
import { relistAccount } from "../cascades/restatement-store.ts";
import { buildAccountReads } from "../cascades/subjects.ts";
import { type Move, move } from "../core/machine.ts";
import type { ActivityAction, CascadeTrigger, OperatorAction, PlatformStatus } from "../core/vocabulary.ts";
import type { PlatformRow } from "../db/tables/accounts.ts";
import { recordActivity } from "../journal/activity.ts";
import { recordNotice } from "../journal/notices.ts";
import { recordOperatorEntry } from "../journal/operator-log.ts";
import { toPlatformView } from "./profile.ts";
import { type PlatformTrigger, platformMachine } from "./states.ts";
import { movePlatform, type PlatformChange } from "./store.ts";

type ReasonInput = { readonly reason: string };

type StatusDecision = {
  readonly trigger: CascadeTrigger;
  readonly moveOf: (before: PlatformRow) => Move<PlatformStatus>;
  readonly set: (before: PlatformRow, reason: string) => PlatformChange;
  readonly action: ActivityAction;
  /** The act in the operators' own log. */
  readonly act: OperatorAction;
  readonly notice: "customer.account_suspended" | "customer.account_reinstated";
};

const SUSPENSION: StatusDecision = {
  trigger: "principal_stops",
  moveOf: ({ status }) => move(platformMachine, status, "suspend"),
  set: ({ status }, reason) => ({ suspensionReason: reason, suspendedFrom: status }),
  action: "account.suspended",
  act: "platform.suspended",
  notice: "customer.account_suspended",
};

/** The trigger that leads back to the state that an account was suspended in. */
const REINSTATE_TRIGGERS: Readonly<Partial<Record<PlatformStatus, PlatformTrigger>>> = {
  PROFILE_PENDING: "reinstate_profile",
  KYB_PENDING: "reinstate_kyb",
  IN_REVIEW: "reinstate_review",
  ACCREDITED: "reinstate_accredited",
};

const REINSTATEMENT: StatusDecision = {
  trigger: "account_returns",
  moveOf: ({ status, suspendedFrom }) =>
    // If the account is not suspended, the machine refuses any of these triggers.
    move(platformMachine, status, REINSTATE_TRIGGERS[suspendedFrom ?? status] ?? "reinstate_profile"),
  set: () => ({ suspensionReason: null, suspendedFrom: null }),
  action: "account.reinstated",
  act: "platform.reinstated",
  notice: "customer.account_reinstated",
};

export const suspendPlatform = (call: OperatorCall<PlatformRow>, platformId: string, input: ReasonInput) =>
  changeAccountStatus(call, platformId, input, SUSPENSION);

export const reinstatePlatform = (call: OperatorCall<PlatformRow>, platformId: string, input: ReasonInput) =>
  changeAccountStatus(call, platformId, input, REINSTATEMENT);

async function changeAccountStatus(
  call: OperatorCall<PlatformRow>,
  platformId: string,
  { reason }: ReasonInput,
  decision: StatusDecision,
) {
  const { db, deps, now, actor } = call;
  const { trigger, action, act, notice } = decision;
  const subject = { type: "platform", id: platformId };
  const { object: before, ...read } = await call.read(buildAccountReads(deps, platformId, trigger));
  const found = { ...read, ahead: before.clockOffsetMs };
  const moved = decision.moveOf(before);
  const set = decision.set(before, reason);
  const view = toPlatformView({ ...before, ...set, status: moved.to });
  const above = {
    platformId,
    statements: [
      ...movePlatform(db, before, set, now, moved),
      ...(trigger === "account_returns" ? [relistAccount(db, platformId, deps.clock.now())] : []),
    ],
  };
  const cascading = cascadeAccount(deps, above, { trigger, reason: "operator", actor }, found, now, call.contended);
  await call.commit(
    [
      ...cascading.statements,
      recordActivity(db, { platformId, environment: "sandbox" }, now, {
        action,
        actor,
        subject,
        changes: { platform_status: { from: moved.from, to: moved.to }, reason: { from: null, to: reason } },
      }),
      recordOperatorEntry(db, actor, now, { action: act, subject, platformId, detail: { reason } }),
      recordNotice(db, before, now, { kind: notice, data: { reason } }),
    ],
    view,
  );
  // A job continues the cascade if this fails.
  call.background(cascading.rest().catch(() => undefined));
  return view;
}
