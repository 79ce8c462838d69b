// More limits by an account's volume (EVT-35): log entries and replays count, and acts of others with its agents do not.
import { expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import { hashNewEntries } from "../../src/journal/activity-heads.ts";
import { fanOutEvents } from "../../src/webhooks/fan-out.ts";
import { replayJob } from "../../src/webhooks/replay.ts";
import { operate } from "../accounts/review-support.ts";
import { stopped } from "../support/clock.ts";
import { createWorld, env, expectStatus, type Json, principalBody, type World } from "../support/world.ts";
import { endpoint, someEvents } from "./support.ts";

const WEBHOOKS = { idFromName: () => null, get: () => ({ wake: () => undefined }) } as never;
const LIMIT = 10;

/** An account in the middle of a day, on a clock that only `advance` moves. */
async function account(vars = {}): Promise<ReturnType<typeof stopped>> {
  const world = await createWorld({ WEBHOOKS, ...vars });
  world.advance(DAY_MS * 1.5 - (world.now() % DAY_MS));
  return stopped(world);
}
const few = { EVENTS_A_DAY: `sandbox=${LIMIT},production=1000`, EVENT_MEGABYTES_A_DAY: "sandbox=1,production=1" };
const fanOut = (world: World) => world.serve(() => fanOutEvents(world.deps));
const usageOf = async (world: World): Promise<Json> =>
  expectStatus(await operate(world, "GET", `/v1/operator/platforms/${world.platformId}/usage`), 200).sandbox;
const create = async (world: World) => (await world.call("POST", "/v1/principals", { body: principalBody() })).status;

it("counts intents that others open and cancel with its agents for those others, and its own deliveries for neither", async () => {
  const victim = await account(few);
  const provider = await victim.provider();
  await endpoint(victim, "https://hooks.example.com/in", { event_types: ["intent.abandoned"] });
  const stranger = await account();
  const consumer = await stranger.consumer();
  for (let n = 0; n < 5; n++)
    await endpoint(stranger, `https://hooks.example.com/${n}`, { event_types: ["intent.abandoned"] });
  await fanOut(victim);
  const [before, theirs] = [await usageOf(victim), await usageOf(stranger)];
  for (let n = 0; n < LIMIT; n++) {
    const { intent_id } = await stranger.intent(consumer, provider, "1.00");
    expectStatus(await stranger.as(consumer, "POST", `/v1/payment-intents/${intent_id}/cancel`), 200);
  }
  await fanOut(victim);
  const after = await usageOf(stranger);
  expect(await usageOf(victim)).toEqual(before);
  expect([after.events - theirs.events, after.deliveries - theirs.deliveries]).toEqual([2 * LIMIT, 5 * LIMIT]);
  expect(await create(victim)).toBe(201);

  // The provider's own intents count for its account.
  const body = { consumer_did: consumer.did, provider_did: provider.did, amount: "1.00", currency: "USDC" };
  const { intent_id } = expectStatus(await victim.as(provider, "POST", "/v1/payment-intents", body), 201);
  expectStatus(await stranger.as(consumer, "POST", `/v1/payment-intents/${intent_id}/cancel`), 200);
  await fanOut(victim);
  const { events, deliveries } = await usageOf(victim);
  // The other account's endpoints cost it nothing.
  expect([events - before.events, deliveries - before.deliveries]).toEqual([2, 1]);
  expect(await usageOf(stranger)).toEqual(after);
});

it("counts the bytes of entries once, when they are hashed, and reaches the quota without an event", async () => {
  const world = await account({ EVENT_MEGABYTES_A_DAY: "sandbox=1,production=1" });
  const principalId = await world.principal();
  await fanOut(world);
  const patch = (n: number) => {
    const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, k) => [`k${k}`, `${n} `.padEnd(490, "ü")]));
    return world.call("PATCH", `/v1/principals/${principalId}`, { body: { metadata } });
  };
  const hash = () => world.serve(() => hashNewEntries(world.deps, world.platformId));
  expectStatus(await patch(0), 200);
  await hash();
  const before = (await usageOf(world)).event_bytes;
  expectStatus(await patch(1), 200);
  await Promise.all([hash(), hash(), hash()]);
  const { data } = expectStatus(await world.call("GET", "/v1/platform/activity?limit=1"), 200);
  const bytes = new TextEncoder().encode(JSON.stringify(data[0])).length;
  expect((await usageOf(world)).event_bytes - before).toBe(bytes);
  let calls = 1;
  for (; calls < 100 && (await patch(calls % 2 === 1 ? 0 : 1)).status === 200; calls++) await hash();
  expect(calls).toBe(Math.ceil((1_000_000 - before) / bytes));
  expect((await usageOf(world)).used_up).toBe("event_bytes");
  expect(await create(world)).toBe(429);
});

it("lets the replay of a marked account wait for the next day", async () => {
  const world = await account();
  await someEvents(world, LIMIT);
  await fanOut(world);
  const made = await endpoint(world, "https://hooks.example.com/in");
  const since = new Date(world.now() - DAY_MS).toISOString();
  expectStatus(await world.call("POST", `/v1/webhooks/${made.webhook_id}/replay`, { body: { since } }), 200);
  const mark = { sandbox: { quota: "events", until: world.now() + DAY_MS / 2 } };
  await env.DB.prepare("update platforms set volume_marks = ? where platform_id = ?")
    .bind(JSON.stringify(mark), world.platformId)
    .run();
  const deliveries = async () => (await usageOf(world)).deliveries;
  await world.run(replayJob);
  expect(await deliveries()).toBe(0);
  // Until then it is not due, so no alert says that its job is late.
  const due = () => replayJob.find(world.deps, null, 10);
  expect(await due()).toEqual([]);
  world.advance(DAY_MS / 2);
  expect(await due()).toMatchObject([{ at: mark.sandbox.until }]);
  await world.run(replayJob);
  expect(await deliveries()).toBeGreaterThanOrEqual(LIMIT);
});
