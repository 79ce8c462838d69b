// Purchases and disputes of one side of a walk over other tenants' objects.
import { must } from "../journal/plays/stage.ts";
import { payOnChain } from "../support/chain.ts";
import { newConsumer, newProvider, type Side } from "./tenancy-support.ts";

const pairOf = async (side: Side) => ({ consumer: await newConsumer(side), provider: await newProvider(side) });
/** One for each side: a market takes a transaction. */
const pairs = new Map<Side, ReturnType<typeof pairOf>>();
function traders(side: Side): ReturnType<typeof pairOf> {
  const known = pairs.get(side) ?? pairOf(side);
  pairs.set(side, known);
  return known;
}

/** A purchase of which a little is disputed, so that the vault covers it, and the provider has made an offer. */
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
