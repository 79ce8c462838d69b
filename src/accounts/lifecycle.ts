// The life of an account: its promotion to production (ACC-16), its suspension and reinstatement by the operator (ACC-25, ACC-26), and its
// closing by its owner (ACC-27).
import { hasAccountDispute } from "../agents/slice-store.ts";
import {
  type ManagementCall,
  type ManagementCaller,
  type OperatorCall,
  type Precheck,
  precheck,
  type SessionCall,
} from "../call.ts";
import { cascadeAccount } from "../cascades/cascades.ts";
import { refuseLeft, relistAccount } from "../cascades/store.ts";
import { buildAccountReads } from "../cascades/subjects.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError, toFieldError } from "../core/errors.ts";
import { type Move, move } from "../core/machine.ts";
import { requireProduction } from "../core/roles.ts";
import { foldName } from "../core/text.ts";
import type { ActivityAction, CascadeTrigger, OperatorAction, PlatformStatus } from "../core/vocabulary.ts";
import { requireConfirmed } from "../core/volume.ts";
import type { PlatformRow } from "../db/tables/accounts.ts";
import { guardEmptyEscrows } from "../escrow/store.ts";
import { recordActivity } from "../journal/activity.ts";
import { recordNotice } from "../journal/alerts.ts";
import { recordOperatorEntry } from "../journal/operator-log.ts";
import { deleteEndpointsOf } from "../webhooks/store.ts";
import { deleteLinks, deletePassword, findPassword, guardPassword } from "./credential-store.ts";
import { retentionYears } from "./erase.ts";
import { deleteKeys } from "./key-store.ts";
import { issueKey, refuseInGrace } from "./keys.ts";
import { requireCurrentPassword } from "./passwords.ts";
import { toPlatformView } from "./profile.ts";
import type { ClosingInput } from "./schema.ts";
import { deleteDevices, deleteSessions } from "./session-store.ts";
import { type PlatformTrigger, platformMachine } from "./states.ts";
import {
  type Blocking,
  findBlocking,
  findPlatform,
  movePlatform,
  type PlatformChange,
  updatePlatform,
} from "./store.ts";

// ---- Promotion -----------------------------------------------------------------------------------------------------------

/** Once, after accreditation. It issues the production key; it moves no agent and opens no market. */
export async function promotePlatform(call: ManagementCall) {
  const { db, deps, tenant } = call;
  const now = deps.clock.now();
  const { caller, platform } = await call.read({ platform: findPlatform(db, tenant.platformId) });
  if (!platform) throw new ServiceError("invalid_credentials");
  requireProduction("promote", caller);
  refuseInGrace(caller);
  if (platform.promotionBy === "session" && caller.actor.type === "management_api") {
    const message = "Only a person can promote this account: log in, and promote it with the session.";
    throw new ServiceError("forbidden", { message });
  }
  requireConfirmed(caller);
  const { platformId } = platform;
  const owner = { platformId, environment: "production" } as const;
  const key = await issueKey(deps, owner, caller.actor, now);
  const view = {
    environment: owner.environment,
    promoted_at: toIso(now),
    live_key_issued: true,
    api_key: key.view,
  };
  await call.commit(
    [
      // Guards on the account as it was read: of several promotions, one finds it unpromoted.
      ...updatePlatform(db, platform, { promotedAt: now }, now),
      recordActivity(db, owner, now, {
        action: "account.promoted",
        actor: caller.actor,
        subject: { type: "platform", id: platformId },
        changes: { promoted_at: { from: null, to: toIso(now) } },
      }),
      ...key.statements,
      recordNotice(db, platform, now, { kind: "customer.key_issued", data: key.notice }),
    ],
    view,
  );
  return view;
}

/** The precheck that the session is confirmed; the request has no body. */
export const precheckAccountPromotion = (): Precheck =>
  precheck<Record<never, never>, ManagementCaller>({}, ({ caller }) => {
    requireConfirmed(caller);
    return [];
  });

// ---- Suspension and reinstatement ----------------------------------------------------------------------------------------

type ReasonInput = { readonly reason: string };

/**
 * From the commit the account's keys and sessions are refused and its agents count as suspended, on every surface. Reinstatement reactivates only the
 * agents that the suspension took.
 */
export const suspendPlatform = (call: OperatorCall<PlatformRow>, platformId: string, input: ReasonInput) =>
  changeAccountStatus(call, platformId, input, SUSPENSION);

export const reinstatePlatform = (call: OperatorCall<PlatformRow>, platformId: string, input: ReasonInput) =>
  changeAccountStatus(call, platformId, input, REINSTATEMENT);

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
    contended: call.contended,
    statements: [
      ...movePlatform(db, before, set, now, moved),
      ...(trigger === "account_returns" ? [relistAccount(db, platformId, deps.clock.now())] : []),
    ],
  };
  const cascading = cascadeAccount(deps, above, { trigger, reason: "operator", actor }, found, now);
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

// ---- Closing -------------------------------------------------------------------------------------------------------------

const CLOSING_TRIGGER = "principal_closes";

/**
 * One batch ends the account, its keys, sessions, links, webhook endpoints and password. From that commit all its agents count as REVOKED and its
 * principals as CLOSED, and their own rows follow. The history is never deleted.
 */
export async function closePlatform(call: SessionCall, { confirmation, current_password }: ClosingInput) {
  const { db, deps, tenant } = call;
  const now = deps.clock.now();
  const {
    caller,
    platform: before,
    stored,
    blocking,
    ...read
  } = await call.read({
    platform: findPlatform(db, tenant.platformId),
    stored: findPassword(db, tenant.platformId),
    blocking: findBlocking(db, tenant.platformId),
    ...buildAccountReads(deps, tenant.platformId, CLOSING_TRIGGER),
  });
  if (!before) throw new ServiceError("invalid_credentials");
  const { platformId, actor } = caller;
  refuseWrongConfirmation(before, confirmation);
  const { before: password } = await requireCurrentPassword(call, caller, stored, current_password);
  refuseBlocked(blocking);
  const found = { ...read, ahead: before.clockOffsetMs };
  const moved = move(platformMachine, before.status, "close");
  const view = { platform_id: platformId, platform_status: moved.to, closed_at: toIso(now) };
  const above = {
    platformId,
    contended: call.contended,
    statements: [
      ...updatePlatform(db, before, { closedAt: now }, now, moved),
      // A settlement may have reached an escrow since the read, and a dispute one of its agents.
      guardEmptyEscrows(db, platformId),
      refuseLeft(db, [hasAccountDispute(platformId)]),
      guardPassword(db, platformId, password),
      deleteKeys(db, platformId),
      deleteSessions(db, platformId),
      deleteDevices(db, platformId),
      deleteLinks(db, platformId),
      deletePassword(db, platformId),
      deleteEndpointsOf(db, platformId),
    ],
  };
  const cascading = cascadeAccount(deps, above, { trigger: CLOSING_TRIGGER, reason: "platform", actor }, found, now);
  await call.commit(
    [
      ...cascading.statements,
      recordActivity(db, { platformId, environment: "sandbox" }, now, {
        action: "account.closed",
        actor,
        subject: { type: "platform", id: platformId },
        changes: { platform_status: { from: moved.from, to: moved.to } },
      }),
      recordNotice(db, before, now, {
        kind: "customer.account_closed",
        data: { retentionYears: retentionYears(deps.env) },
      }),
    ],
    view,
  );
  // A job continues the cascade if this fails.
  call.background(cascading.rest().catch(() => undefined));
  return view;
}

function refuseBlocked(blocking: Blocking | null): void {
  if (!blocking) return;
  const { disputed, did, network } = blocking;
  if (disputed !== null) {
    const message = "An agent of the account is party to an open dispute.";
    throw new ServiceError("close_blocked_open_disputes", { message, detail: { did: disputed } });
  }
  if (did !== null && network !== null) throw new ServiceError("close_blocked_escrow", { detail: { did, network } });
}

/** Compares with the legal name in the profile, or with the account's address if it has no name yet. */
function refuseWrongConfirmation({ legalName, email }: PlatformRow, confirmation: string): void {
  const typed = confirmation.trim().normalize("NFC");
  const matches =
    legalName === null ? foldName(typed) === foldName(email) : typed === legalName.trim().normalize("NFC");
  if (matches) return;
  const wanted = legalName === null ? "the email address of the account" : "the legal name of the account";
  throw new ServiceError("confirmation_mismatch", {
    field_errors: [toFieldError("confirmation", "confirmation_mismatch", `Type ${wanted}.`)],
  });
}
