// A payment that is older than its intent by more than the tolerated difference of clocks does not settle it, in any form (PAY-15). Otherwise a payer
// who pays first and opens the intent later would escape its end.
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { paymentIntents } from "../../src/db/tables/money.ts";
import { payOnChain, rpc } from "../support/chain.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { asClient, asConsumer, asProvider, type Paid, pairOf, refused } from "./support.ts";

const SKEW_MS = 30_000;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

/** Pays first; the intent is opened `later` milliseconds after the payment's block. */
async function paidBefore(later: number): Promise<Paid> {
  const pair = await pairOf(world);
  const tx = await payOnChain(pair.consumer.did, pair.provider.did, 10_000_000);
  const { blockNumber } = await rpc<Json>("base-sepolia", "eth_getTransactionReceipt", [tx]);
  const { timestamp } = await rpc<Json>("base-sepolia", "eth_getBlockByNumber", [blockNumber, false]);
  const intent = await world.intent(pair.consumer, pair.provider, "10.00");
  const createdAt = Number(timestamp) * 1_000 + later;
  await world.deps.db.update(paymentIntents).set({ createdAt }).where(eq(paymentIntents.intentId, intent.intent_id));
  return { ...pair, intent, tx };
}

const FORMS = [
  ["the consumer's proof", asConsumer, "mined_before_intent"],
  ["the provider itself", asProvider, "mined_before_intent"],
  ["the client form", asClient, "no_matching_intent"],
] as const;

describe.each(FORMS)("a payment before its intent, by %s", (_, facilitate, failed_check) => {
  it("settles nothing if it is older than the tolerated difference", async () => {
    const purchase = await paidBefore(SKEW_MS + 1);
    const dids = [purchase.provider.did, purchase.consumer.did];
    const act = () => facilitate(world, purchase);
    const { detail } = await refused(world, dids, act, 409, "settlement_verification_failed");
    expect(detail).toEqual({ failed_check });
  });

  it("settles it within the tolerated difference", async () => {
    const purchase = await paidBefore(SKEW_MS);
    expect(expectStatus(await facilitate(world, purchase), 200).intent_id).toBe(purchase.intent.intent_id);
  });
});
