// The sides of a walk over other tenants' objects, and the objects that a side makes for it.
import type { Environment } from "../../src/core/vocabulary.ts";
import { must } from "../consequences/plays/stage.ts";
import { payOnChain } from "../support/chain.ts";
import { type Json, principalBody, type World } from "../support/world.ts";
import { attestedBody } from "../verifiers/support.ts";

/** A platform in one environment: the shortcuts of `world` call with its key. */
export type Side = {
  readonly world: World;
  readonly environment: Environment;
  readonly network: string;
  readonly session: string;
  readonly verifierId: string;
};
export type Platform = Readonly<Record<Environment, Side>>;

const made = new WeakMap<Side, Map<string, Promise<unknown>>>();
/** Makes an object of this name once for each side. */
export function onceFor<T>(side: Side, name: string, make: (side: Side) => Promise<T>): Promise<T> {
  const known = made.get(side) ?? new Map<string, Promise<unknown>>();
  made.set(side, known);
  const object = known.get(name) ?? make(side);
  known.set(name, object);
  return object as Promise<T>;
}

/** The body of a registration that its environment accepts. */
export const personOf = ({ environment, verifierId }: Side) =>
  environment === "production" ? attestedBody(verifierId, { tier: "TIER_3" }) : principalBody();
export const newPrincipal = (side: Side, overrides = {}): Promise<string> =>
  side.world.principal({ ...personOf(side), ...overrides });
export const newCustomer = async ({ world }: Side): Promise<string> =>
  (await must(201, world.call("POST", "/v1/customers", { body: { name: "Client" } }))).customer_id;
export async function newestEntry(side: Side): Promise<string> {
  await newCustomer(side);
  return (await must(200, side.world.call("GET", "/v1/platform/activity?limit=1"))).data[0].id;
}
export const ofNew = async (side: Side) => ({ principal_id: await newPrincipal(side) });

export const newConsumer = async (side: Side) => side.world.consumer(await ofNew(side));
export const newProvider = async (side: Side) => side.world.provider(await ofNew(side), "GLOBAL-USDC", side.network);
export async function newEvent(side: Side): Promise<string> {
  await newConsumer(side);
  return (await must(200, side.world.call("GET", "/v1/events?limit=1"))).data[0].id;
}

// ---- Purchases and disputes ------------------------------------------------------------------------------------------------

const pairOf = async (side: Side) => ({ consumer: await newConsumer(side), provider: await newProvider(side) });
/** Shared, because a market takes a transaction. */
const traders = (side: Side) => onceFor(side, "traders", pairOf);

/** A purchase with a small disputed amount, which the vault covers, and an offer by the provider. */
export async function newPurchase(side: Side) {
  const { world, network } = side;
  const { consumer, provider } = await traders(side);
  const { intent_id, amount_base_units } = await world.intent(consumer, provider, "1.00", { network });
  const options = { network, intentId: intent_id };
  const payment_tx = await payOnChain(consumer.did, provider.did, Number(amount_base_units), options);
  const { transaction_id } = await must(200, world.as(consumer, "POST", "/v1/facilitate", { intent_id, payment_tx }));
  const body = { transaction_id, reason: "other", disputed_amount: "0.01" };
  const { dispute_id } = await must(201, world.call("POST", "/v1/disputes", { body }));
  const offer = { message: "Some of it.", offer_amount: "0.01" };
  await must(200, world.call("POST", `/v1/disputes/${dispute_id}/respond`, { body: offer }));
  return { consumer, dispute_id };
}
export const newDispute = async (side: Side): Promise<string> => (await newPurchase(side)).dispute_id;

// ---- Webhooks ----------------------------------------------------------------------------------------------------------------

/** Selects no event that happens by itself: only calls queue deliveries for it. */
export const newWebhook = async ({ world }: Side): Promise<string> => {
  const body = { url: "https://hooks.example.com/in", event_types: ["webhook.test"] };
  return (await must(201, world.call("POST", "/v1/webhooks", { body }))).webhook_id;
};
export const newDelivery = ({ world }: Side, webhookId: string): Promise<Json> =>
  must(200, world.call("POST", `/v1/webhooks/${webhookId}/test`));

/** A webhook whose deliveries are filtered. */
export const webhookOf = (side: Side): Promise<string> => onceFor(side, "webhook", newWebhook);
