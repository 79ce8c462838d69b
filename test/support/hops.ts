// A world far from its database, which counts the hops that a caller waits for one after the other. Trips to the database and calls of
// Durable Objects are hops; each is delayed, so that those that begin at the same time count as one.
import type { Env } from "../../src/context.ts";
import { withVars } from "./variants.ts";
import { env, type World } from "./world.ts";

const HOP_MS = 30;

type Far = Pick<Env, "DB" | "AGENTS" | "IDEMPOTENCY" | "REPLAY" | "ATTEMPTS" | "SANDBOXES">;

export type FarWorld = {
  readonly world: World;
  /** The longest chain of hops in the last call, until its answer. */
  readonly hops: () => number;
};

export function farFrom(near: World): FarWorld {
  let longest = 0;
  let answered = 0;
  const hop = async <T>(work: () => Promise<T>): Promise<T> => {
    const place = longest + 1;
    try {
      return await work();
    } finally {
      await new Promise((resolve) => setTimeout(resolve, HOP_MS));
      longest = Math.max(longest, place);
    }
  };
  const world = withVars(near, farBindings(near.meter.d1, hop));
  const { app } = world;
  const fetch: typeof app.fetch = async (...args) => {
    longest = 0;
    const response = await app.fetch(...args);
    answered = longest;
    return response;
  };
  return {
    world: Object.assign(world, { app: Object.assign(Object.create(app) as typeof app, { fetch }) }),
    hops: () => answered,
  };
}

type Hop = <T>(work: () => Promise<T>) => Promise<T>;

function farBindings(d1: D1Database, hop: Hop): Far {
  const database = {
    prepare: (sql: string) => d1.prepare(sql),
    batch: (statements: D1PreparedStatement[]) => hop(() => d1.batch(statements)),
  };
  const stub = <T extends object>(of: T): T => intercept(of, (method) => hop(async () => (await method()) as unknown));
  // Getting a stub is no hop, calling it is one.
  const objects = <T extends object>(namespace: T): T =>
    intercept(namespace, (method) => {
      const made = method();
      return typeof made === "object" && made !== null && "fetch" in made ? stub(made) : made;
    });
  return {
    DB: database as unknown as D1Database,
    AGENTS: objects(env.AGENTS),
    IDEMPOTENCY: objects(env.IDEMPOTENCY),
    REPLAY: objects(env.REPLAY),
    ATTEMPTS: objects(env.ATTEMPTS),
    SANDBOXES: objects(env.SANDBOXES),
  };
}

/** The same object; every call of its methods goes through `call`. */
function intercept<T extends object>(target: T, call: (method: () => unknown) => unknown): T {
  return new Proxy(target, {
    get(object, name) {
      const member = Reflect.get(object, name) as unknown;
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => call(() => Reflect.apply(member, object, args) as unknown);
    },
  });
}
