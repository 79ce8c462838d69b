// An order with the facts that it is judged by (PAY-3), read in one trip: for opening an intent and for the dry run (PAY-20).

import { findAvailabilities } from "../chain/availability-store.ts";
import { findNetwork, type Network } from "../chain/networks.ts";
import type { Deps } from "../context.ts";
import { ServiceError, toValidationError } from "../core/errors.ts";
import type { Database, ReadResults } from "../db/batch.ts";
import { findAncestors, findTimedAgent } from "../identity/store.ts";
import { formatMarketCode } from "../markets/jurisdictions.ts";
import { findOffers } from "../markets/store.ts";
import { pickRatingMethod } from "../ratings/method.ts";
import { findDeal, type Proposal } from "./eligibility.ts";
import { findOrderFaults, type Order, toUnits } from "./order.ts";
import { findSpenders } from "./spend-store.ts";

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
