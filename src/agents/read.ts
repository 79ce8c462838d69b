// Specification 4, Agents: what a platform reads of its own.
import { askedPage, type ManagementCall, type Precheck, precheck } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { listingOf, type Page, toPage } from "../core/page.ts";
import { findEscrows, findMarkets } from "../identity/store.ts";
import { ratingMethod } from "../ratings/method.ts";
import { liveRating } from "../ratings/rating.ts";
import { ratingSums } from "../ratings/signals.ts";
import { findHeaviest } from "../ratings/store.ts";
import type { AgentQuery, AgentSummary, AgentView } from "./schema.ts";
import { findAgent, findOwnAgent, listAgents } from "./store.ts";
import { toAgentSummary, toAgentView } from "./views.ts";

export async function getAgent(call: ManagementCall, did: string): Promise<AgentView> {
  const { db, tenant, now, deps } = call;
  const { found, markets, escrows, heaviest } = await call.read({
    found: findAgent(db, tenant, did),
    markets: findMarkets(db, did, tenant.environment),
    escrows: findEscrows(db, did, tenant.environment),
    heaviest: findHeaviest(db, did),
  });
  if (!found) throw new ServiceError("not_found");
  // As its status shows it: decayed to this instant. Lists and events show what was published with the last signal.
  const agent_rating = liveRating(ratingSums(found.agent), heaviest, ratingMethod(deps.env, tenant.environment), now);
  return { ...toAgentView(deps.config, { ...found, markets, escrows }, now), agent_rating };
}

export async function getAgents(call: ManagementCall, query: AgentQuery): Promise<Page<AgentSummary>> {
  const filter = {
    ...(query.principal_id !== undefined && { principalId: query.principal_id }),
    ...(query.status !== undefined && { status: query.status }),
    ...(query.economic_role !== undefined && { economicRole: query.economic_role }),
  };
  const page = await askedPage(call, query, listingOf("agents", [call.environment], filter));
  const { rows } = await call.read({ rows: listAgents(call.db, call.tenant, { ...filter, now: call.now }, page) });
  return toPage(
    rows,
    page,
    ({ agent }) => ({ at: agent.createdAt, id: agent.did }),
    ({ agent, principal }) => toAgentSummary(agent, principal, call.now),
  );
}

/** As below, for the routes where a live key reaches the platform's sandbox agents. */
export const precheckOwnAgent = (call: ManagementCall, did: string): Precheck =>
  precheck({ found: findOwnAgent(call.db, call.tenant, did) }, ({ found }) => {
    if (!found || (found.agent.environment !== call.environment && call.environment !== "production"))
      throw new ServiceError("not_found");
    return [];
  });

/** Of a body that the schema finds faulty: whether the agent of the path is the caller's. */
export const precheckAgent = (call: ManagementCall, did: string): Precheck =>
  precheck({ found: findAgent(call.db, call.tenant, did) }, ({ found }) => {
    if (!found) throw new ServiceError("not_found");
    return [];
  });
