// From a change to a receiver, through the real queue and the object of the endpoint (EVT-24, EVT-25).
import { expect, it } from "vitest";
import { verifyWebhook, webhookHeaders } from "../../src/protocol/webhook-signature.ts";
import { createWorld } from "../support/world.ts";
import { anEvent, deliveriesOf, endpoint, receiver } from "./support.ts";

const world = await createWorld();

it("an event reaches its endpoint, signed, as the list shows it", async () => {
  const there = await receiver();
  const made = await endpoint(world, there.url, { event_types: ["agent.registered"] });
  const did = await anEvent(world);
  await expect.poll(there.received, { timeout: 15_000 }).toHaveLength(1);
  const [got] = await there.received();
  const event = (await world.call("GET", `/v1/events?type=agent.registered&subject=${encodeURIComponent(did)}`)).body
    .data[0];
  expect(JSON.parse(got?.body ?? "")).toEqual(event);
  expect(got?.headers["service-event-id"]).toBe(event.id);
  const headers = new Headers(got?.headers);
  expect(await verifyWebhook(made.secret, webhookHeaders(headers), got?.body ?? "")).toBe(null);
  await expect.poll(async () => (await deliveriesOf(world, made))[0]?.status).toBe("delivered");
  const [delivery] = await deliveriesOf(world, made);
  expect(delivery).toMatchObject({
    event_id: event.id,
    attempts: [{ status_code: 204, error: null }],
    next_attempt_at: null,
  });
});
