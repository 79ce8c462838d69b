// Changes an agent's profile, endpoint, reference and metadata (AGT-30), and its scope (AGT-21, AGT-22).
import { type ManagementCall, type Precheck, precheck } from "../call.ts";
import { systemClock } from "../core/clock.ts";
import { type FieldError, ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { HOUR_MS, NARROWED_CERTIFICATE_HOURS } from "../core/limits.ts";
import { dropAbsentReads } from "../db/batch.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import { toScope } from "../identity/aid.ts";
import { certify } from "../identity/certificate.ts";
import { findListPlace } from "../identity/certificate-store.ts";
import type { AgentWithPrincipal } from "../identity/store.ts";
import type { Changes } from "../journal/activity.ts";
import { toEffectivePrincipalStatus } from "../principals/effective-status.ts";
import { toCanonicalJson } from "../protocol/canonical-json.ts";
import { type Bounds, findExceededFields } from "./delegation.ts";
import {
  type AgentWithDelegator,
  buildSourceReads,
  findAgentByReference,
  findAgentWithDelegator,
} from "./find-store.ts";
import { toAgentView } from "./read.ts";
import { refuseFinal, refuseHolder, reviseAgent, toAidSource } from "./revise.ts";
import { findProfileFaults, findScopeFaults, findWordFaults, toFields } from "./roles.ts";
import type { AgentPatch, AgentView, ScopePatch } from "./schema.ts";

/** The members of a patch by column. `stated`: the identity document contains it. */
const MEMBERS = {
  "profile.display_name": { column: "displayName", stated: true },
  "profile.description": { column: "description", stated: true },
  "profile.catalog_url": { column: "catalogUrl", stated: true },
  endpoint_url: { column: "endpointUrl", stated: true },
  external_ref: { column: "externalRef", stated: false },
  metadata: { column: "metadata", stated: false },
} as const satisfies Record<string, { column: keyof AgentRow; stated: boolean }>;

export async function patchAgent(
  call: ManagementCall<AgentWithPrincipal>,
  did: string,
  patch: AgentPatch,
): Promise<AgentView> {
  const { db, tenant, now, deps } = call;
  const { caller, holder, object, ...found } = await call.read({
    ...buildSourceReads(db, tenant, did),
    ...dropAbsentReads({
      holder: typeof patch.external_ref === "string" ? findAgentByReference(db, tenant, patch.external_ref) : null,
    }),
  });
  const before = toAidSource(object, found);
  const faults = findProfileFaults(before.agent.economicRole, patch);
  if (faults.length > 0) throw toValidationError(faults);
  refuseFinal(before, now);
  const patched = applyPatch(before.agent, patch);
  const changes = diffAgent(before.agent, patched);
  const names = Object.keys(changes) as (keyof typeof MEMBERS)[];
  if (names.length === 0) throw new ServiceError("no_changes_requested");
  if (holder?.did !== did) refuseHolder(holder);
  const stated = names.some((name) => MEMBERS[name].stated);
  const { after, statements } = await reviseAgent(
    db,
    deps,
    before,
    {
      set: patched,
      newVersion: stated,
      activity: { action: "agent.updated", actor: caller.actor, changes },
      listing: stated ? "updated" : null,
    },
    now,
  );
  const view = toAgentView(deps.config, after, now);
  await call.commit(statements, view);
  return view;
}

export const precheckAgentPatch = (given: unknown): Precheck =>
  precheck<Record<never, never>, unknown, AgentWithPrincipal>({}, ({ object }) =>
    findProfileFaults(object.agent.economicRole, given),
  );

function applyPatch(agent: AgentRow, { profile = {}, ...patch }: AgentPatch): AgentRow {
  return {
    ...agent,
    displayName: pick(profile.display_name, agent.displayName),
    description: pick(profile.description, agent.description),
    catalogUrl: pick(profile.catalog_url, agent.catalogUrl),
    endpointUrl: pick(patch.endpoint_url, agent.endpointUrl),
    externalRef: pick(patch.external_ref, agent.externalRef),
    metadata: pick(patch.metadata, agent.metadata),
  };
}

function diffAgent(before: AgentRow, after: AgentRow): Changes {
  const changed = Object.entries(MEMBERS).filter(
    ([, { column }]) => toCanonicalJson(before[column]) !== toCanonicalJson(after[column]),
  );
  return Object.fromEntries(changed.map(([name, { column }]) => [name, { from: before[column], to: after[column] }]));
}

// ---- Scope --------------------------------------------------------------------------------------------------------------

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

/** Adds the faults that depend on the agent, for a body that the schema refused; `valid` is the valid part of `given`. */
export const precheckScopePatch = (given: unknown, valid: ScopePatch): Precheck =>
  precheck<Record<never, never>, unknown, AgentWithDelegator>({}, ({ object: { agent, delegator } }) =>
    findScopePatchFaults(agent, given, applyScope(agent, valid), delegator),
  );

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

function applyScope(agent: AgentRow, patch: ScopePatch): AgentRow {
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

const pick = <T>(value: T | undefined, present: T): T => (value === undefined ? present : value);
