// Rows → the shapes of schema.ts. What a management key sees of an agent.
import type { Config } from "../context.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { formatAmount } from "../core/money.ts";
import { caip2Named } from "../markets/networks.ts";
import { effectivePrincipalStatus, type PrincipalStanding } from "../principals/states.ts";
import { escrowStateOf, liveOf, marketCodes, scopeOf } from "./aid.ts";
import type { AgentSummary, AgentView, MarketView } from "./schema.ts";
import type { AgentRow, EscrowRow, ListedAgent, MarketRow, PrincipalRow } from "./store.ts";

export function toAgentSummary(agent: ListedAgent, principal: PrincipalStanding, now: number): AgentSummary {
  const { status, environment } = liveOf(agent, principal, now);
  const stoppedBy = effectivePrincipalStatus(principal, now) === "ATTESTATION_EXPIRED" ? "attestation" : "principal";
  const stopped = status === "SUSPENDED" && agent.status !== "SUSPENDED";
  return {
    did: agent.did,
    principal_id: agent.principalId,
    environment,
    economic_role: agent.economicRole as AgentSummary["economic_role"],
    cert_tier: agent.certTier as AgentSummary["cert_tier"],
    status,
    suspension_reason: stopped ? stoppedBy : agent.suspensionReason,
    status_reason: stopped ? null : agent.statusNote,
    profile: { display_name: agent.displayName, description: agent.description, catalog_url: agent.catalogUrl },
    endpoint_url: agent.endpointUrl,
    scope: scopeOf(agent),
    delegated_by: agent.delegatedBy,
    version: agent.version,
    key_id: agent.keyId,
    certificate_expires_at: toIsoOrNull(agent.certificateExpiresAt),
    agent_rating: agent.agentRating,
    created_at: toIso(agent.createdAt),
    updated_at: toIso(agent.updatedAt),
  };
}

export function toMarketView(config: Config, row: MarketRow): MarketView {
  return {
    market: row.market,
    network: row.network,
    environment: row.environment as MarketView["environment"],
    caip2: caip2Named(config.networks, row.network),
    operational_wallet: row.operationalWallet,
    escrow_wallet: row.escrowWallet,
    status: row.status as MarketView["status"],
    registration_tx: row.registrationTx,
    ...(row.reason !== null && { reason: row.reason }),
  };
}

type Source = {
  agent: AgentRow;
  principal: PrincipalRow;
  markets: readonly MarketRow[];
  escrows: readonly EscrowRow[];
};

export function toAgentView(config: Config, source: Source, now: number): AgentView {
  const { agent, principal, markets, escrows } = source;
  return {
    ...toAgentSummary(agent, principal, now),
    authorized_markets: marketCodes(markets),
    markets: markets.map((row) => toMarketView(config, row)),
    escrow_state: escrowStateOf(agent.economicRole, escrows),
    escrow: escrows.map((escrow) => {
      const decimals = config.networks.find((known) => known.network === escrow.network)?.decimals ?? 6;
      return {
        network: escrow.network,
        caip2: caip2Named(config.networks, escrow.network),
        currency: escrow.currency,
        escrow_wallet: escrow.vault,
        balance: formatAmount(escrow.balance, decimals),
        threshold: formatAmount(escrow.threshold, decimals),
        state: escrow.state as "FUNDING",
      };
    }),
  };
}
