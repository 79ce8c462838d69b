// Purchases between two agents of one platform, for the walks over other tenants' objects.
import { must } from "../consequences/plays/stage.ts";
import { payOnChain } from "../support/chain.ts";
import type { Agent } from "../support/world.ts";
import { newConsumer, newProvider, type Side } from "./tenancy-makers.ts";

/** A purchase whose task is open, and one that is paid and not facilitated. */
export type Purchases = {
  readonly consumer: Agent;
  readonly provider: Agent;
  readonly task: string;
  readonly intent: string;
  /** An unpaid intent. */
  readonly open: string;
  readonly tx: string;
  /** A settlement that is not disputed, and disputes of others, each with an offer. */
  readonly settled: string;
  readonly disputes: readonly string[];
};

/** One for each act that ends or moves a dispute. */
export const DISPUTED = 4;

export async function purchases(side: Side): Promise<Purchases> {
  const { world, network } = side;
  const [consumer, provider] = [await newConsumer(side), await newProvider(side)];
  const paid = async (amount: string) => {
    const { intent_id, amount_base_units } = await world.intent(consumer, provider, amount, { network });
    const options = { network, intentId: intent_id };
    return { intent_id, payment_tx: await payOnChain(consumer.did, provider.did, Number(amount_base_units), options) };
  };
  const { task_id } = await must(200, world.as(provider, "POST", "/v1/facilitate", await paid("10.00")));
  const { intent_id, payment_tx } = await paid("7.00");
  const settle = async (amount: string): Promise<string> =>
    (await must(200, world.as(provider, "POST", "/v1/facilitate", await paid(amount)))).transaction_id;
  const settled = await settle("3.00");
  const disputes: string[] = [];
  for (let n = 0; n < DISPUTED; n++) {
    const body = { transaction_id: await settle(`1.0${n}`), reason: "other", disputed_amount: "0.01" };
    const { dispute_id } = await must(201, world.as(consumer, "POST", "/v1/disputes", body));
    const offer = { message: "Some of it.", offer_amount: "0.01" };
    await must(200, world.as(provider, "POST", `/v1/disputes/${dispute_id}/respond`, offer));
    disputes.push(dispute_id);
  }
  const open = await world.intent(consumer, provider, "1.00", { network });
  return {
    consumer,
    provider,
    task: task_id,
    intent: intent_id,
    open: open.intent_id,
    tx: payment_tx,
    settled,
    disputes,
  };
}
