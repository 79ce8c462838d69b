// Builds the five pillars of an agent's identity document from stored rows, and signs it (IDN-15 to IDN-20).
import { formatTokenUnits, type Network, requireCurrency, requireNetwork, toCaip2 } from "../chain/networks.ts";
import type { Config, Deps } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { buys } from "../core/roles.ts";
import type { Environment, EscrowState } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { AgentRow, MarketRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { pickWorstEscrowState, toShownBalance } from "../escrow/states.ts";
import { computeBaseThreshold } from "../escrow/threshold.ts";
import {
  type StoredStatus,
  toEffectiveAgentStatus,
  toEffectivePrincipalStatus,
} from "../principals/effective-status.ts";
import { type AidContent, type LiabilityProfile, signAid } from "../protocol/aid.ts";
import type { Delegation } from "../protocol/certificate.ts";
import type { SigningKey } from "../protocol/jwks.ts";
import { type AidVersionRow, insertAidVersion, storeAid } from "./store.ts";

/** The rows from which a document is built, read in one trip. */
export type AidSource = {
  readonly agent: AgentRow;
  /** The agent's certificate, a JWT; null for a DRAFT. */
  readonly certificate: string | null;
  readonly principal: PrincipalRow;
  readonly markets: readonly MarketRow[];
  readonly escrows: readonly EscrowRow[];
};

const DISPUTE_POLICY = "Seven days of pre-arbitration between the parties, then arbitration by the operator.";

export type ScopeColumns = Pick<
  AgentRow,
  | "economicRole"
  | "authorizedActions"
  | "capabilities"
  | "disputeWindowDays"
  | "maxTransactionValue"
  | "spendingLimit"
  | "minimumCounterpartyCertTier"
  | "minimumCounterpartyAr"
  | "intentsFrom"
>;

export function toScope(agent: ScopeColumns) {
  const shared = {
    authorized_actions: agent.authorizedActions,
    capabilities: agent.capabilities,
    dispute_window_days: agent.disputeWindowDays,
  };
  if (!buys(agent.economicRole)) return shared;
  return {
    ...shared,
    max_transaction_value: agent.maxTransactionValue,
    spending_limit: agent.spendingLimit,
    minimum_counterparty_cert_tier: agent.minimumCounterpartyCertTier,
    minimum_counterparty_ar: agent.minimumCounterpartyAr,
    intents_from: agent.intentsFrom,
  };
}

/** The complete chain of delegators, nearest first; null for an agent that acts under its own scope. */
export function toDelegation({ delegators }: Pick<AgentRow, "delegators">): Delegation | null {
  const [nearest] = delegators;
  return nearest === undefined ? null : { delegated_by: nearest, chain: delegators };
}

export const toAidUrl = (issuer: string, did: string): string => `${issuer}/v1/agents/${did}/aid`;

/** The codes of ACTIVE markets; a document states only these (IDN-23). */
export const listMarketCodes = (markets: readonly MarketRow[]): string[] =>
  [...new Set(markets.filter((market) => market.status === "ACTIVE").map((market) => market.market))].sort();

export function buildAid(config: Config, source: AidSource, now: number): AidContent {
  const { agent, certificate, principal, markets, escrows } = source;
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
          signed: principal.attestationSigned,
        },
      },
      endpoint_url: agent.endpointUrl,
      scope: toScope(agent),
      authorized_markets: listMarketCodes(markets),
      certificate,
      public_key_jwk: agent.publicJwk,
      delegation: toDelegation(agent),
    },
    performance: toPerformance(config, agent, now),
    escrow: buildEscrowPillar(config, agent, markets, escrows),
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

export const toPerformance = (config: Config, agent: AgentRow, now: number) => ({
  agent_rating: agent.agentRating,
  interactions: agent.ratingInteractions,
  settled_volume: toSettledVolumes(config, agent),
  as_of: toIso(now),
});

const toSettledVolumes = ({ networks }: Config, { settledVolumes }: AgentRow): { currency: string; amount: string }[] =>
  Object.entries(settledVolumes)
    .filter(([, units]) => units > 0)
    .map(([currency, units]) => ({ currency, amount: formatTokenUnits(requireCurrency(networks, currency), units) }))
    .sort((a, b) => (a.currency < b.currency ? -1 : 1));

function buildEscrowPillar(
  config: Config,
  agent: AgentRow,
  markets: readonly MarketRow[],
  escrows: readonly EscrowRow[],
): AidContent["escrow"] {
  const state = pickWorstEscrowState(agent.economicRole, escrows);
  if (state === null) return null;
  const profiles = buildLiabilityProfiles(config, agent, escrows);
  return {
    liability_profile:
      profiles.find(({ escrow_state }) => escrow_state === state) ?? buildFirstProfile(config.networks),
    liability_profiles: profiles,
    wallets: markets.flatMap(({ market, network, status, escrowWallet, operationalWallet }) =>
      status === "ACTIVE" && escrowWallet !== null
        ? [
            {
              market,
              network,
              caip2: toCaip2(requireNetwork(config.networks, network)),
              escrow_wallet: escrowWallet,
              operational_wallet: operationalWallet,
            },
          ]
        : [],
    ),
  };
}

/** One profile per currency in which the agent has escrows, in the order of the configuration: amounts of two currencies are never added (HTTP-6). */
function buildLiabilityProfiles(
  { networks }: Config,
  { economicRole }: AgentRow,
  escrows: readonly EscrowRow[],
): LiabilityProfile[] {
  const settled = escrows.map((escrow) => ({ ...escrow, on: requireNetwork(networks, escrow.network) }));
  const currencies = new Set(networks.map(({ currency }) => currency));
  return [...currencies].flatMap((currency) => {
    const own = settled.filter(({ on }) => on.currency === currency);
    const sum = (pick: (escrow: EscrowRow) => number) => own.reduce((total, escrow) => total + pick(escrow), 0);
    const state = pickWorstEscrowState(economicRole, own);
    if (own.length === 0 || state === null) return [];
    return [
      toLiabilityProfile(
        requireCurrency(networks, currency),
        sum(toShownBalance),
        sum(({ threshold }) => threshold),
        state,
      ),
    ];
  });
}

function buildFirstProfile([first]: readonly Network[]): LiabilityProfile {
  if (!first) throw new Error("no network is configured");
  return toLiabilityProfile(first, 0, computeBaseThreshold(first), "FUNDING");
}

const toLiabilityProfile = (
  currency: Pick<Network, "currency" | "decimals">,
  balance: number,
  threshold: number,
  state: EscrowState,
): LiabilityProfile => ({
  total_balance: formatTokenUnits(currency, balance),
  effective_threshold: formatTokenUnits(currency, threshold),
  escrow_state: state,
  currency: currency.currency,
});

/**
 * The statements that sign a change by the platform. The new version is signed in the change's batch and kept for good. The complete document is
 * stored too, unless another change came between: then it is stale and signed at its next read (IDN-18). A DRAFT is never signed (IDN-19).
 * `source.agent` is the agent after the change.
 */
export async function signVersion(db: Database, deps: Deps, source: AidSource, now: number): Promise<Statement[]> {
  if (source.certificate === null) return [];
  const content = buildAid(deps.config, source, now);
  const { did, revision } = content;
  const { signing } = await deps.ca();
  const [whole, version] = await Promise.all([signAid(content, signing), signPlatformContent(content, signing)]);
  return [storeAid(db, { did, revision, content: whole.canonical, proof: whole.proof }), insertAidVersion(db, version)];
}

/**
 * Signs only a version, which is kept for good; the complete document becomes stale and is signed at its next read. A version states no escrow.
 * `source.agent` is the agent after the change.
 */
export async function signVersionAlone(
  deps: Deps,
  source: Omit<AidSource, "escrows">,
  now: number,
): Promise<AidVersionRow> {
  const content = buildAid(deps.config, { ...source, escrows: [] }, now);
  return signPlatformContent(content, (await deps.ca()).signing);
}

async function signPlatformContent(content: AidContent, key: SigningKey): Promise<AidVersionRow> {
  const { did, version } = content;
  const { canonical, proof } = await signAid(pickPlatformContent(content), key);
  return { did, version, content: canonical, proof };
}

/** The content that the platform controls: without rating and escrow, so that a version is immutable. */
function pickPlatformContent(content: AidContent): AidContent {
  const { dispute_window_days, policy } = content.disputes;
  const controlled = { ...content, performance: {}, escrow: null, disputes: { dispute_window_days, policy } };
  return controlled as unknown as AidContent;
}

export function parseCertificate(content: string): string | null {
  const { identity } = JSON.parse(content) as { identity: { certificate: string | null } };
  return identity.certificate;
}

/** The effective status, which is computed at each read and never signed (IDN-20). */
export function toLiveStatus(
  agent: Pick<AgentRow, "status" | "environment">,
  principal: StoredStatus,
  now: number,
): { status: AgentRow["status"]; environment: Environment; as_of: string } {
  const status = toEffectiveAgentStatus(agent.status, toEffectivePrincipalStatus(principal, now));
  return { status, environment: agent.environment, as_of: toIso(now) };
}

/** Makes the served JSON from the stored bytes: signed content is never serialised again. */
export const serveAid = (canonical: string, proof: string | null, live?: object): string =>
  `${canonical.slice(0, -1)},"proof":${JSON.stringify(proof)}${live ? `,"live":${JSON.stringify(live)}` : ""}}`;
