// Specification 4, Agents: registration and the management reads.
import { recordActivity, recordEvent } from "../activity/store.ts";
import { type Examination, examination, type ManagementCall } from "../call.ts";
import { isPayableDid } from "../chain/hashes.ts";
import { type FieldError, fieldError, ServiceError, validationError } from "../core/errors.ts";
import { decodeCursor, type Page, toPage } from "../core/page.ts";
import { present, type ReadResults } from "../db/batch.ts";
import { effectivePrincipalStatus } from "../principals/states.ts";
import { findPrincipal } from "../principals/store.ts";
import { generateDid } from "../protocol/did.ts";
import { liveRating } from "../ratings/rating.ts";
import { ratingSums } from "../ratings/signals.ts";
import { findHeaviest } from "../ratings/store.ts";
import { buildAid, liveOf, writeAid } from "./aid.ts";
import { type Bounds, delegationFaults } from "./delegation.ts";
import { defaultTier, tierRank } from "./roles.ts";
import type { AgentInput, AgentQuery, AgentSummary, AgentView } from "./schema.ts";
import {
  type AgentRow,
  findAgent,
  findAncestors,
  findEscrows,
  findMarkets,
  findOwnAgent,
  insertAgent,
  listAgents,
} from "./store.ts";
import { toAgentSummary, toAgentView } from "./views.ts";

/** Answers the full AID, unsigned: a DRAFT has no key and no certificate (3.3). */
export async function registerAgent(call: ManagementCall, input: AgentInput): Promise<Record<string, unknown>> {
  const { db, now, deps } = call;
  const found = await call.read(registrationReads(call, input));
  const { principal, caller } = found;
  const agent = draftOf(input, caller.platformId, call.environment, now);
  const faults = ownershipFaults(call, input, found);
  if (faults.length > 0 || !principal) throw validationError(faults);
  if (tierRank(agent.certTier) > tierRank(caller.accreditationTier)) {
    throw new ServiceError("tier_exceeds_accreditation", { detail: { accreditation_tier: caller.accreditationTier } });
  }
  const standing = effectivePrincipalStatus(principal, now);
  if (standing !== "ACTIVE") throw new ServiceError("invalid_status", { detail: { principal_status: standing } });

  const source = { agent, principal, markets: [], escrows: [] };
  const live = liveOf(agent, principal, now);
  const view = { ...buildAid(deps.config, source, now), proof: null, live, status: agent.status };
  await call.commit(
    [
      insertAgent(db, agent),
      ...(await writeAid(db, deps, source, now, true)),
      recordActivity(db, agent, now, {
        action: "agent.registered",
        actor: caller.actor,
        subject: { type: "agent", id: agent.did },
      }),
      recordEvent(db, agent, now, { type: "agent.registered", object: toAgentView(deps.config, source, now) }),
    ],
    view,
  );
  return view;
}

const registrationReads = ({ db, scope }: ManagementCall, { principal_id, delegated_by }: Partial<AgentInput>) =>
  present({
    principal: principal_id === undefined ? null : findPrincipal(db, scope, principal_id),
    delegator: typeof delegated_by === "string" ? findAgent(db, scope, delegated_by) : null,
    ancestors: typeof delegated_by === "string" ? findAncestors(db, delegated_by) : null,
  });

/** What the schema cannot know: whose principal that is, and how wide its delegator's scope. */
function ownershipFaults(
  call: ManagementCall,
  input: Partial<AgentInput>,
  found: Partial<ReadResults<ReturnType<typeof registrationReads>>>,
): FieldError[] {
  const { principal_id: principalId, delegated_by: delegatedBy, scope } = input;
  const delegate = { principalId, scope: scope && boundsOf(scope) };
  return [
    ...(principalId !== undefined && !found.principal ? [fieldError("principal_id", "not_found")] : []),
    ...(typeof delegatedBy === "string"
      ? delegationFaults(delegate, found.delegator ?? null, found.ancestors ?? [], call.now)
      : []),
  ];
}

/** Of a body that the schema finds faulty: what else is wrong with the rest. */
export const examineRegistration = (call: ManagementCall, input: Partial<AgentInput>): Examination =>
  examination(registrationReads(call, input), (found) => ownershipFaults(call, input, found));

const boundsOf = (scope: AgentInput["scope"]): Bounds => ({
  authorizedActions: scope.authorized_actions,
  capabilities: scope.capabilities,
  maxTransactionValue: scope.max_transaction_value ?? null,
  spendingLimit: scope.spending_limit ?? null,
  minimumCounterpartyCertTier: scope.minimum_counterparty_cert_tier ?? null,
  minimumCounterpartyAr: scope.minimum_counterparty_ar ?? null,
});

function draftOf(input: AgentInput, platformId: string, environment: string, now: number): AgentRow {
  const { scope, profile } = input;
  return {
    did: drawDid(),
    platformId,
    environment,
    principalId: input.principal_id,
    economicRole: input.economic_role,
    certTier: input.cert_tier ?? defaultTier(input.economic_role),
    displayName: profile.display_name,
    description: profile.description ?? null,
    catalogUrl: profile.catalog_url ?? null,
    endpointUrl: input.endpoint_url,
    ...boundsOf(scope),
    disputeWindowDays: scope.dispute_window_days,
    delegatedBy: input.delegated_by ?? null,
    status: "DRAFT",
    suspensionReason: null,
    suspendedFrom: null,
    statusNote: null,
    version: 1,
    revision: 1,
    certificateJti: null,
    certificate: null,
    certificateExpiresAt: null,
    keyId: null,
    publicJwk: null,
    ratingWeight: 0,
    ratingWeighted: 0,
    ratingInteractions: 0,
    ratingCounterparties: 0,
    agentRating: null,
    settledVolume: 0,
    spendSettled: 0,
    spendOpen: 0,
    disputesOpen: 0,
    disputesResolvedFor: 0,
    disputesResolvedAgainst: 0,
    createdAt: now,
    updatedAt: now,
  };
}

/** Drawn until the public clients can pay it: their hash routine eats leading zeros. */
function drawDid(): string {
  for (;;) {
    const did = generateDid();
    if (isPayableDid(did)) return did;
  }
}

export async function getAgent(call: ManagementCall, did: string): Promise<AgentView> {
  const { db, scope, now } = call;
  const { found, markets, escrows, heaviest } = await call.read({
    found: findAgent(db, scope, did),
    markets: findMarkets(db, did, scope.environment),
    escrows: findEscrows(db, did, scope.environment),
    heaviest: findHeaviest(db, did),
  });
  if (!found) throw new ServiceError("not_found");
  // As its status shows it: decayed to this instant. Lists and events show what was published with the last signal.
  const agent_rating = liveRating(ratingSums(found.agent), heaviest, call.deps.config.rating[scope.environment], now);
  return { ...toAgentView(call.deps.config, { ...found, markets, escrows }, now), agent_rating };
}

export async function getAgents(call: ManagementCall, query: AgentQuery): Promise<Page<AgentSummary>> {
  const filter = {
    now: call.now,
    ...(query.principal_id !== undefined && { principalId: query.principal_id }),
    ...(query.status !== undefined && { status: query.status }),
    ...(query.economic_role !== undefined && { economicRole: query.economic_role }),
  };
  const page = { limit: query.limit, after: query.cursor === undefined ? null : decodeCursor(query.cursor) };
  const { rows } = await call.read({ rows: listAgents(call.db, call.scope, filter, page) });
  return toPage(
    rows,
    query.limit,
    ({ agent }) => ({ at: agent.createdAt, id: agent.did }),
    ({ agent, principal }) => toAgentSummary(agent, principal, call.now),
  );
}

/** As below, for the routes where a live key reaches the platform's sandbox agents. */
export const examineOwnAgent = (call: ManagementCall, did: string): Examination =>
  examination({ found: findOwnAgent(call.db, call.scope, did) }, ({ found }) => {
    if (!found || (found.agent.environment !== call.environment && call.environment !== "production"))
      throw new ServiceError("not_found");
    return [];
  });

/** Of a body that the schema finds faulty: whether the agent of the path is the caller's. */
export const examineAgent = (call: ManagementCall, did: string): Examination =>
  examination({ found: findAgent(call.db, call.scope, did) }, ({ found }) => {
    if (!found) throw new ServiceError("not_found");
    return [];
  });
