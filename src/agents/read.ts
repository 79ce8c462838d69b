// Reads a platform's own agents (AGT-11, AGT-12).
import { type ManagementCall, readPage } from "../call.ts";
import { formatTokenUnits, requireNetwork, toCaip2 } from "../chain/networks.ts";
import type { Config } from "../context.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import { type AgentStatus, isActiveOrFunding, type SuspensionReason } from "../core/vocabulary.ts";
import { readBatch } from "../db/batch.ts";
import type { MarketRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { pickWorstEscrowState, toShownBalance } from "../escrow/states.ts";
import { type AidSource, listMarketCodes, toLiveStatus, toScope } from "../identity/aid.ts";
import { type AgentWithPrincipal, findEscrows, findMarkets } from "../identity/store.ts";
import { type StoredStatus, toStopReason } from "../principals/effective-status.ts";
import { pickRatingMethod } from "../ratings/method.ts";
import { computeRatingFromRow } from "../ratings/signals.ts";
import { findAgent, findOwnAgent } from "./find-store.ts";
import { hasRenewalToWrite, isAgentListByEnd, type ListedAgent, listAgents } from "./list-store.ts";
import type { AgentSummary } from "./responses.ts";
import type { AgentQuery, AgentView, EscrowView, MarketView } from "./schema.ts";

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

// ---- Views --------------------------------------------------------------------------------------------------------------

export function toAgentSummary(agent: ListedAgent, principal: StoredStatus, now: number): AgentSummary {
  const { status, environment } = toLiveStatus(agent, principal, now);
  const stopped = status !== agent.status;
  return {
    did: agent.did,
    principal_id: agent.principalId,
    environment,
    economic_role: agent.economicRole,
    cert_tier: agent.certTier,
    status,
    suspension_reason: stopped ? toSuspensionReason(principal, status, now) : agent.suspensionReason,
    status_reason: stopped ? null : agent.statusNote,
    profile: { display_name: agent.displayName, description: agent.description, catalog_url: agent.catalogUrl },
    endpoint_url: agent.endpointUrl,
    external_ref: agent.externalRef,
    metadata: agent.metadata,
    scope: toScope(agent),
    delegated_by: agent.delegators[0] ?? null,
    version: agent.version,
    key_id: agent.keyId,
    certificate_expires_at: toIsoOrNull(agent.certificateExpiresAt),
    agent_rating: agent.agentRating,
    created_at: toIso(agent.createdAt),
    updated_at: toIso(agent.updatedAt),
  };
}

/** The reason for a suspension that the agent's own row does not show yet (AGT-19). */
function toSuspensionReason(principal: StoredStatus, status: AgentStatus, now: number): SuspensionReason | null {
  return status === "SUSPENDED" ? toStopReason(principal, now) : null;
}

export function toAgentView(config: Config, source: Omit<AidSource, "certificate">, now: number): AgentView {
  const { agent, principal, markets, escrows } = source;
  return {
    ...toAgentSummary(agent, principal, now),
    authorized_markets: listMarketCodes(markets),
    markets: markets.map((row) => toMarketView(config, row)),
    escrow_state: pickWorstEscrowState(agent.economicRole, escrows),
    escrow: escrows.map((escrow) => toEscrowView(config, escrow)),
  };
}

export function toMarketView(config: Config, row: MarketRow): MarketView {
  return {
    market: row.market,
    network: row.network,
    environment: row.environment,
    caip2: toCaip2(requireNetwork(config.networks, row.network)),
    operational_wallet: row.operationalWallet,
    escrow_wallet: row.escrowWallet,
    status: row.status,
    registration_tx: row.registrationTx,
    ...(row.reason !== null && { reason: row.reason }),
    ...(row.pendingWallet !== null &&
      row.pendingUntil !== null && {
        pending_wallet: { operational_wallet: row.pendingWallet, effective_at: toIso(row.pendingUntil) },
      }),
  };
}

export function toEscrowView(config: Config, escrow: EscrowRow): EscrowView {
  const network = requireNetwork(config.networks, escrow.network);
  return {
    network: escrow.network,
    caip2: toCaip2(network),
    currency: escrow.currency,
    escrow_wallet: escrow.vault,
    balance: formatTokenUnits(network, toShownBalance(escrow)),
    threshold: formatTokenUnits(network, escrow.threshold),
    state: escrow.state,
  };
}
