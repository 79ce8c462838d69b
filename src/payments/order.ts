// An order of a payment, and the faults that its schema cannot find: networks, precision of the token, parties (PAY-4, PAY-5).
import type { AgentCall } from "../call.ts";
import { findAvailabilities } from "../chain/availability-store.ts";
import { findNetwork, type Network } from "../chain/networks.ts";
import type { Config, Deps } from "../context.ts";
import { type FieldError, ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { DECIMAL_MESSAGE, isDecimal, type MoneyFault, parseAmount } from "../core/text.ts";
import type { Database, ReadResults } from "../db/batch.ts";
import { findAncestors, findTimedAgent } from "../identity/store.ts";
import { formatMarketCode } from "../markets/jurisdictions.ts";
import { findOffers } from "../markets/store.ts";
import { pickRatingMethod } from "../ratings/method.ts";
import { findDeal, type Proposal } from "./eligibility.ts";
import { findSpenders } from "./spend-store.ts";

/** An order; the form of AEA/P clients names a network instead of a currency. */
export type Order = {
  consumerDid: string;
  providerDid: string;
  amount: string;
  currency: string | null;
  network: string | null;
};

type Parties = Pick<Order, "consumerDid" | "providerDid">;
export function refuseStrangers(call: AgentCall, { consumerDid, providerDid }: Parties, message?: string): void {
  if (call.did === consumerDid || call.did === providerDid) return;
  throw new ServiceError("forbidden", message === undefined ? {} : { message });
}
export const OWN_ORDER_MESSAGE = "An agent can open only its own intents, as the consumer_did or the provider_did.";

type NetworkChoice = Pick<Order, "network" | "currency">;

/** The networks that could settle the order. */
export const findCandidateNetworks = (config: Config, { network, currency }: NetworkChoice): Network[] =>
  config.networks.filter(
    (known) =>
      (network === null || known === findNetwork(config.networks, network)) &&
      (currency === null || known.currency === currency),
  );

type PartialOrder = { readonly [K in keyof Order]?: Order[K] | undefined };

export function findOrderFaults(config: Config, order: PartialOrder, found: { consumer: unknown; provider: unknown }) {
  const { consumerDid, providerDid, amount, currency = null, network = null } = order;
  const candidates = findCandidateNetworks(config, { currency, network });
  const faults = findNetworkFaults(config, { currency, network }, candidates);
  if (amount !== undefined) faults.push(...findAmountFaults(amount, candidates));
  if (consumerDid !== undefined && !found.consumer)
    faults.push(toFieldError("consumer_did", "not_found", "No such agent."));
  if (providerDid !== undefined && !found.provider)
    faults.push(toFieldError("provider_did", "not_found", "No such agent."));
  if (consumerDid !== undefined && consumerDid === providerDid) {
    faults.push(toFieldError("provider_did", "invalid_value", "Must not be the consumer."));
  }
  return faults;
}

function findNetworkFaults(
  config: Config,
  { network, currency }: NetworkChoice,
  candidates: readonly Network[],
): FieldError[] {
  if (network !== null && findNetwork(config.networks, network) === null) {
    return [toFieldError("network", "invalid_value", "No such network; see GET /v1/markets.")];
  }
  if (candidates.length > 0 || currency === null) return [];
  return [
    toFieldError("currency", "invalid_value", "The network does not settle in this currency; see GET /v1/markets."),
  ];
}

/** Judges the amount by the finest candidate token; `toUnits` judges it again by the token of the chosen network. */
function findAmountFaults(amount: string, candidates: readonly Network[]): FieldError[] {
  const decimals = candidates.map((network) => network.decimals);
  const parsed = parseAmount(amount, Math.max(0, ...decimals));
  if (!parsed.ok)
    return candidates.length === 0 && parsed.fault === "invalid_format"
      ? []
      : [toAmountFault(parsed.fault, amount, Math.max(...decimals))];
  return parsed.units > 0 ? [] : [toFieldError("amount", "too_small", "Must be more than zero.")];
}

function toAmountFault(fault: MoneyFault, amount: string, decimals: number): FieldError {
  if (fault !== "invalid_format") return toFieldError("amount", fault);
  const message = isDecimal(amount) ? `Must have at most ${decimals} decimals, as the token has.` : DECIMAL_MESSAGE;
  return toFieldError("amount", fault, message);
}

export function toUnits(amount: string, { decimals }: Network): number {
  const parsed = parseAmount(amount, decimals);
  if (!parsed.ok) throw toValidationError([toAmountFault(parsed.fault, amount, decimals)]);
  return parsed.units;
}

// ---- Proposals ----------------------------------------------------------------------------------------------------------

// An order with the facts that it is judged by (PAY-3), read in one trip: for opening an intent and for the dry run (PAY-20).

type Call = { readonly db: Database; readonly now: number; readonly ahead: number; readonly deps: Deps };

export const buildProposalReads = ({ db, now, ahead }: Call, order: Order, candidates: readonly Network[]) => {
  const { consumerDid, providerDid } = order;
  return {
    spenders: findSpenders(db, consumerDid, chooseCurrency(order, candidates), { now, ahead }),
    provider: findTimedAgent(db, providerDid),
    providerDelegators: findAncestors(db, providerDid),
    offers: findOffers(db, providerDid, consumerDid, [...new Set(candidates.map(({ currency }) => currency))]),
    standings: findAvailabilities(
      db,
      candidates.map(({ network }) => network),
    ),
  };
};
type Found = ReadResults<ReturnType<typeof buildProposalReads>>;

/** All candidates settle in the order's currency, or are the one network that it names. Without a candidate the order is refused. */
export const chooseCurrency = ({ currency }: Order, [candidate]: readonly Network[]): string =>
  currency ?? candidate?.currency ?? "";

/** The clock of the consumer's platform rules an intent. */
export const consumersClock = { clock: ({ spenders }: Pick<Found, "spenders">) => spenders[0]?.clockOffsetMs };

/** Throws the faults of the order that only these reads can show. */
export function toProposal(
  { deps, now }: Call,
  order: Order,
  candidates: readonly Network[],
  { spenders, provider, providerDelegators, offers, standings }: Found,
): Proposal {
  const [consumer, ...delegators] = spenders;
  const faults = findOrderFaults(deps.config, order, { consumer, provider });
  if (faults.length > 0 || !consumer || !provider) throw toValidationError(faults);
  const { country } = consumer.principal;
  const { environment } = consumer.agent;
  const deal = findDeal(offers, candidates, { country, environment });
  const named = order.network === null ? null : findNetwork(deps.config.networks, order.network);
  const wanted = formatMarketCode(country, order.currency ?? named?.currency ?? "");
  const settling = deal?.network ?? candidates[0];
  if (!settling) throw new ServiceError("market_not_authorized", { detail: { market: wanted } });
  const providerNow = environment === "sandbox" ? now - consumer.clockOffsetMs + provider.clockOffsetMs : now;
  const method = pickRatingMethod(deps.env, environment);
  return {
    parties: { consumer, delegators, provider, providerNow, providerDelegators, method },
    request: { units: toUnits(order.amount, settling), settling, network: named, deal },
    wanted,
    standing: standings.find(({ network }) => network === deal?.network.network),
  };
}
