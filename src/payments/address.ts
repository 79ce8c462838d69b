// The client form of an intent (public clients, step 5): where to pay; with the parties and the amount, an intent too.
import { type AgentCall, type Precheck, precheck } from "../call.ts";
import { findNetwork } from "../chain/networks.ts";
import { fieldError, validationError } from "../core/errors.ts";
import { asPolicyViolation } from "./eligibility.ts";
import { openIntent } from "./open.ts";
import type { Order } from "./order.ts";
import type { AddressQuery, AddressView } from "./schema.ts";
import { toAddressView, toIntentAddressView } from "./views.ts";

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

/** The client form: a faulty order is refused as every other refusal of an intent is; without an order it is a plain 422. */
export const precheckAddress = (query: Readonly<Record<string, string>>): Precheck => ({
  ...precheck({}, () => []),
  ...(isOrder(query) && { mapRefusal: asPolicyViolation }),
});
