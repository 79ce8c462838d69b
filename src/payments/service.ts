// Contract section 6, Payment intent: opened by either party against the consumer's policy, read by both, ended by the cron.
import { recordEventForParties } from "../activity/store.ts";
import { environmentOf, findAncestors, findEscrows, findPublicAgent } from "../agents/store.ts";
import { type AgentCall, type Examination, examination } from "../call.ts";
import type { Network } from "../chain/gateway.ts";
import type { Config, Deps } from "../context.ts";
import { type FieldError, fieldError, ServiceError, validationError } from "../core/errors.ts";
import { newId } from "../core/ids.ts";
import { SECOND_MS } from "../core/limits.ts";
import { BASE_UNITS_MAX, type MoneyFault, parseAmount } from "../core/money.ts";
import { Conflict, commit, present, readBatch, type Statement } from "../db/batch.ts";
import { marketCode } from "../markets/jurisdictions.ts";
import { findNetwork } from "../markets/networks.ts";
import { findHeaviest } from "../ratings/store.ts";
import { asPolicyViolation, findDeal, refuseIneligible } from "./eligibility.ts";
import type { AddressQuery, AddressView, IntentInput, IntentView } from "./schema.ts";
import {
  abandonIntentStatements,
  findDueIntents,
  findIntent,
  findOffers,
  findSpenders,
  type IntentRow,
  openIntentStatements,
} from "./store.ts";
import { toAddressView, toIntentAddressView, toIntentView } from "./views.ts";

/** What is ordered; the client form names a network instead of a currency. */
type Order = {
  consumerDid: string;
  providerDid: string;
  amount: string;
  currency: string | null;
  network: string | null;
};

export async function createIntent(call: AgentCall, input: IntentInput): Promise<IntentView> {
  const order = {
    consumerDid: input.consumer_did,
    providerDid: input.provider_did,
    amount: input.amount,
    currency: input.currency,
    network: input.network ?? null,
  };
  return openIntent(call, order, (intent) => toIntentView(call.deps.config, intent, call.now));
}

/** One trip to read, the refusals in the contract's order, one trip that holds the amount and opens the intent. */
async function openIntent<V>(call: AgentCall, order: Order, show: (intent: IntentRow) => V): Promise<V> {
  const { db, now, deps } = call;
  const { consumerDid, providerDid } = order;
  const candidates = networksFor(deps.config, order);
  const found = await call.read({
    spenders: findSpenders(db, consumerDid, now),
    provider: findPublicAgent(db, providerDid),
    heaviest: findHeaviest(db, providerDid),
    providerDelegators: findAncestors(db, providerDid),
    escrows: findEscrows(db, providerDid, environmentOf(providerDid)),
    offers: findOffers(db, providerDid, consumerDid, [...new Set(candidates.map(({ currency }) => currency))]),
  });
  refuseStrangers(call, order, OWN_ORDER);
  const [consumer, ...delegators] = found.spenders;
  const { provider } = found;
  const faults = orderFaults(deps.config, order, { consumer, provider });
  if (faults.length > 0 || !consumer || !provider) throw validationError(faults);

  const { country } = consumer.principal;
  const { environment } = consumer.agent;
  const deal = findDeal(found.offers, candidates, { country, environment });
  const named = order.network === null ? null : findNetwork(deps.config.networks, order.network);
  const units = unitsOf(order.amount, deal?.network ?? candidates[0]);
  const { providerDelegators, escrows, heaviest } = found;
  const { rating } = deps.config;
  const parties = { consumer, delegators, provider, providerDelegators, escrows, heaviest, rating };
  const wanted = marketCode(country, order.currency ?? named?.currency ?? "");
  const { network, market } = refuseIneligible(parties, { units, network: named, deal }, wanted, now);
  const uncountable = found.spenders.some(
    ({ spend }) => spend.settled + spend.open - spend.expired + units > BASE_UNITS_MAX,
  );
  if (uncountable)
    throw validationError([fieldError("amount", "too_big", "The agent's total would be more than can be counted.")]);

  const intent: IntentRow = {
    intentId: newId("pin", now),
    environment,
    consumerDid,
    providerDid,
    consumerPlatformId: consumer.agent.platformId,
    providerPlatformId: provider.agent.platformId,
    openedBy: call.did,
    network: network.network,
    market,
    currency: network.currency,
    amount: units,
    status: "OPEN",
    spenders: [consumer, ...delegators].map(({ agent }) => agent.did),
    abandonRated: false,
    createdAt: now,
    expiresAt: now + deps.config.intentLifeSeconds * SECOND_MS,
  };
  const view = show(intent);
  const sellers = [provider.agent, ...providerDelegators].map(({ did, version }) => ({ did, version }));
  const standing = { did: providerDid, sellers, environment, network: network.network };
  await call.commit(openIntentStatements(db, intent, [consumer, ...delegators], standing, network.decimals, now), view);
  return view;
}

type Parties = Pick<Order, "consumerDid" | "providerDid">;
function refuseStrangers(call: AgentCall, { consumerDid, providerDid }: Parties, message?: string): void {
  if (call.did === consumerDid || call.did === providerDid) return;
  throw new ServiceError("forbidden", message === undefined ? {} : { message });
}
const OWN_ORDER = "An agent opens its own intents: it is the consumer_did or the provider_did.";

type Payable = Pick<Order, "network" | "currency">;

/** The networks that could settle the order. */
const networksFor = (config: Config, { network, currency }: Payable): Network[] =>
  config.networks.filter(
    (known) =>
      (network === null || known === findNetwork(config.networks, network)) &&
      (currency === null || known.currency === currency),
  );

type Proposed = { readonly [K in keyof Order]?: Order[K] | undefined };

/** What the schema cannot know: which networks there are, how fine their tokens, and who the parties. */
function orderFaults(config: Config, order: Proposed, found: { consumer: unknown; provider: unknown }) {
  const { consumerDid, providerDid, amount, currency = null, network = null } = order;
  const candidates = networksFor(config, { currency, network });
  const faults = networkFaults(config, { currency, network }, candidates);
  if (amount !== undefined) faults.push(...amountFaults(amount, candidates));
  if (consumerDid !== undefined && !found.consumer)
    faults.push(fieldError("consumer_did", "not_found", "No such agent."));
  if (providerDid !== undefined && !found.provider)
    faults.push(fieldError("provider_did", "not_found", "No such agent."));
  if (consumerDid !== undefined && consumerDid === providerDid) {
    faults.push(fieldError("provider_did", "invalid_value", "An agent does not pay itself."));
  }
  return faults;
}

/** Of a body that the schema finds faulty: a stranger to the pair is 403 before 422; else what is wrong with the rest. */
export function examineIntent(call: AgentCall, input: Partial<IntentInput>): Examination {
  const { consumer_did: consumerDid, provider_did: providerDid, ...rest } = input;
  const order = { ...rest, consumerDid, providerDid };
  const reads = present({
    consumer: consumerDid === undefined ? null : findPublicAgent(call.db, consumerDid),
    provider: providerDid === undefined ? null : findPublicAgent(call.db, providerDid),
  });
  return examination(reads, ({ consumer, provider }) => {
    if (consumerDid !== undefined && providerDid !== undefined)
      refuseStrangers(call, { consumerDid, providerDid }, OWN_ORDER);
    return orderFaults(call.deps.config, order, { consumer, provider });
  });
}

/** The client form: a faulty order is refused as every other refusal of an intent is; without an order it is a plain 422. */
export const examineAddress = (query: Readonly<Record<string, string>>): Examination => ({
  ...examination({}, () => []),
  ...(isOrder(query) && { told: asPolicyViolation }),
});

function networkFaults(config: Config, { network, currency }: Payable, candidates: readonly Network[]): FieldError[] {
  if (network !== null && findNetwork(config.networks, network) === null) {
    return [fieldError("network", "invalid_value", "No such network; see GET /v1/markets.")];
  }
  if (candidates.length > 0 || currency === null) return [];
  return [
    fieldError("currency", "invalid_value", "The network does not settle in this currency; see GET /v1/markets."),
  ];
}

/** Judged by the finest token that could be paid with; the chosen one's decimals are held to again. */
function amountFaults(amount: string, candidates: readonly Network[]): FieldError[] {
  const decimals = candidates.map((network) => network.decimals);
  const parsed = parseAmount(amount, Math.max(0, ...decimals));
  if (!parsed.ok)
    return candidates.length === 0 && parsed.fault === "invalid_format"
      ? []
      : [unfit(parsed.fault, Math.max(...decimals))];
  return parsed.units > 0 ? [] : [fieldError("amount", "too_small", "The amount is more than zero.")];
}

const unfit = (fault: MoneyFault, decimals: number): FieldError =>
  fieldError(
    "amount",
    fault,
    fault === "invalid_format" ? `The token has ${decimals} decimals; the amount is finer.` : undefined,
  );

function unitsOf(amount: string, network: Network | undefined): number {
  const parsed = parseAmount(amount, network?.decimals ?? 0);
  if (!parsed.ok) throw validationError([unfit(parsed.fault, network?.decimals ?? 0)]);
  return parsed.units;
}

export async function getIntent(call: AgentCall, intentId: string): Promise<IntentView> {
  const { intent } = await call.read({ intent: findIntent(call.db, intentId) });
  if (!intent) throw new ServiceError("not_found");
  refuseStrangers(call, intent);
  return toIntentView(call.deps.config, intent, call.now);
}

/** The client form (public clients, step 5): where to pay; with the parties and the amount, an intent too. */
export async function getPaymentAddress(call: AgentCall, query: AddressQuery): Promise<AddressView> {
  const { networks } = call.deps.config;
  const network = findNetwork(networks, query.network);
  if (!isOrder(query)) {
    await call.read({});
    if (!network)
      throw validationError([fieldError("network", "invalid_value", "No such network; see GET /v1/markets.")]);
    return toAddressView(network);
  }
  try {
    const order = await orderOf(call, query);
    return await openIntent(call, order, (intent) => toIntentAddressView(call.deps.config, intent));
  } catch (thrown) {
    throw asPolicyViolation(thrown);
  }
}

const ORDER = ["consumer_did", "provider_did", "amount"] as const;
const isOrder = (query: Partial<AddressQuery>): boolean => ORDER.some((name) => query[name] !== undefined);

async function orderOf(call: AgentCall, query: AddressQuery): Promise<Order> {
  const { consumer_did: consumerDid, provider_did: providerDid, amount, network } = query;
  if (consumerDid !== undefined && providerDid !== undefined && amount !== undefined) {
    return { consumerDid, providerDid, amount, currency: null, network };
  }
  await call.read({});
  const missing = ORDER.filter((name) => query[name] === undefined);
  throw validationError(missing.map((name) => fieldError(name, "required")));
}

const SWEEP_ATTEMPTS = 3;

/**
 * The cron's: ends intents that nobody paid in time, with their events, a slice in one batch. `also` adds to the batch what
 * others make of it. Returns how many.
 */
export async function abandonIntents(
  deps: Deps,
  slice: number,
  also: (intents: readonly IntentRow[]) => Promise<readonly Statement[]> = async () => [],
): Promise<number> {
  const { db, config } = deps;
  const now = deps.clock.now();
  for (let tries = 1; ; tries++) {
    const { due } = await readBatch(db, { due: findDueIntents(db, now, slice) });
    if (due.length === 0) return 0;
    const events = due.flatMap((intent) =>
      recordEventForParties(db, [intent.consumerPlatformId, intent.providerPlatformId], intent.environment, now, {
        type: "intent.abandoned",
        object: toIntentView(config, intent, now),
      }),
    );
    try {
      await commit(db, [...abandonIntentStatements(db, due), ...events, ...(await also(due))]);
      return due.length;
    } catch (thrown) {
      // One of them was settled in between: the others are read again.
      if (!(thrown instanceof Conflict) || tries === SWEEP_ATTEMPTS) throw thrown;
    }
  }
}
