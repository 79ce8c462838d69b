// Deliveries whose event was deleted after 30 days (EVT-29). Only a replay or a redelivery of old events leads to them.
import { inArray } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { events } from "../../src/db/tables/journal.ts";
import { webhookQueue } from "../../src/db/tables/webhooks.ts";
import { fanOutEvents } from "../../src/webhooks/fan-out.ts";
import type { Json } from "../support/world.ts";
import { anEvent, asleep, deliveriesOf, endpoint, receiver, settle, someEvents, work } from "./support.ts";

const world = await asleep();
const registered = { event_types: ["agent.registered"] };
const pathOf = ({ webhook_id }: Json) => `/v1/webhooks/${webhook_id}`;
const queuedOf = async ({ webhook_id }: Json) =>
  (await world.deps.db.select().from(webhookQueue)).filter(({ webhookId }) => webhookId === webhook_id);

describe("a delivery whose event is no longer kept", () => {
  /** Deletes events like the job that prunes them, which never deletes the newest one. */
  async function prune(...ids: string[]): Promise<void> {
    await someEvents(world, 1);
    await world.deps.db.delete(events).where(inArray(events.id, ids));
  }

  it("fails if it still waits, and does not count against its endpoint", async () => {
    const there = await receiver({ status: 500 });
    const made = await endpoint(world, there.url, registered);
    await someEvents(world, 2);
    await world.serve(() => fanOutEvents(world.deps));
    const ids = (await queuedOf(made)).map(({ eventId }) => eventId);
    await prune(...ids);
    await work(world, made);
    const deliveries = await deliveriesOf(world, made);
    expect(deliveries.map(({ event_id }) => event_id).sort()).toEqual(ids.sort());
    for (const one of deliveries) {
      expect(one).toMatchObject({ status: "failed", next_attempt_at: null });
      expect(one.attempts).toMatchObject([{ status_code: null, error: "event_expired", answer: null }]);
    }
    expect([await queuedOf(made), await there.received()]).toEqual([[], []]);
    expect((await world.call("GET", pathOf(made))).body.failing_since).toBe(null);
  });

  it("does not hold up deliveries whose event is kept", async () => {
    const there = await receiver();
    const made = await endpoint(world, there.url, registered);
    await someEvents(world, 3);
    await world.serve(() => fanOutEvents(world.deps));
    const [first] = await queuedOf(made);
    await prune(first?.eventId ?? "");
    await work(world, made);
    const statuses = (await deliveriesOf(world, made)).map(({ status }) => status).sort();
    expect([statuses, (await there.received()).length]).toEqual([["delivered", "delivered", "failed"], 2]);
  });

  it("answers 404 to a redelivery", async () => {
    const made = await endpoint(world, (await receiver()).url, registered);
    await anEvent(world);
    await settle(world, made);
    const [{ delivery_id, event_id }] = await deliveriesOf(world, made);
    await prune(event_id);
    const reply = await world.call("POST", `${pathOf(made)}/deliveries/${delivery_id}/redeliver`);
    expect([reply.status, reply.body.code]).toEqual([404, "not_found"]);
    expect(await queuedOf(made)).toEqual([]);
  });
});
