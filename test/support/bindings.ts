// The bindings through which the service leaves its isolate. Each of their calls goes through a function of the test.
import type { Env } from "../../src/context.ts";

/** Makes a call of a binding. `name` is the binding with the method, or `DB.batch`. */
export type Step = <T>(name: string, go: () => Promise<T>) => Promise<T>;

const NAMESPACES = ["AGENTS", "IDEMPOTENCY", "REPLAY", "CHAIN_SIGNER", "ATTEMPTS", "SANDBOXES", "WEBHOOKS"] as const;
const OTHERS = ["DOCUMENTS", "MAIL", "CHAIN_QUEUE", "JOB_QUEUE", "OUTBOX_QUEUE", "WEBHOOK_QUEUE"] as const;

type Databases = Pick<Env, "DB" | (typeof NAMESPACES)[number]>;

/** A trip to the database is one batch. */
export const interceptDatabase = (d1: D1Database, step: Step): D1Database =>
  ({
    prepare: (sql: string) => d1.prepare(sql),
    batch: (statements: D1PreparedStatement[]) => step("DB.batch", () => d1.batch(statements)),
  }) as unknown as D1Database;

/** The database and the Durable Objects. Getting a stub does not count as a call. */
export function interceptDatabases(env: Env, step: Step): Databases {
  const DB = interceptDatabase(env.DB, step);
  const objects = NAMESPACES.map((name) => [name, interceptObjects(env[name], name, step)] as const);
  return { DB, ...Object.fromEntries(objects) } as unknown as Databases;
}

/** All bindings whose calls have effects outside the isolate. */
export function interceptBindings(env: Env, step: Step): Partial<Env> {
  const others = OTHERS.map((name) => [name, interceptCalls(env[name], name, step)] as const);
  return { ...interceptDatabases(env, step), ...Object.fromEntries(others) };
}

const interceptObjects = (namespace: object, name: string, step: Step): object =>
  intercept(namespace, (_method, call) => {
    const made = call();
    const isStub = typeof made === "object" && made !== null && "fetch" in made;
    return isStub ? interceptCalls(made, name, step) : made;
  });

const interceptCalls = (target: object, name: string, step: Step): object =>
  intercept(target, (method, call) => step(`${name}.${method}`, async () => (await call()) as unknown));

/** Wraps the object, so that every call of its methods goes through `through`. */
function intercept(target: object, through: (method: string, call: () => unknown) => unknown): object {
  return new Proxy(target, {
    get(object, name) {
      const member = Reflect.get(object, name) as unknown;
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => through(String(name), () => Reflect.apply(member, object, args) as unknown);
    },
  });
}
