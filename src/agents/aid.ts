// Specification 2.5: the five pillars of an agent's identity document, built from what is stored, and signed.
import type { Config, Deps } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { ESCROW_BASE_THRESHOLD } from "../core/limits.ts";
import { formatAmount } from "../core/money.ts";
import type { Database, Statement } from "../db/batch.ts";
import { caip2Named } from "../markets/networks.ts";
import { effectivePrincipalStatus, type PrincipalStanding } from "../principals/states.ts";
import { type AidContent, aidCanonical, signAid } from "../protocol/aid.ts";
import type { EconomicRole } from "./roles.ts";
import { effectiveAgentStatus } from "./states.ts";
import {
  type AgentRow,
  type EscrowRow,
  insertAidVersion,
  type ListedAgent,
  type MarketRow,
  type PrincipalRow,
  putAid,
} from "./store.ts";

/** All that a document states, read in one trip. */
export type AidSource = {
  readonly agent: AgentRow;
  readonly principal: PrincipalRow;
  readonly markets: readonly MarketRow[];
  readonly escrows: readonly EscrowRow[];
};

const DISPUTE_POLICY = "Seven days of pre-arbitration between the parties, then arbitration by the operator.";
const ESCROW_ORDER = ["CONSTRAINED", "FUNDING", "ACTIVE"] as const;
export type EscrowState = (typeof ESCROW_ORDER)[number];

/** One word for all networks of a provider: the worst that holds on any of them. Consumers have none. */
export function escrowStateOf(role: string, escrows: readonly { state: string }[]): EscrowState | null {
  if (role === "CONSUMER") return null;
  return ESCROW_ORDER.find((state) => escrows.some((escrow) => escrow.state === state)) ?? "FUNDING";
}

export function scopeOf(agent: ListedAgent) {
  const shared = {
    authorized_actions: agent.authorizedActions,
    capabilities: agent.capabilities,
    dispute_window_days: agent.disputeWindowDays,
  };
  if ((agent.economicRole as EconomicRole) !== "CONSUMER") return shared;
  return {
    ...shared,
    max_transaction_value: agent.maxTransactionValue,
    spending_limit: agent.spendingLimit,
    minimum_counterparty_cert_tier: agent.minimumCounterpartyCertTier,
    minimum_counterparty_ar: agent.minimumCounterpartyAr,
  };
}

/** Only markets that work: one still provisioning is no promise. */
export const marketCodes = (markets: readonly MarketRow[]): string[] =>
  [...new Set(markets.filter((market) => market.status === "ACTIVE").map((market) => market.market))].sort();

export function buildAid(config: Config, source: AidSource, now: number): AidContent {
  const { agent, principal, markets, escrows } = source;
  return {
    version: agent.version,
    revision: agent.revision,
    did: agent.did,
    issuer: config.issuer,
    issued_at: toIso(now),
    identity: {
      did: agent.did,
      profile: { display_name: agent.displayName, description: agent.description, catalog_url: agent.catalogUrl },
      economic_role: agent.economicRole,
      cert_tier: agent.certTier,
      principal: {
        id: principal.principalId,
        name: principal.legalName,
        country: principal.country,
        verification: {
          attestation_id: principal.attestationId,
          verifier_id: principal.attestationVerifierId,
          model: principal.attestationModel,
          issued_at: toIso(principal.attestationIssuedAt),
          expires_at: toIso(principal.attestationExpiresAt),
          ...(principal.attestationTier !== null && { tier: principal.attestationTier }),
        },
      },
      endpoint_url: agent.endpointUrl,
      scope: scopeOf(agent),
      authorized_markets: marketCodes(markets),
      certificate: agent.certificate,
      public_key_jwk: agent.publicJwk as AidContent["identity"]["public_key_jwk"],
      delegation: agent.delegatedBy === null ? null : { delegated_by: agent.delegatedBy },
    },
    performance: {
      agent_rating: agent.agentRating,
      interactions: agent.ratingInteractions,
      settled_volume: settledVolume(config, agent),
      as_of: toIso(now),
    },
    escrow: escrowPillar(config, agent, markets, escrows),
    disputes: {
      open: agent.disputesOpen,
      resolved_for: agent.disputesResolvedFor,
      resolved_against: agent.disputesResolvedAgainst,
      dispute_window_days: agent.disputeWindowDays,
      policy: DISPUTE_POLICY,
    },
    governance: { operator: config.operatorName, jurisdiction: principal.country, enterprise: null },
  };
}

function settledVolume(config: Config, agent: AgentRow): AidContent["performance"]["settled_volume"] {
  const [network] = config.networks;
  if (!network || agent.settledVolume === 0) return [];
  return [{ currency: network.currency, amount: formatAmount(agent.settledVolume, network.decimals) }];
}

function escrowPillar(
  config: Config,
  agent: AgentRow,
  markets: readonly MarketRow[],
  escrows: readonly EscrowRow[],
): AidContent["escrow"] {
  const state = escrowStateOf(agent.economicRole, escrows);
  if (state === null) return null;
  const [network] = config.networks;
  const decimals =
    config.networks.find((known) => known.network === escrows[0]?.network)?.decimals ?? network?.decimals ?? 6;
  const sum = (pick: (escrow: EscrowRow) => number) => escrows.reduce((total, escrow) => total + pick(escrow), 0);
  return {
    liability_profile: {
      total_balance: formatAmount(
        sum((escrow) => escrow.balance),
        decimals,
      ),
      effective_threshold:
        escrows.length === 0
          ? ESCROW_BASE_THRESHOLD
          : formatAmount(
              sum((escrow) => escrow.threshold),
              decimals,
            ),
      escrow_state: state,
      currency: escrows[0]?.currency ?? network?.currency ?? "USDC",
    },
    wallets: markets
      .filter((market) => market.status === "ACTIVE" && market.escrowWallet !== null)
      .map((market) => ({
        market: market.market,
        network: market.network,
        caip2: caip2Named(config.networks, market.network),
        escrow_wallet: market.escrowWallet ?? "",
        operational_wallet: market.operationalWallet,
      })),
  };
}

/**
 * The statements that keep the served document in step with the row: signed in the transaction that changes what it
 * states. A DRAFT has a document and no proof. What the platform controls in a new version is signed and kept for good.
 */
export async function writeAid(
  db: Database,
  deps: Deps,
  source: AidSource,
  now: number,
  newVersion: boolean,
): Promise<Statement[]> {
  const content = buildAid(deps.config, source, now);
  const { did, version, revision } = content;
  const { signing } = await deps.ca();
  const served =
    source.agent.certificate === null
      ? { canonical: aidCanonical(content), proof: null }
      : await signAid(content, signing);
  const current = putAid(db, { did, version, revision, content: served.canonical, proof: served.proof, stale: false });
  if (!newVersion) return [current];
  const controlled = platformControlled(content);
  const signed = await signAid(controlled as AidContent, signing);
  return [
    current,
    insertAidVersion(db, { did, version, content: signed.canonical, proof: signed.proof, issuedAt: now }),
  ];
}

/** What the platform controls: no rating, no escrow balance, so that a version is immutable. */
function platformControlled(content: AidContent) {
  const { version, revision, did, issuer, issued_at, identity, disputes, governance } = content;
  const { dispute_window_days, policy } = disputes;
  return {
    version,
    revision,
    did,
    issuer,
    issued_at,
    identity,
    performance: {},
    escrow: null,
    disputes: { dispute_window_days, policy },
    governance,
  };
}

/** The status that counts now; never signed, always computed. */
export function liveOf(agent: ListedAgent, principal: PrincipalStanding, now: number) {
  return {
    status: effectiveAgentStatus(agent.status, effectivePrincipalStatus(principal, now)),
    environment: agent.environment as "sandbox" | "production",
    as_of: toIso(now),
  };
}

/** The served JSON, from the stored bytes: what was signed is never serialised again. */
export const serveAid = (canonical: string, proof: string | null, live?: object): string =>
  `${canonical.slice(0, -1)},"proof":${JSON.stringify(proof)}${live ? `,"live":${JSON.stringify(live)}` : ""}}`;
