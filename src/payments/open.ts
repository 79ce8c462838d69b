// Opens a payment intent for either party against the consumer's policy (PAY-1 to PAY-12), also in the form of AEA/P clients (PAY-18, PAY-19).
import { type AgentCall, type Precheck, precheck } from "../call.ts";
import { type NetworkAvailability, shouldTriggerFollower } from "../chain/availability.ts";
import { recordFollowerTriggered } from "../chain/availability-store.ts";
import { encodeStoredHash, hashDid, hashIntent, hashTerms, namesNoPayer } from "../chain/hashes.ts";
import { findNetwork } from "../chain/networks.ts";
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import { PROVIDER_INTENTS_MAX, SECOND_MS } from "../core/limits.ts";
import { BASE_UNITS_MAX } from "../core/text.ts";
import { commit, dropAbsentReads, type Statement } from "../db/batch.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import type { IntentRow } from "../db/tables/money.ts";
import { findPublicAgent } from "../identity/store.ts";
import { insertIntent } from "../intents/store.ts";
import { type Deal, type Proposal, refuseIneligible, toClientRefusal } from "./eligibility.ts";
import { countOpenedByProvider, holdAmount } from "./hold-store.ts";
import {
  buildProposalReads,
  consumersClock,
  findCandidateNetworks,
  findOrderFaults,
  type Order,
  OWN_ORDER_MESSAGE,
  refuseStrangers,
  toProposal,
} from "./order.ts";
import { toAddressView, toIntentAddressView, toIntentView } from "./read.ts";
import type { AddressView, IntentView } from "./responses.ts";
import { type AddressQuery, findPayerFaults, type IntentInput } from "./schema.ts";
import type { SpenderRow } from "./spend-store.ts";

export async function createIntent(call: AgentCall, input: IntentInput): Promise<IntentView> {
  const order = {
    consumerDid: input.consumer_did,
    providerDid: input.provider_did,
    amount: input.amount,
    currency: input.currency,
    network: input.network ?? null,
  };
  const show = (intent: IntentRow) => toIntentView(call.deps.config, intent, call.now);
  return openIntent(call, order, show, input.payer?.toLowerCase() ?? null);
}

/**
 * Reads in one trip, refuses in the order of PAY-3, and holds the amount and opens the intent in a second trip. `payer`: the one address that may pay
 * the intent, in lower case.
 */
export async function openIntent<V>(
  call: AgentCall,
  order: Order,
  show: (intent: IntentRow) => V,
  payer: string | null = null,
): Promise<V> {
  const { db, now, deps } = call;
  const { consumerDid, providerDid } = order;
  const candidates = findCandidateNetworks(deps.config, order);
  const opened = countOpenedByProvider(db, providerDid, consumerDid, now);
  const found = await call.read({ ...buildProposalReads(call, order, candidates), opened }, consumersClock);
  refuseStrangers(call, order, OWN_ORDER_MESSAGE);
  const proposal = toProposal(call, order, candidates, found);
  const { parties, request } = proposal;
  refuseProvidersShare(call, found.spenders, found.opened);
  const follower = prepareFollower(call, proposal.standing);
  const { network, market, operationalWallet } = requireDeal(call, proposal, follower);
  const { units } = request;
  refuseProvidersWallet(payer, parties.provider.agent);
  refuseUncountable(found.spenders, units);

  const { consumer, delegators, provider, providerNow, providerDelegators } = parties;
  const { environment } = consumer.agent;
  const intentId = drawIntentId(payer, now);
  const intent: IntentRow = {
    intentId,
    intentHash: encodeStoredHash(hashIntent(intentId, payer)),
    payer,
    environment,
    consumerDid,
    providerDid,
    consumerPlatformId: consumer.agent.platformId,
    providerPlatformId: provider.agent.platformId,
    consumerPrincipalId: consumer.agent.principalId,
    providerPrincipalId: provider.agent.principalId,
    openedBy: call.did,
    network: network.network,
    market,
    currency: network.currency,
    amount: units,
    operationalWallet,
    status: "OPEN",
    terms: hashTerms(network.network, hashDid(providerDid), hashDid(consumerDid), BigInt(units)),
    ...UNPAID_COLUMNS,
    spenders: [consumer, ...delegators].map(({ agent }) => agent.did),
    abandonRated: false,
    createdAt: now,
    expiresAt: now + deps.config.intentLifeSeconds * SECOND_MS,
  };
  const view = show(intent);
  const sellers = [provider.agent, ...providerDelegators].map(({ did, version }) => ({
    did,
    version,
    now: providerNow,
  }));
  const holds = holdAmount(db, intent, [consumer, ...delegators], sellers, { decimals: network.decimals, clock: call });
  await call.commit([...holds, insertIntent(db, intent), ...follower.notes], view);
  follower.send();
  return view;
}

/** Even a refused call sends a late follower, so that a closed network is read again sooner. */
function requireDeal(call: AgentCall, proposal: Proposal, follower: FollowerSending): Deal {
  try {
    return refuseIneligible(proposal, call.now);
  } catch (refusal) {
    sendFollowerOutsideBatch(call, follower);
    throw refusal;
  }
}

/** `notes` belong in the call's own batch; `send` runs after it. */
type FollowerSending = { readonly notes: readonly Statement[]; readonly send: () => void };

const NO_SENDING: FollowerSending = { notes: [], send: () => undefined };

/** Sends a late follower. The notes keep the calls right after this one from sending it again. */
function prepareFollower(call: AgentCall, standing: NetworkAvailability | undefined): FollowerSending {
  const now = Date.now();
  if (!standing || !shouldTriggerFollower(standing, now)) return NO_SENDING;
  const { network } = standing;
  const { CHAIN_QUEUE } = call.deps.env;
  // If the message is lost, the minute's job follows the network anyway.
  const send = () => call.background(CHAIN_QUEUE.send({ kind: "follow_chain", network }).catch(() => undefined));
  return { notes: [recordFollowerTriggered(call.db, network, now)], send };
}

/** Sends the follower from a refused call, which has no batch of its own. */
const sendFollowerOutsideBatch = (call: AgentCall, { notes, send }: FollowerSending): void => {
  if (notes.length > 0) call.background(commit(call.db, notes).then(send, () => undefined));
};

/** Draws an id whose hash has its highest bit clear: a set bit means that the hash commits to a payer (PAY-25). */
function drawIntentId(payer: string | null, now: number): string {
  for (;;) {
    const intentId = createId("pin", now);
    if (payer !== null || namesNoPayer(intentId)) return intentId;
  }
}

/** A payment by the named payer always counts, so the payer must not be a wallet of the provider (FAC-22). */
function refuseProvidersWallet(payer: string | null, { wallets }: Pick<AgentRow, "wallets">): void {
  if (!wallets.some(([wallet]) => wallet === payer)) return;
  throw toValidationError([toFieldError("payer", "invalid_value", "Must not be a wallet of the provider.")]);
}

/** The columns of an intent that has no payment, settlement or cancellation yet. */
export const UNPAID_COLUMNS = {
  paymentTx: null,
  paymentLog: null,
  paymentBlock: null,
  paidAt: null,
  lostTx: null,
  lostLog: null,
  lostUntil: null,
  sentBy: null,
  sentNonce: null,
  spentAt: null,
  transactionId: null,
  taskId: null,
  cancelledAt: null,
} as const;

function refuseUncountable(spenders: readonly SpenderRow[], units: number): void {
  const counts = ({ spend }: SpenderRow) => spend.settled + spend.open - spend.expired + units <= BASE_UNITS_MAX;
  if (spenders.every(counts)) return;
  throw toValidationError([
    toFieldError("amount", "too_big", "The agent's total would exceed the largest amount that can be counted."),
  ]);
}

/** Bounds a provider's own intents, because each holds a part of the windows of the consumer and its delegators (PAY-6). */
function refuseProvidersShare(
  call: AgentCall,
  spenders: readonly { readonly agent: AgentRow }[],
  opened: number,
): void {
  if (call.did === spenders[0]?.agent.did) return;
  if (spenders.some(({ agent }) => agent.intentsFrom === "self")) {
    const message = "Only the consumer can open its intents.";
    throw new ServiceError("forbidden", { message, detail: { intents_from: "self" } });
  }
  if (opened >= PROVIDER_INTENTS_MAX) {
    const message = `A provider can have at most ${PROVIDER_INTENTS_MAX} intents of its own open for one consumer.`;
    throw new ServiceError("invalid_status", { message, detail: { open: opened, limit: PROVIDER_INTENTS_MAX } });
  }
}

/** Refuses a stranger (403) before 422, and finds the further faults of a body that the schema refuses. */
export function precheckIntent(call: AgentCall, input: Partial<IntentInput>): Precheck {
  const { consumer_did: consumerDid, provider_did: providerDid, ...rest } = input;
  const order = { ...rest, consumerDid, providerDid };
  const reads = dropAbsentReads({
    consumer: consumerDid === undefined ? null : findPublicAgent(call.db, consumerDid),
    provider: providerDid === undefined ? null : findPublicAgent(call.db, providerDid),
  });
  return precheck(reads, ({ consumer, provider }) => {
    if (consumerDid !== undefined && providerDid !== undefined)
      refuseStrangers(call, { consumerDid, providerDid }, OWN_ORDER_MESSAGE);
    return findOrderFaults(call.deps.config, order, { consumer, provider });
  });
}

// ---- The form of AEA/P clients ---------------------------------------------------------------------------------------------

/** Answers where to pay and, given the parties and the amount, opens an intent. */
export async function getPaymentAddress(call: AgentCall, query: AddressQuery): Promise<AddressView> {
  const { networks } = call.deps.config;
  const network = findNetwork(networks, query.network);
  if (!isOrder(query)) {
    await call.read({});
    if (!network)
      throw toValidationError([toFieldError("network", "invalid_value", "No such network; see GET /v1/markets.")]);
    return toAddressView(network);
  }
  const order = await readOrder(call, query);
  const faults = findPayerFaults(query);
  if (faults.length > 0) {
    await call.read({});
    throw toValidationError(faults);
  }
  const show = (intent: IntentRow) => toIntentAddressView(call.deps.config, intent);
  return openIntent(call, order, show, query.payer?.toLowerCase() ?? null);
}

const REQUIRED_ORDER_FIELDS = ["consumer_did", "provider_did", "amount"] as const;
/** A query with a payer is an order too. */
const ORDER_FIELDS = [...REQUIRED_ORDER_FIELDS, "payer"] as const;
const isOrder = (query: Partial<AddressQuery>): boolean => ORDER_FIELDS.some((name) => query[name] !== undefined);

/** Faults of a query without an order stay a plain 422. */
export const mapAddressRefusal = (refusal: ServiceError, query: URLSearchParams): ServiceError =>
  ORDER_FIELDS.some((name) => query.has(name)) ? toClientRefusal(refusal) : refusal;

async function readOrder(call: AgentCall, query: AddressQuery): Promise<Order> {
  const { consumer_did: consumerDid, provider_did: providerDid, amount, network } = query;
  if (consumerDid !== undefined && providerDid !== undefined && amount !== undefined) {
    return { consumerDid, providerDid, amount, currency: null, network };
  }
  await call.read({});
  const missing = REQUIRED_ORDER_FIELDS.filter((name) => query[name] === undefined);
  throw toValidationError(missing.map((name) => toFieldError(name, "required")));
}
