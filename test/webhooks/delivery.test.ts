// From a change to a receiver, through the queues' consumer and the endpoint's object (EVT-24, EVT-25).
import { expect, it } from "vitest";
import { readWebhookHeaders, verifyWebhook } from "../../src/protocol/webhook-signature.ts";
import { deliver, deliverAll } from "../support/queue.ts";
import { anEvent, atRest, deliveriesOf, drivenWorld, endpoint, eventIdsOf, receiver, someEvents } from "./support.ts";

const world = await drivenWorld();

it("delivers an event to its endpoint, signed, as the list shows it", async () => {
  const there = await receiver();
  const made = await endpoint(world, there.url, { event_types: ["agent.registered"] });
  const did = await anEvent(world);
  await deliverAll(world);
  expect(await atRest(made)).toBe(null);
  const [got, ...more] = await there.received();
  expect(more).toEqual([]);
  const event = (await world.call("GET", `/v1/events?type=agent.registered&subject=${encodeURIComponent(did)}`)).body
    .data[0];
  expect(JSON.parse(got?.body ?? "")).toEqual(event);
  expect(got?.headers["service-event-id"]).toBe(event.id);
  const headers = new Headers(got?.headers);
  expect(await verifyWebhook(made.secret, readWebhookHeaders(headers), got?.body ?? "")).toBe(null);
  const [delivery] = await deliveriesOf(world, made);
  expect(delivery).toMatchObject({
    event_id: event.id,
    status: "delivered",
    attempts: [{ status_code: 204, error: null }],
    next_attempt_at: null,
  });
});

it("sends an event once when every message comes twice and at once", async () => {
  const there = await receiver();
  const made = await endpoint(world, there.url, { event_types: ["agent.registered"] });
  await someEvents(world, 5);
  const nudge = { kind: "deliver", webhookId: made.webhook_id };
  const handOn = { kind: "hand_on_events" };
  const twice = (queue: string, body: unknown) => deliver(world, `agent-accountability-${queue}`, [body, body]);
  const taken = await Promise.all([
    twice("outbox", handOn),
    twice("webhooks", nudge),
    twice("outbox", handOn),
    twice("webhooks", nudge),
  ]);
  expect(taken.flatMap(({ retried }) => retried)).toEqual([]);
  await twice("webhooks", nudge);
  await deliverAll(world);
  expect(await atRest(made)).toBe(null);
  expect(await deliveriesOf(world, made, "?status=delivered")).toHaveLength(5);
  const ids = await eventIdsOf(there);
  expect([ids.length, new Set(ids).size]).toEqual([5, 5]);
});

it("acknowledges a message for an endpoint that no longer exists", async () => {
  const gone = { kind: "deliver", webhookId: "whe_gone" };
  expect(await deliver(world, "agent-accountability-webhooks", [gone])).toEqual({ acknowledged: [0], retried: [] });
});
