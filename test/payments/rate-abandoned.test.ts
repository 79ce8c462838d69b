// An unpaid intent rates its own consumer, and nobody else (TSK-11).
import { beforeAll, describe, expect, it } from "vitest";
import { abandonIntents } from "../../src/payments/abandon.ts";
import { rateAbandonedIntents } from "../../src/payments/rate-abandoned.ts";
import { follow } from "../follower/support.ts";
import { payOnChain } from "../support/chain.ts";
import { type Agent, createWorld, expectStatus, type World } from "../support/world.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;

let world: World;
let provider: Agent;
let consumer: Agent;

const ratingOf = async (agent: Agent) =>
  expectStatus(await world.call("GET", `/v1/agents/${agent.did}/rating`, { key: null }), 200);

/** A purchase, so that the consumer is rated at all. */
async function purchase(): Promise<void> {
  const intent = await world.intent(consumer, provider, "10.00");
  const payment_tx = await payOnChain(consumer.did, provider.did, 10_000_000, { intentId: intent.intent_id });
  const settled = expectStatus(
    await world.as(provider, "POST", "/v1/facilitate", { intent_id: intent.intent_id, payment_tx }),
    200,
  );
  expectStatus(await world.as(consumer, "POST", `/v1/tasks/${settled.task_id}/confirm`, { outcome: "confirmed" }), 200);
}

async function sweep(): Promise<void> {
  await follow(world);
  await world.run(abandonIntents);
  await world.run(rateAbandonedIntents);
}

beforeAll(async () => {
  world = await createWorld();
  provider = await world.provider();
});

describe("an intent that its consumer opened and never paid", () => {
  it("lowers the consumer's rating once, when it can no longer be settled late, and is no interaction", async () => {
    consumer = await world.consumer();
    await purchase();
    const before = await ratingOf(consumer);
    const theirs = await ratingOf(provider);
    await world.intent(consumer, provider, "10.00");
    world.advance(6 * MINUTE);
    await sweep();
    expect((await ratingOf(consumer)).agent_rating, "within the late window").toBe(before.agent_rating);
    world.advance(DAY);
    await sweep();
    const after = await ratingOf(consumer);
    expect(after.agent_rating).toBeLessThan(before.agent_rating);
    expect(after.interactions).toBe(before.interactions);
    await sweep();
    expect((await ratingOf(consumer)).agent_rating, "swept again").toBe(after.agent_rating);
    expect((await ratingOf(provider)).interactions).toBe(theirs.interactions);
    const status = expectStatus(await world.call("GET", `/v1/agents/${consumer.did}/aid`, { key: null }), 200);
    expect(status.performance.agent_rating).toBe(after.agent_rating);
  });
});

describe("an intent that the provider opened", () => {
  it("does not rate the consumer, because another agent opened it", async () => {
    consumer = await world.consumer();
    await purchase();
    const body = { consumer_did: consumer.did, provider_did: provider.did, amount: "10.00", currency: "USDC" };
    expectStatus(await world.as(provider, "POST", "/v1/payment-intents", body), 201);
    world.advance(6 * MINUTE);
    await sweep();
    const before = await ratingOf(consumer);
    world.advance(DAY);
    await sweep();
    const after = await ratingOf(consumer);
    // A day's decay alone moves two decimals by at most one.
    expect(before.agent_rating - after.agent_rating).toBeLessThanOrEqual(0.01);
  });
});
