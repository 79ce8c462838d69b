// The isolate dies at each step between a change and its deliveries (EVT-24, EVT-25, EVT-31), and all messages of all queues are lost. The minute
// trigger then finishes the work: each event reaches the endpoint with one id and one body, and twice only if the answer was not recorded.
import { expect, test } from "vitest";
import { SUBSCRIBERS } from "../../src/cron.ts";
import { managementKeys } from "../../src/db/tables/accounts.ts";
import { webhookEndpoints } from "../../src/db/tables/webhooks.ts";
import { handOnJob, listNewEvents } from "../../src/jobs/tend.ts";
import { deliverNewEvents } from "../../src/journal/events.ts";
import { LEASE_MS } from "../../src/webhooks/deliver.ts";
import { fanOutEvents } from "../../src/webhooks/fan-out.ts";
import { replayJob } from "../../src/webhooks/replay.ts";
import { sweepWebhooks } from "../../src/webhooks/sweep.ts";
import { type Cut, killAtEveryStep } from "../support/cuts.ts";
import { agentBody, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { deliveriesOf, endpoint, eventIdsOf, receiver, settle, someEvents, work } from "./support.ts";

/** Endpoints that were woken and have not worked since. The test plays their objects. */
const woken = new Set<string>();
const wake = async (webhookId: string) => void woken.add(webhookId);
const WEBHOOKS = { idFromName: () => null, get: () => ({ wake }) } as never;
const registered = { event_types: ["agent.registered"] };

/** Recovers a minute later, when the leases of the dead isolate are over. */
async function recover(world: World): Promise<void> {
  world.sent.splice(0);
  woken.clear();
  world.advance(LEASE_MS);
  await world.run(handOnJob(SUBSCRIBERS));
  await world.serve(() => sweepWebhooks(world.deps));
  for (const webhook_id of woken) await work(world, { webhook_id });
  world.sent.splice(0);
  // The keys count as just used, so that the next call does not record their use and each call has the same steps.
  await world.deps.db.update(managementKeys).set({ lastUsedAt: world.now() });
}

const eventsOf = async (world: World): Promise<string[]> =>
  expectStatus(await world.call("GET", "/v1/events?type=agent.registered&limit=100"), 200).data.map(
    ({ id }: Json) => id,
  );

test("delivers an event after a crash at any step of its change, hand-on, fan-out or delivery", async () => {
  const world = await createWorld({ WEBHOOKS });
  const there = await receiver();
  const made = await endpoint(world, there.url, registered);
  const body = { ...agentBody("CONSUMER"), principal_id: await world.principal() };
  const steps: string[] = [];
  const sentTwice: Cut[] = [];
  let phase = "";
  await killAtEveryStep(
    async () => ({ world, before: (await there.received()).length - (await eventsOf(world)).length }),
    async (dying) => {
      phase = "change";
      expectStatus(await dying.call("POST", "/v1/agents", { body }), 201);
      phase = "hand-on";
      await deliverNewEvents(dying.deps, SUBSCRIBERS);
      await listNewEvents(dying.deps);
      phase = "fan-out";
      await fanOutEvents(dying.deps);
      phase = "delivery";
      await work(dying, made);
    },
    async ({ before }, cut) => {
      if (cut.moment === "before") steps.push(`${phase}: ${cut.name}`);
      await recover(world);
      const events = await eventsOf(world);
      const received = await there.received();
      expect(new Set(await eventIdsOf(there))).toEqual(new Set(events));
      expect(new Set(received.map((one) => one.body)).size).toBe(events.length);
      if (received.length - events.length > before) sentTwice.push(cut);
    },
  );
  expect(steps).toEqual([
    ...["change: DB.batch", "change: DB.batch", "change: OUTBOX_QUEUE.send"],
    ...Array(4).fill("hand-on: DB.batch"),
    ...Array(3).fill("fan-out: DB.batch"),
    "fan-out: WEBHOOK_QUEUE.sendBatch",
    // The claim, and the record of the outcome.
    ...Array(2).fill("delivery: DB.batch"),
  ]);
  expect(sentTwice).toEqual([{ step: steps.length, moment: "before", name: "DB.batch" }]);
  expect(await deliveriesOf(world, made, "?status=pending")).toEqual([]);
});

test("delivers a replay after a crash at any step of its call, its job or its deliveries", async () => {
  const world = await createWorld({ WEBHOOKS });
  const there = await receiver();
  const made = await endpoint(world, there.url, registered);
  await someEvents(world, 3);
  await settle(world, made);
  const events = await eventsOf(world);
  const body = { since: new Date(world.now() - 60_000).toISOString() };
  const steps: string[] = [];
  /** For each cut, how often each event was sent. */
  const sent: number[][] = [];
  let phase = "";
  await killAtEveryStep(
    async () => {
      // The number of replays a day is limited.
      await world.deps.db.update(webhookEndpoints).set({ replays: null });
      return { world, before: (await there.received()).length };
    },
    async (dying) => {
      phase = "call";
      expectStatus(await dying.call("POST", `/v1/webhooks/${made.webhook_id}/replay`, { body }), 200);
      phase = "job";
      await dying.run(replayJob);
      phase = "delivery";
      await work(dying, made);
    },
    async ({ before }, { moment, name }) => {
      if (moment === "before") steps.push(`${phase}: ${name}`);
      await recover(world);
      const ids = (await eventIdsOf(there)).slice(before);
      sent.push(events.map((id) => ids.filter((one) => one === id).length).sort());
    },
  );
  expect(steps).toEqual([
    ...["call: DB.batch", "call: DB.batch", "call: JOB_QUEUE.send"],
    ...Array(5).fill("job: DB.batch"),
    "job: WEBHOOK_QUEUE.sendBatch",
    // The claim of two, their record together with the claim of the third, and the record of the third.
    ...Array(3).fill("delivery: DB.batch"),
  ]);
  const [none, once] = [
    [0, 0, 0],
    [1, 1, 1],
  ];
  expect(sent).toEqual([
    // Nothing is replayed before the call has committed.
    ...Array(3).fill(none),
    ...Array(17).fill(once),
    [1, 2, 2],
    once,
    [1, 1, 2],
    once,
  ]);
});
