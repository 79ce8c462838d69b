// Storing and reading the answers of receivers (EVT-26): deflated if that is shorter, next to the log of attempts.
import { eq } from "drizzle-orm";
import { expect, it } from "vitest";
import { webhookDeliveries } from "../../src/db/tables/webhooks.ts";
import { packAnswer } from "../../src/webhooks/post.ts";
import { deliverAll } from "../support/queue.ts";
import { expectStatus } from "../support/world.ts";
import { anEvent, asleep, deliveriesOf, endpoint, receiver, settle } from "./support.ts";

const world = await asleep();
const registered = { event_types: ["agent.registered"] };

it.each([
  ["a page", "<p>Bad gateway.</p>".repeat(40), true],
  ["many scripts", "Grüße, 世界 🌍 ".repeat(20), true],
  ["a word", "ok", false],
  ["nothing", "", false],
  ["none", null, false],
])("deflates an answer if that is shorter: %s", (_what, answer, isShorter) => {
  const { stored, deflated } = packAnswer({ at: 1, status: 200, ms: 5, error: null, answer });
  expect(stored).toMatchObject(isShorter ? { deflated: deflated?.length } : { answer });
  expect(deflated?.length ?? 0).toBeLessThan(isShorter ? Buffer.byteLength(answer ?? "") : 1);
});

it("reads the last 20 answers of a delivery as they came, and drops the oldest", async () => {
  const kinds = ["ok", "<p>Bad gateway.</p>".repeat(40), "Grüße, 世界 🌍 ".repeat(20), ""];
  const answers = Array.from({ length: 26 }, (_, n) => (n % 4 === 3 ? "" : `${n} ${kinds[n % 4]}`));
  const there = await receiver(...answers.map((body) => ({ status: 200, body })));
  const made = await endpoint(world, there.url, registered);
  await anEvent(world);
  await settle(world, made);
  const read = async () => (await deliveriesOf(world, made))[0];
  const { delivery_id } = await read();
  const shown: string[][] = [];
  for (let n = 1; n < answers.length; n++) {
    shown.push((await read()).attempts.map((one: { answer: string }) => one.answer));
    expectStatus(await world.call("POST", `/v1/webhooks/${made.webhook_id}/deliveries/${delivery_id}/redeliver`), 200);
    await deliverAll(world);
    await settle(world, made);
  }
  shown.push((await read()).attempts.map((one: { answer: string }) => one.answer));
  expect(shown).toEqual(answers.map((_, n) => answers.slice(Math.max(0, n - 19), n + 1)));
  const [row] = await world.deps.db
    .select()
    .from(webhookDeliveries)
    .where(eq(webhookDeliveries.deliveryId, delivery_id));
  const lengths = (row?.attempts ?? []).map((one) => ("deflated" in one ? one.deflated : 0));
  expect(row?.answers?.length).toBe(lengths.reduce((sum, each) => sum + each, 0));
});

it("reads answers that an earlier version packed into the attempt, also when a new one follows", async () => {
  const page = "<p>Bad gateway.</p>".repeat(40);
  const there = await receiver({ status: 200, body: page });
  const made = await endpoint(world, there.url, registered);
  await anEvent(world);
  await settle(world, made);
  const [{ delivery_id }] = await deliveriesOf(world, made);
  const { deflated } = packAnswer({ at: 1, status: 500, ms: 5, error: null, answer: `old ${page}` });
  const packed = { at: 1, status: 500, ms: 5, error: null, packed: deflated?.toString("base64") ?? "" };
  await world.deps.db
    .update(webhookDeliveries)
    .set({ attempts: [packed], answers: null })
    .where(eq(webhookDeliveries.deliveryId, delivery_id));
  expectStatus(await world.call("POST", `/v1/webhooks/${made.webhook_id}/deliveries/${delivery_id}/redeliver`), 200);
  await settle(world, made);
  const [after] = await deliveriesOf(world, made);
  expect(after.attempts.map((one: { answer: string }) => one.answer)).toEqual([`old ${page}`, page]);
});
