// Variants of a world with one part exchanged: another quota, a database that fails at a chosen moment, a route for probing. Also dumps of all stored
// data: every row of the database, and everything in the Durable Objects.
import {
  createExecutionContext,
  listDurableObjectIds,
  runInDurableObject,
  waitOnExecutionContext,
} from "cloudflare:test";
import { createApp } from "../../src/app.ts";
import { buildDeps, type Config, type Deps, type Env, type SliceSizes } from "../../src/context.ts";
import type { Route } from "../../src/http/route.ts";
import { FOLLOWING, settledPart } from "./following.ts";
import { readDatabase } from "./readings.ts";
import { env, ISSUER, type Json, PASSWORD_COST, type World } from "./world.ts";

export function withDeps(world: World, deps: Deps, app: ReturnType<typeof createApp> = createApp(deps)): World {
  return Object.assign(Object.create(world) as object, { deps, app }) as World;
}

/** A variant with a route of the test in place of the service's. */
export const withRoute = (world: World, route: Route): World =>
  withDeps(world, world.deps, createApp(world.deps, [route]));

export const withConfig = (world: World, config: Partial<Config>): World =>
  withDeps(world, { ...world.deps, config: { ...world.deps.config, ...config } });

/** A variant with slices of other sizes. */
export const withSlices = (world: World, slices: Partial<SliceSizes>): World =>
  withDeps(world, { ...world.deps, slices });

/** A variant with other variables. */
export const withVars = (world: World, vars: Partial<Env>): World => rebuilt(world, { ...world.deps.env, ...vars });

export const withDatabase = (world: World, d1: D1Database): World => rebuilt(world, { ...env, DB: d1 });

const rebuilt = (world: World, bindings: Env): World => {
  const deps = buildDeps(bindings, ISSUER, { now: () => world.now() });
  const { sharedCache, slices } = world.deps;
  return withDeps(world, { ...deps, sharedCache, passwordCost: PASSWORD_COST, ...(slices && { slices }) });
};

/** A variant with an empty shared cache, as later or in another data centre. */
export const withEmptyCache = async (world: World): Promise<World> =>
  withDeps(world, { ...world.deps, sharedCache: await caches.open(crypto.randomUUID()) });

/** A variant with chain nodes that do not answer. */
export function withSilentChain(world: World): World {
  const networks = world.deps.config.networks.map((network) => ({ ...network, rpc_url: "http://127.0.0.1:9" }));
  const vars = { ...world.deps.env, NETWORKS: JSON.stringify(networks) };
  return withDeps(world, buildDeps(vars, ISSUER, { now: () => world.now() }));
}

export type Moment = "before" | "after" | "never";

/** Fails the n-th batch (from 1) before it reaches the database, or after the database has executed it. */
export function failingBatches(d1: D1Database, moment: (batch: number) => Moment | Promise<Moment>): D1Database {
  let batches = 0;
  return {
    prepare: (sql: string) => d1.prepare(sql),
    batch: async (statements: D1PreparedStatement[]) => {
      batches += 1;
      const chosen = await moment(batches);
      if (chosen === "before") throw new Error("D1_ERROR: the database is not reachable");
      const results = await d1.batch(statements);
      if (chosen === "after") throw new Error("D1_ERROR: Network connection lost");
      return results;
    },
  } as unknown as D1Database;
}

/** Sends a raw request, whose answer is not checked against the OpenAPI document. */
export async function send(world: World, path: string, init: RequestInit): Promise<{ response: Response; body: Json }> {
  const context = createExecutionContext();
  const request = new Request(`${ISSUER}${path}`, init);
  const { response, text } = await world.serve(async () => {
    const answered = await world.app.fetch(request, { ...env, DB: world.meter.d1 }, context);
    const body = await answered.text();
    await waitOnExecutionContext(context);
    return { response: answered, text: body };
  });
  const isJson = /^application\/(?:[\w.-]+\+)?json/.test(response.headers.get("content-type") ?? "") && text !== "";
  return { response, body: isJson ? JSON.parse(text) : text };
}

/** Returns every row of every table as text, without the parts that the queue fills by itself: log hashes, the listing of events, directory terms. */
export async function dumpDatabase(): Promise<Record<string, string[]>> {
  const tables = (await readDatabase()).filter(({ name }) => !FOLLOWING.has(name));
  return Object.fromEntries(
    tables.map(({ name, rows }) => [name, rows.map((row) => JSON.stringify(settledPart(name, row)))]),
  );
}

/** The content of the objects of a namespace, in memory and in storage, as text. */
export async function dumpObjects(namespace: DurableObjectNamespace): Promise<string[]> {
  const dumps: string[] = [];
  for (const id of await listDurableObjectIds(namespace as never)) {
    const dump = await runInDurableObject(
      namespace.get(id) as never,
      async (instance: object, state: DurableObjectState) => {
        const tables = state.storage.sql
          .exec("select name from sqlite_master where type = 'table' and name not like '_cf_%'")
          .toArray();
        const rows = tables.map(({ name }) => state.storage.sql.exec(`select * from "${String(name)}"`).toArray());
        const { ctx: _ctx, env: _env, ...memory } = instance as Record<string, unknown>;
        return JSON.stringify([id.name, memory, [...(await state.storage.list())], rows]);
      },
    );
    dumps.push(dump);
  }
  return dumps;
}
