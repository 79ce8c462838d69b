// A platform with endpoints at the real receiver of test/support/receiver.ts. Only the test delivers: it delivers itself (`work`), or it drives the
// endpoints' objects (`drivenWorld`).
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { inject } from "vitest";
import { commitAll } from "../../src/commit.ts";
import type { Env } from "../../src/context.ts";
import { DAY_MS } from "../../src/core/limits.ts";
import { recordEvents } from "../../src/journal/events.ts";
import type { WebhookCourier } from "../../src/webhooks/courier.ts";
import { type Chance, deliverDue } from "../../src/webhooks/deliver.ts";
import { fanOutEvents } from "../../src/webhooks/fan-out.ts";
import { stopped } from "../support/clock.ts";
import { checkEvent, madeUp } from "../support/openapi.ts";
import type { Behaviour, Received } from "../support/receiver.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";

/** A path of the receiver. */
export type Receiver = {
  readonly url: string;
  readonly received: () => Promise<Received[]>;
  /** Returns what was received once this many deliveries have come. */
  readonly until: (count: number) => Promise<Received[]>;
  /** Replaces the answers to deliveries, in order. The last behaviour applies from then on. */
  readonly behave: (...behaviours: Behaviour[]) => Promise<void>;
  /** Answers the held deliveries, and stops holding. */
  readonly release: () => Promise<void>;
  /** Sets the answer to a GET, which otherwise returns what was received. */
  readonly answerGet: (body: unknown) => Promise<void>;
};

export async function receiver(...behaviours: Behaviour[]): Promise<Receiver> {
  const origin = inject("receiver");
  const url = `${origin}${await (await fetch(`${origin}/paths`, { method: "POST" })).text()}`;
  const put = async (query: string, body: string) => {
    await (await fetch(`${url}${query}`, { method: "PUT", body })).text();
  };
  const get = async (query: string): Promise<Received[]> => {
    const received: Received[] = await (await fetch(`${url}${query}`)).json();
    for (const { headers, body } of received) if ("service-event-id" in headers) checkEvent(JSON.parse(body));
    return received;
  };
  const behave = (...each: Behaviour[]) => put("", JSON.stringify(each));
  if (behaviours.length > 0) await behave(...behaviours);
  return {
    url,
    behave,
    answerGet: (body) => put("?get", String(body)),
    release: () => put("?release", ""),
    received: () => get(""),
    until: (count) => get(`?count=${count}`),
  };
}

export const endpoint = async (world: World, url: string, more: Json = {}): Promise<Json> =>
  expectStatus(await world.call("POST", "/v1/webhooks", { body: { url, event_types: ["*"], ...more } }), 201);

/** Makes an event in the world's sandbox by drafting an agent; a new customer would make none. */
export const anEvent = async (world: World): Promise<string> => (await world.draft("CONSUMER")).did;

/** Writes events that agents were registered, without the agents. */
export async function someEvents(world: World, count: number): Promise<void> {
  const owner = { platformId: world.platformId, environment: "sandbox" } as const;
  const each = Array.from({ length: count }, (_, n) => ({ owner, object: madeUp({ did: `did:aeap:${n}` }) }));
  await commitAll(world.deps, recordEvents(world.deps.db, world.now(), "agent.registered", each));
}

export const deliveriesOf = async (world: World, { webhook_id }: Json, query = ""): Promise<Json[]> =>
  expectStatus(await world.call("GET", `/v1/webhooks/${webhook_id}/deliveries${query}`), 200).data;

/** The ids of the events that were received, in the order of their deliveries. */
export const eventIdsOf = async ({ received }: Receiver): Promise<string[]> =>
  (await received()).map(({ headers }) => String(headers["webhook-id"]));

// ---- Objects that sleep --------------------------------------------------------------------------------------------------

/** A world whose objects sleep, so that only `work` delivers. */
export const asleep = async (): Promise<World> =>
  createWorld({ WEBHOOKS: { idFromName: () => null, get: () => ({ wake: () => undefined }) } as never });

/** Does what an endpoint's object does when it is woken, on the world's clock and in this test. Returns when it continues. */
export const work = (world: World, { webhook_id }: Json, chance?: Chance): Promise<number | null> =>
  world.serve(() => deliverDue(world.deps, webhook_id, () => true, chance));

/** Fans out and delivers what is due, on the world's clock. */
export async function settle(world: World, made: Json, chance?: Chance): Promise<number | null> {
  await world.serve(() => fanOutEvents(world.deps));
  return work(world, made, chance);
}

// ---- Objects that the test drives ----------------------------------------------------------------------------------------

/**
 * A world with the real objects, which follow its clock; only `advance` moves it. It is a day ahead, so that the runtime does not fire their alarms
 * by itself.
 */
export async function drivenWorld(vars: Partial<Env> = {}): Promise<World> {
  let driven: World | undefined;
  const wake = (webhookId: string, afresh?: boolean): Promise<void> =>
    inObject(webhookId, (courier) => {
      if (driven) courier.clock = driven.deps.clock;
      return courier.wake(webhookId, afresh);
    });
  const world = await createWorld({ ...vars, WEBHOOKS: { idFromName: () => null, get: () => ({ wake }) } as never });
  world.advance(DAY_MS);
  driven = stopped(world);
  return driven;
}

const stubOf = (webhookId: string) => env.WEBHOOKS.get(env.WEBHOOKS.idFromName(webhookId));

const inObject = <T>(
  webhookId: string,
  act: (courier: WebhookCourier, state: DurableObjectState) => T | Promise<T>,
): Promise<T> => runInDurableObject(stubOf(webhookId) as never, act);

/** Waits until an endpoint's object has finished its work. Returns its next alarm, or null. */
export const atRest = ({ webhook_id }: Json): Promise<number | null> =>
  inObject(webhook_id, async (courier, { storage }) => {
    while (courier.running) await courier.running;
    return storage.getAlarm();
  });

/** Moves the clock to the alarm of an endpoint's object and fires it. Returns its next alarm, or null. */
export async function fireAlarm(world: World, made: Json): Promise<number | null> {
  const at = await atRest(made);
  if (at === null) throw new Error(`the object of ${made.webhook_id} has no alarm`);
  world.advance(Math.max(0, at - world.now()));
  await inObject(made.webhook_id, (courier) => {
    courier.clock = world.deps.clock;
  });
  await runDurableObjectAlarm(stubOf(made.webhook_id) as never);
  return atRest(made);
}
