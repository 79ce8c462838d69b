// Reads a platform's own agents (AGT-11, AGT-12).
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
  // Decayed to this instant, as in the public status. Lists and events show the rating of the last signal (AGT-12).
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

/** As `precheckAgent`, for the routes where a live key reaches the platform's sandbox agents (MKT-11). */
export const precheckOwnAgent = (call: ManagementCall, did: string): Precheck =>
  precheck({ found: findOwnAgent(call.db, call.tenant, did) }, ({ found }) => {
    if (!found || (found.agent.environment !== call.environment && call.environment !== "production"))
      throw new ServiceError("not_found");
    return [];
  });

/** Refuses another platform's agent before the faults of the body. */
export const precheckAgent = (call: ManagementCall, did: string): Precheck =>
  precheck({ found: findAgent(call.db, call.tenant, did) }, ({ found }) => {
    if (!found) throw new ServiceError("not_found");
    return [];
  });
