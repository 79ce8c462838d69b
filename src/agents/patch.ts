// Changes an agent's identity, its reference and its metadata (AGT-30).
import { type ManagementCall, type Precheck, precheck } from "../call.ts";
import { ServiceError, toValidationError } from "../core/errors.ts";
import { dropAbsentReads } from "../db/batch.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import type { AgentWithPrincipal } from "../identity/store.ts";
import type { Changes } from "../journal/activity.ts";
import { toCanonicalJson } from "../protocol/canonical-json.ts";
import { buildSourceReads, findAgentByReference } from "./find-store.ts";
import { refuseFinal, refuseHolder, reviseAgent, toAidSource } from "./revise.ts";
import { findProfileFaults } from "./roles.ts";
import type { AgentPatch, AgentView } from "./schema.ts";
import { toAgentView } from "./views.ts";

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
  const pick = <T>(value: T | undefined, present: T): T => (value === undefined ? present : value);
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
