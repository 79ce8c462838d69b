// An unpaid intent rates only the consumer that opened it (TSK-11).
import { beforeAll, describe, expect, it } from "vitest";
import { abandonIntents } from "../../src/payments/abandon.ts";
import { rateAbandonedIntents } from "../../src/payments/rate.ts";
import { follow } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { payOnChain } from "../support/chain.ts";
import { type Agent, createWorld, expectStatus, type World } from "../support/world.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;

let world: World;
let provider: Agent;
let consumer: Agent;

const ratingOf = async (agent: Agent) =>
  expectStatus(await world.call("GET", `/v1/agents/${agent.did}/rating`, { key: null }), 200);

/** The principals under which an agent is rated. */
const underOf = async ({ did }: Agent) =>
  (await rows("select counterparty_principal_id as id from rating_counterparties where did = ?", did)).map(
    ({ id }) => id,
  );

/** Makes a purchase, so that the consumer is rated at all. */
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
  it("lowers the consumer's rating once, when it can no longer be settled late, and does not count as an interaction", async () => {
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

describe("a transfer after an intent was opened", () => {
  it.each(["consumer", "provider"] as const)("of the %s does not spare the consumer", async (side) => {
    const pair = { consumer: await world.consumer(), provider: await world.provider() };
    await world.intent(pair.consumer, pair.provider, "10.00");
    world.advance(6 * MINUTE);
    await sweep();
    const other = side === "consumer" ? pair.provider : pair.consumer;
    const body = { principal_id: other.principalId };
    expectStatus(await world.call("POST", `/v1/agents/${pair[side].did}/transfer`, { body }), 200);
    world.advance(DAY);
    await sweep();
    expect(await underOf(pair.consumer)).toEqual([pair.provider.principalId]);
  });

  it("from a shared principal does not rate the consumer", async () => {
    const principal_id = await world.principal();
    const [left, shop] = [await world.consumer({ principal_id }), await world.provider({ principal_id })];
    await world.intent(left, shop, "10.00");
    const body = { principal_id: await world.principal() };
    expectStatus(await world.call("POST", `/v1/agents/${left.did}/transfer`, { body }), 200);
    world.advance(DAY + 6 * MINUTE);
    await sweep();
    expect(await underOf(left)).toEqual([]);
  });
});

describe("a promotion after an intent was opened", () => {
  it("spares its consumer: an agent in production is not rated for intents that it left in the sandbox", async () => {
    const left = await world.consumer();
    const { intent_id } = await world.intent(left, provider, "10.00");
    world.advance(6 * MINUTE);
    await sweep();
    await rows("update agents set environment = 'production' where did = ?", left.did);
    world.advance(DAY);
    await sweep();
    expect(await underOf(left)).toEqual([]);
    expect(await rows("select abandon_rated from payment_intents where intent_id = ?", intent_id)).toEqual([
      { abandon_rated: 1 },
    ]);
  });
});

describe("an intent that the provider opened", () => {
  it("does not rate the consumer", async () => {
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
    // A day's decay alone changes the rounded rating by at most one hundredth.
    expect(before.agent_rating - after.agent_rating).toBeLessThanOrEqual(0.01);
  });
});
