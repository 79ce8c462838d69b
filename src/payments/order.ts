// An order of a payment, and the faults that its schema cannot find: networks, precision of the token, parties (PAY-4, PAY-5).
import type { AgentCall } from "../call.ts";
import { findNetwork, type Network } from "../chain/networks.ts";
import type { Config } from "../context.ts";
import { type FieldError, ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { DECIMAL_MESSAGE, isDecimal, type MoneyFault, parseAmount } from "../core/money.ts";

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
