// The refusals of a payment intent in their order, one function each (PAY-3), without I/O.
import { type Closure, computeLagSeconds, findClosure, type NetworkAvailability } from "../chain/availability.ts";
import type { Network } from "../chain/networks.ts";
import { type ErrorCode, ServiceError } from "../core/errors.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import type { AgentWithPrincipal } from "../identity/store.ts";
import { findCoveringMarkets } from "../markets/jurisdictions.ts";
import type { Offer } from "../markets/store.ts";
import {
  type StoredStatus,
  toEffectiveAgentStatus,
  toEffectivePrincipalStatus,
} from "../principals/effective-status.ts";
import type { RatingMethod } from "../ratings/method.ts";
import { computeRatingFromRow } from "../ratings/signals.ts";
import { type CheckOutcome, judgePolicy, POLICY_CHECKS, type Spender } from "./spend-policy.ts";
import type { SpenderRow } from "./spend-store.ts";

export type Parties = {
  readonly consumer: SpenderRow;
  /** Nearest first. */
  readonly delegators: readonly SpenderRow[];
  readonly provider: AgentWithPrincipal;
  /** The instant on the clock of the provider's platform, which rules its principal's attestation (ACC-9) and dates its rating (TSK-18). */
  readonly providerNow: number;
  /** The provider's own delegators, nearest first; all are of its principal. */
  readonly providerDelegators: readonly AgentRow[];
  readonly method: RatingMethod;
};

export type Deal = { readonly network: Network; readonly market: string; readonly operationalWallet: string };
export type DealRequest = {
  readonly units: number;
  /** The network whose decimals `units` has: the deal's, or the first that could settle the order. */
  readonly settling: Network;
  /** The network that the order names. */
  readonly network: Network | null;
  readonly deal: Deal | null;
};

export type Proposal = {
  readonly parties: Parties;
  readonly request: DealRequest;
  /** The market that the order needs, by its narrowest code. */
  readonly wanted: string;
  /** The standing of the deal's network. */
  readonly standing: NetworkAvailability | undefined;
};

/** The checks in the order of PAY-3. The policy's checks (PAY-8) come late, and whether the network takes intents (PAY-24) comes last. */
export const ORDER_CHECKS = [
  "environment",
  "consumer",
  "provider",
  "delegators",
  "escrow",
  "actions",
  "market",
  ...POLICY_CHECKS,
  "network",
] as const;
export type OrderCheck = (typeof ORDER_CHECKS)[number];

/** `refusal`: the answer of POST /v1/payment-intents to an order that fails this check first. `policy`: the values that a policy compared. */
export type Judgement = {
  readonly check: OrderCheck;
  readonly refusal: ServiceError | null;
  readonly policy?: CheckOutcome;
};

/** Throws the first refusal; returns the deal otherwise. */
export function refuseIneligible(proposal: Proposal, now: number): Deal {
  for (const { refusal } of judgeOrder(proposal, now)) if (refusal) throw refusal;
  const { deal } = proposal.request;
  if (!deal) throw new Error("unreachable: without a deal the market is refused");
  return deal;
}

/** Judges all checks, in the order of PAY-3. */
export function judgeOrder({ parties, request, wanted, standing }: Proposal, now: number): Judgement[] {
  const { consumer, delegators, provider, providerDelegators, providerNow } = parties;
  const buyers = [consumer, ...delegators].map(({ agent }) => agent);
  const sellers = [provider.agent, ...providerDelegators];
  return [
    judgeCheck("environment", () => refuseMixedEnvironments(consumer.agent, provider.agent)),
    judgeCheck("consumer", () => refuseInactive(consumer.agent, consumer.principal, now)),
    judgeCheck("provider", () => refuseInactive(provider.agent, provider.principal, providerNow)),
    judgeCheck("delegators", () => {
      for (const { agent, principal } of delegators) refuseInactive(agent, principal, now);
      for (const agent of providerDelegators) refuseInactive(agent, provider.principal, providerNow);
      refusePromotedDelegators(consumer.agent, buyers.slice(1));
      refusePromotedDelegators(provider.agent, providerDelegators);
    }),
    judgeCheck("escrow", () => refuseConstrained(parties, request.deal?.network ?? request.network)),
    judgeCheck("actions", () => {
      for (const agent of buyers) refuseWithoutAction(agent, "purchase");
      for (const agent of sellers) refuseWithoutAction(agent, "sell");
    }),
    judgeCheck("market", () => refuseWithoutMarket(request, wanted)),
    ...judgePolicies(parties, request),
    judgeCheck("network", () => refuseClosedNetwork(standing)),
  ];
}

function judgeCheck(check: OrderCheck, refuse: () => void): Judgement {
  try {
    refuse();
    return { check, refusal: null };
  } catch (thrown) {
    if (thrown instanceof ServiceError) return { check, refusal: thrown };
    throw thrown;
  }
}

function judgePolicies(parties: Parties, { units, settling }: DealRequest): Judgement[] {
  const { consumer, delegators, provider, providerNow, method } = parties;
  const payment = { units, currency: settling.currency, decimals: settling.decimals };
  // Floors are compared with the rating at this instant, as it is published (TSK-18).
  const counterparty = {
    certTier: provider.agent.certTier,
    rating: computeRatingFromRow(provider.agent, method, providerNow),
  };
  return judgePolicy([consumer, ...delegators].map(toSpender), counterparty, payment).map((policy) => ({
    check: policy.check,
    refusal: policy.passed ? null : toPolicyViolation(policy),
    policy,
  }));
}

function refuseWithoutMarket({ deal, network }: DealRequest, wanted: string): void {
  if (deal) return;
  const detail = { market: wanted, ...(network && { network: network.network }) };
  throw new ServiceError("market_not_authorized", { detail });
}

/**
 * Finds the network and market of the payment: the named network, or one on which the provider has a market for this buyer. If several fit, the
 * sandbox prefers a testnet and production a mainnet (MKT-3, MKT-4).
 */
export function findDeal(
  offers: readonly Offer[],
  candidates: readonly Network[],
  buyer: { country: string; environment: string },
): Deal | null {
  const kind = buyer.environment === "production" ? "mainnet" : "testnet";
  const deals = candidates.flatMap((network) => {
    const codes = findCoveringMarkets(buyer.country, network.currency);
    const onNetwork = offers.filter((offer) => offer.network === network.network);
    const offer = codes.map((code) => onNetwork.find(({ market }) => market === code)).find((one) => one !== undefined);
    return offer === undefined ? [] : [{ ...offer, network }];
  });
  return deals.find(({ network }) => network.kind === kind) ?? deals[0] ?? null;
}

export const toSpender = ({ agent, spend }: SpenderRow): Spender => ({ ...agent, spend });

function refuseMixedEnvironments(consumer: AgentRow, provider: AgentRow): void {
  if (consumer.environment === provider.environment) return;
  throw new ServiceError("environment_mismatch", {
    detail: { consumer: consumer.environment, provider: provider.environment },
  });
}

/** Refuses an agent that is not ACTIVE, by its own status or its principal's (PRN-12). The detail names which. */
function refuseInactive(agent: AgentRow, principal: StoredStatus, now: number): void {
  const principalStatus = toEffectivePrincipalStatus(principal, now);
  const status = toEffectiveAgentStatus(agent.status, principalStatus);
  if (status === "ACTIVE") return;
  throw new ServiceError("agent_not_active", {
    detail: { did: agent.did, status, ...(principalStatus !== "ACTIVE" && { principal_status: principalStatus }) },
  });
}

/** Refuses an agent whose delegator was promoted to production before it; it trades again once it follows (AGT-34). */
function refusePromotedDelegators({ environment }: AgentRow, delegators: readonly AgentRow[]): void {
  const gone = delegators.find((agent) => agent.environment !== environment);
  if (gone) throw new ServiceError("agent_not_active", { detail: { did: gone.did, environment: gone.environment } });
}

function refuseConstrained({ provider: { agent } }: Parties, network: Network | null): void {
  if (network === null || agent.escrowStates[network.network] !== "CONSTRAINED") return;
  throw new ServiceError("escrow_constrained", { detail: { did: agent.did, network: network.network } });
}

/** Refuses an agent whose live scope lacks the action. */
function refuseWithoutAction(agent: AgentRow, action: "purchase" | "sell"): void {
  if (agent.authorizedActions.includes(action)) return;
  throw new ServiceError("role_not_permitted", {
    message: `The agent's role and scope do not include ${action}.`,
    detail: { did: agent.did, economic_role: agent.economicRole, action },
  });
}

function toPolicyViolation({ check, passed: _passed, ...outcome }: CheckOutcome): ServiceError {
  return new ServiceError("spend_policy_violation", { detail: { failed_check: check, ...outcome } });
}

/** Refuses a closed network (PAY-24). Compares with real time, as everything about the chain does. */
function refuseClosedNetwork(standing: NetworkAvailability | undefined): void {
  const now = Date.now();
  const reason = standing && findClosure(standing, now);
  if (!reason) return;
  const retryAfter = RETRY_SECONDS[reason];
  throw new ServiceError("chain_unavailable", {
    message: MESSAGES[reason],
    headers: { "Retry-After": String(retryAfter) },
    detail: {
      network: standing.network,
      reason,
      ...(reason === "lag" && { lag_seconds: computeLagSeconds(standing, now) }),
      retry_after: retryAfter,
    },
  });
}

/** Seconds after which a client should try again. */
const RETRY_SECONDS: Readonly<Record<Closure, number>> = { lag: 30, paused: 60, low_gas: 60 };
const MESSAGES: Readonly<Record<Closure, string>> = {
  lag: "The network could not be read for some time: it takes no new payment intents.",
  paused: "The settlement contract is paused: its network takes no new payment intents.",
  low_gas: "The service has too little gas on the network: it takes no new payment intents.",
};

const REFUSAL_STATUSES: ReadonlySet<number> = new Set([403, 404, 409, 422, 503]);

/**
 * AEA/P clients stop only at a 403 and would pay after any other failure. So every refusal of an intent is a 403 for them, which names the code of
 * POST /v1/payment-intents (PAY-19).
 */
export function toClientRefusal(refusal: ServiceError): ServiceError {
  if (!REFUSAL_STATUSES.has(refusal.status)) return refusal;
  const named: ErrorCode = refusal.code;
  if (named === "spend_policy_violation") return refusal;
  const { detail, field_errors } = refusal.extra;
  return new ServiceError("spend_policy_violation", {
    message: field_errors ? "Some values of the order are not valid; see detail.field_errors." : refusal.message,
    detail: { ...detail, ...(field_errors && { field_errors }), failed_check: named },
  });
}
