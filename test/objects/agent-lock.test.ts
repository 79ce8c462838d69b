// Tests that the lock of an agent orders its transitions but is not required for them (AGT-27): a caller that keeps the lock does not delay changes
// for long.
import { beforeAll, expect, it } from "vitest";
import { withVars } from "../support/variants.ts";
import { createWorld, env, expectStatus, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

/** Callers that never release the lock. Each keeps it for ten seconds. */
const HOLDERS = 8;
const LONG_MS = 100_000;

it("a lock that others keep for longer than a call waits does not stop the platform from suspending its agent", async () => {
  const { did } = await world.agent("CONSUMER");
  const object = env.AGENTS.get(env.AGENTS.idFromName(did));
  const held = Array.from({ length: HOLDERS }, () => object.lock(LONG_MS));
  for (const lock of held) lock.catch(() => undefined);
  await held[0];
  // The call stops waiting at once.
  const waits: number[] = [];
  const lock = (ms: number) => {
    waits.push(ms);
    return object.lock(0);
  };
  const AGENTS = { idFromName: () => null, get: () => ({ lock }) } as never;
  const body = { status: "SUSPENDED" };
  const reply = await withVars(world, { AGENTS }).call("PATCH", `/v1/agents/${did}/status`, { body });
  expect(expectStatus(reply, 200).status).toBe("SUSPENDED");
  expect(waits).toEqual([5_000]);
  // The lock is still held, and callers that stopped waiting do not get it later.
  expect(await object.lock(0)).toBeNull();
});

it("a lock whose object fails does not stop the platform from suspending its agent", async () => {
  const { did } = await world.agent("CONSUMER");
  const lock = () => Promise.reject(new Error("Durable Object reset because its code was updated."));
  const AGENTS = { idFromName: () => null, get: () => ({ lock }) } as never;
  const body = { status: "SUSPENDED" };
  const reply = await withVars(world, { AGENTS }).call("PATCH", `/v1/agents/${did}/status`, { body });
  expect(expectStatus(reply, 200).status).toBe("SUSPENDED");
});

it("a call that waited in vain for a lock waits for it again after a conflict, for ten seconds, and then goes on without it", async () => {
  const { did } = await world.draft("CONSUMER");
  const object = env.AGENTS.get(env.AGENTS.idFromName(did));
  object.lock(LONG_MS).catch(() => undefined);
  const waits: number[] = [];
  const lock = (ms: number) => {
    waits.push(ms);
    return object.lock(0);
  };
  const AGENTS = { idFromName: () => null, get: () => ({ lock }) } as never;
  const lost = new Error("D1_ERROR: UNIQUE constraint failed: agents.external_ref: SQLITE_CONSTRAINT");
  let batches = 0;
  const DB = {
    prepare: (sql: string) => env.DB.prepare(sql),
    batch: async (statements: D1PreparedStatement[]) => {
      batches += 1;
      // The first two batches read, because the holder of the lock may have changed something after the first; the third one writes.
      if (batches === 3) throw lost;
      return env.DB.batch(statements);
    },
  } as D1Database;
  const reply = await withVars(world, { AGENTS, DB }).call("PATCH", `/v1/agents/${did}`, {
    body: { external_ref: "r" },
  });
  expect(expectStatus(reply, 200).external_ref).toBe("r");
  expect(waits).toEqual([5_000, 10_000]);
});
