// Reads a platform's own agents (AGT-11, AGT-12).
import { type ManagementCall, readPage } from "../call.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import { isActiveOrFunding } from "../core/vocabulary.ts";
import { readBatch } from "../db/batch.ts";
import { type AgentWithPrincipal, findEscrows, findMarkets } from "../identity/store.ts";
import { pickRatingMethod } from "../ratings/method.ts";
import { computeRatingFromRow } from "../ratings/signals.ts";
import { findAgent, findOwnAgent } from "./find-store.ts";
import { hasRenewalToWrite, isAgentListByEnd, listAgents } from "./list-store.ts";
import type { AgentSummary } from "./responses.ts";
import type { AgentQuery, AgentView } from "./schema.ts";
import { toAgentSummary, toAgentView } from "./views.ts";

type AgentPath = { readonly did: string };

export const findNamedAgent = ({ db, tenant }: ManagementCall, { did }: AgentPath) => findAgent(db, tenant, did);
export const findNamedOwnAgent = ({ db, tenant }: ManagementCall, { did }: AgentPath) => findOwnAgent(db, tenant, did);

export async function getAgent(call: ManagementCall<AgentWithPrincipal>, did: string): Promise<AgentView> {
  const { db, tenant, now, deps } = call;
  const {
    object: found,
    markets,
    escrows,
  } = await call.read({
    markets: findMarkets(db, did, tenant.environment),
    escrows: findEscrows(db, did, tenant.environment),
  });
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
    found,
    page,
    ({ agent: { endsAt, createdAt, did } }) => ({ at: byEnd ? endsAt : createdAt, id: did }),
    ({ agent, principal }) => toAgentSummary(agent, principal, call.now),
  );
  // While a cascade runs, an agent's row may not yet follow its principal.
  return { data: status === undefined ? data : data.filter((agent) => agent.status === status), ...rest };
}
