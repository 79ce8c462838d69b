// A platform with endpoints at the real receiver of test/support/receiver.ts.
import { inject } from "vitest";
import { deliverDue } from "../../src/webhooks/deliver.ts";
import { fanOutEvents } from "../../src/webhooks/fan-out.ts";
import type { Behaviour, Received } from "../support/receiver.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";

let names = 0;

/** A path of the receiver, with how it answers: the last behaviour goes on. */
export type Receiver = {
  readonly url: string;
  readonly received: () => Promise<Received[]>;
  readonly behave: (...behaviours: Behaviour[]) => Promise<void>;
  /** What a GET is answered, in the place of what was received. */
  readonly answerGet: (body: unknown) => Promise<void>;
};

export async function receiver(...behaviours: Behaviour[]): Promise<Receiver> {
  const url = `${inject("receiver")}/of/${Date.now().toString(36)}-${++names}-${Math.random().toString(36).slice(2)}`;
  const behave = async (...each: Behaviour[]) => {
    await (await fetch(url, { method: "PUT", body: JSON.stringify(each) })).text();
  };
  const answerGet = async (body: unknown) => {
    await (await fetch(`${url}?get`, { method: "PUT", body: String(body) })).text();
  };
  if (behaviours.length > 0) await behave(...behaviours);
  return { url, behave, answerGet, received: async () => (await fetch(url)).json() };
}

export const endpoint = async (world: World, url: string, more: Json = {}): Promise<Json> =>
  expectStatus(await world.call("POST", "/v1/webhooks", { body: { url, event_types: ["*"], ...more } }), 201);

/** An event of the world's sandbox: a customer makes none, an agent does. */
export const anEvent = async (world: World): Promise<string> => (await world.draft("CONSUMER")).did;

export const deliveriesOf = async (world: World, { webhook_id }: Json, query = ""): Promise<Json[]> =>
  expectStatus(await world.call("GET", `/v1/webhooks/${webhook_id}/deliveries${query}`), 200).data;

/** What the object of an endpoint does when it is woken, on the world's clock and in this test. Returns when it goes on. */
export const work = (world: World, { webhook_id }: Json, goesOn: () => boolean = () => true): Promise<number | null> =>
  world.serve(() => deliverDue(world.deps, webhook_id, goesOn));

/** A world whose objects sleep: nothing is delivered but by `work`. */
export const asleep = async (): Promise<World> =>
  createWorld({ WEBHOOKS: { idFromName: () => null, get: () => ({ wake: () => undefined }) } as never });

/** Fans out and delivers what is due, on the world's clock. */
export async function settle(world: World, made: Json): Promise<number | null> {
  await world.serve(() => fanOutEvents(world.deps));
  return work(world, made);
}
