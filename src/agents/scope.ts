// Changes an agent's scope (AGT-21, AGT-22).
import { type ManagementCall, type Precheck, precheck } from "../call.ts";
import { systemClock } from "../core/clock.ts";
import { type FieldError, ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { HOUR_MS, NARROWED_CERTIFICATE_HOURS } from "../core/limits.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import { toScope } from "../identity/aid.ts";
import { certify } from "../identity/certificate.ts";
import { findListPlace } from "../identity/certificate-store.ts";
import type { Changes } from "../journal/activity.ts";
import { toEffectivePrincipalStatus } from "../principals/effective-status.ts";
import { type Bounds, findExceededFields } from "./delegation.ts";
import { type AgentWithDelegator, findAgentWithDelegator } from "./delegation-store.ts";
import { buildSourceReads } from "./find-store.ts";
import { refuseFinal, reviseAgent, toAidSource } from "./revise.ts";
import { findScopeFaults, findWordFaults, toFields } from "./roles.ts";
import type { AgentView, ScopePatch } from "./schema.ts";
import { toAgentView } from "./views.ts";

export const findNamedScope = ({ db, tenant }: ManagementCall, { did }: { did: string }) =>
  findAgentWithDelegator(db, tenant, did);

export async function patchScope(
  call: ManagementCall<AgentWithDelegator>,
  did: string,
  patch: ScopePatch,
): Promise<AgentView> {
  const { db, tenant, now, deps } = call;
  const { object, place, caller, ...found } = await call.read({
    ...buildSourceReads(db, tenant, did),
    place: findListPlace(db),
  });
  const { delegator, ...agent } = object;
  const before = toAidSource(agent, found);
  const scoped = applyScope(before.agent, patch);
  const faults = findScopePatchFaults(before.agent, patch, scoped, delegator);
  if (faults.length > 0) throw toValidationError(faults);
  refuseFinal(before, now);
  const changes = diffScope(toScope(before.agent), toScope(scoped));
  if (Object.keys(changes).length === 0) throw new ServiceError("no_changes_requested");

  // The certificate states the scope, so a new one is issued for the same key. Earlier ones stay valid if the scope was widened, and end a day
  // later if it was narrowed. The service itself judges every call by the live scope (AGT-22).
  const standing = toEffectivePrincipalStatus(before.principal, now);
  const certifiable = before.certificate !== null && standing === "ACTIVE";
  const certificate = certifiable ? await certify(call, scoped, before.principal, place) : null;
  const narrowed = before.certificate !== null && findExceededFields(before.agent, scoped).length > 0;
  const { after, statements } = await reviseAgent(
    db,
    deps,
    before,
    {
      set: scoped,
      newVersion: true,
      certificate,
      ...(narrowed && { earlierCountUntil: systemClock.now() + NARROWED_CERTIFICATE_HOURS * HOUR_MS }),
      activity: { action: "agent.scope_changed", actor: caller.actor, changes },
      listing: "updated",
    },
    now,
  );
  const view = toAgentView(deps.config, after, now);
  await call.commit(statements, view);
  return view;
}

function findScopePatchFaults(
  before: AgentRow,
  given: unknown,
  scoped: AgentRow,
  delegator: Bounds | null,
): FieldError[] {
  const ofRole = findScopeFaults(before.economicRole, toFields(given), "", false);
  const wider = delegator ? findExceededFields(scoped, delegator) : [];
  const changed = ["capabilities", "authorized_actions"].find((field) => field in toFields(given));
  return [
    ...ofRole,
    ...(changed === undefined
      ? []
      : findWordFaults({ authorized_actions: scoped.authorizedActions, capabilities: scoped.capabilities }, changed)),
    ...wider
      .filter((field) => !ofRole.some((fault) => fault.field === field))
      .map((field) => toFieldError(field, "scope_exceeds_delegator")),
  ];
}

/** Adds the faults that depend on the agent, for a body that the schema refused; `valid` is the valid part of `given`. */
export const precheckScopePatch = (given: unknown, valid: ScopePatch): Precheck =>
  precheck<Record<never, never>, unknown, AgentWithDelegator>({}, ({ object: { agent, delegator } }) =>
    findScopePatchFaults(agent, given, applyScope(agent, valid), delegator),
  );

function applyScope(agent: AgentRow, patch: ScopePatch): AgentRow {
  const pick = <T>(value: T | undefined, present: T): T => (value === undefined ? present : value);
  return {
    ...agent,
    authorizedActions: pick(patch.authorized_actions, agent.authorizedActions),
    capabilities: pick(patch.capabilities, agent.capabilities),
    disputeWindowDays: pick(patch.dispute_window_days, agent.disputeWindowDays),
    maxTransactionValue: pick(patch.max_transaction_value, agent.maxTransactionValue),
    spendingLimit: pick(patch.spending_limit, agent.spendingLimit),
    minimumCounterpartyCertTier: pick(patch.minimum_counterparty_cert_tier, agent.minimumCounterpartyCertTier),
    minimumCounterpartyAr: pick(patch.minimum_counterparty_ar, agent.minimumCounterpartyAr),
    intentsFrom: pick(patch.intents_from, agent.intentsFrom),
  };
}

function diffScope(before: Record<string, unknown>, after: Record<string, unknown>): Changes {
  const changed = Object.keys(after).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  return Object.fromEntries(
    changed.map((name) => [`scope.${name}`, { from: before[name] ?? null, to: after[name] ?? null }]),
  );
}
