// Reads a platform's own agents (AGT-11, AGT-12).
import { type ManagementCall, type Precheck, precheck, precheckExists, readPage } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import { isActiveOrFunding } from "../core/vocabulary.ts";
import { readBatch } from "../db/batch.ts";
import { findEscrows, findMarkets } from "../identity/store.ts";
import { pickRatingMethod } from "../ratings/method.ts";
import { computeRatingFromRow } from "../ratings/signals.ts";
import { findAgent, findOwnAgent } from "./find-store.ts";
import { hasRenewalToWrite, isAgentListByEnd, listAgents } from "./list-store.ts";
import type { AgentSummary } from "./responses.ts";
import type { AgentQuery, AgentView } from "./schema.ts";
import { toAgentSummary, toAgentView } from "./views.ts";

export async function getAgent(call: ManagementCall, did: string): Promise<AgentView> {
  const { db, tenant, now, deps } = call;
  const { found, markets, escrows } = await call.read({
    found: findAgent(db, tenant, did),
    markets: findMarkets(db, did, tenant.environment),
    escrows: findEscrows(db, did, tenant.environment),
  });
  if (!found) throw new ServiceError("not_found");
  // Decayed to this instant, as in the public status. Lists and events show the rating as last published (AGT-12).
  const agent_rating = computeRatingFromRow(found.agent, pickRatingMethod(deps.env, tenant.environment), now);
  return { ...toAgentView(deps.config, { ...found, markets, escrows }, now), agent_rating };
}

export async function getAgents(call: ManagementCall, query: AgentQuery): Promise<Page<AgentSummary>> {
  const { principal_id: principalId, status, economic_role: economicRole, external_ref: externalRef } = query;
  const filter = { principalId, status, economicRole, externalRef };
  const page = await readPage(call, query, hashListing("agents", [call.environment], filter));
  const byEnd = isAgentListByEnd(filter);
  const listed = (renewing: boolean) => listAgents(call.db, call.tenant, filter, call.now, { ...page, renewing });
  const runs = byEnd && status !== undefined && isActiveOrFunding(status);
  const first = await call.read({ found: listed(false), ...(runs && { renewing: hasRenewalToWrite(call.db) }) });
  const { found } = first.renewing ? await readBatch(call.db, { found: listed(true) }) : first;
  const { data, ...rest } = toPage(
    found.rows,
    page,
    ({ agent: { endsAt, createdAt, did } }) => ({ at: byEnd ? endsAt : createdAt, id: did }),
    ({ agent, principal }) => toAgentSummary(agent, principal, call.now),
    found.end,
  );
  // While a cascade runs, an agent's row may not yet follow its principal.
  return { data: status === undefined ? data : data.filter((agent) => agent.status === status), ...rest };
}

/** Like `precheckAgent`, for routes where a live key reaches the platform's sandbox agents (MKT-11). */
export const precheckOwnAgent = (call: ManagementCall, did: string): Precheck =>
  precheck({ found: findOwnAgent(call.db, call.tenant, did) }, ({ found }) => {
    if (!found || (found.agent.environment !== call.environment && call.environment !== "production"))
      throw new ServiceError("not_found");
    return [];
  });

/** Refuses another platform's agent before the faults of the body are reported. */
export const precheckAgent = (call: ManagementCall, did: string): Precheck =>
  precheckExists(findAgent(call.db, call.tenant, did));
