// The form of AEA/P clients (PAY-18, PAY-19): answers where to pay and, given the parties and the amount, opens an intent.
import type { AgentCall } from "../call.ts";
import { findNetwork } from "../chain/networks.ts";
import { type ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import type { IntentRow } from "../db/tables/money.ts";
import { toClientRefusal } from "./eligibility.ts";
import { openIntent } from "./open.ts";
import type { Order } from "./order.ts";
import type { AddressView } from "./responses.ts";
import { type AddressQuery, findPayerFaults } from "./schema.ts";
import { toAddressView, toIntentAddressView } from "./views.ts";

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
