// The bench build: the real Worker, its bindings metered while a request asks for it, and two baselines in the same process
// (performance design 4.2). Never deployed: bench/stage.ts alone starts it, on loopback.
import { AsyncLocalStorage } from "node:async_hooks";
import { Hono } from "hono";
import type { Env } from "../src/context.ts";
import type { Message } from "../src/queue.ts";
import service, {
  AgentObject,
  IdempotencyObject,
  ChainSigner as RealChainSigner,
  ReplayGuard as RealReplayGuard,
} from "../src/worker.ts";
import { type Cost, meterD1, meterObjects, newCost, type ObjectWork, tellCalls } from "./meter.ts";

export { AgentObject, IdempotencyObject };

/** The header that asks for a request to be metered; its answer carries `Bench-Cost`. */
const METER = "bench-meter";

// ---- Outbound calls and the objects' own work ------------------------------------------------------------------------

const current = new AsyncLocalStorage<Cost>();
const inside: ObjectWork = { storageCalls: 0, rowsWritten: 0, fetches: 0 };
const realFetch = globalThis.fetch;
globalThis.fetch = (...input: Parameters<typeof fetch>) => {
  const cost = current.getStore();
  if (cost) cost.fetches += 1;
  else inside.fetches += 1;
  return realFetch(...input);
};

/** Objects share the isolate, and the runner sends one metered request at a time: the difference is the request's. */
function watchStorage(object: object, state: DurableObjectState): void {
  const told = () => {
    inside.storageCalls += 1;
  };
  const sql = tellCalls(state.storage.sql, told, (cursor) => {
    if (typeof cursor === "object" && cursor !== null && "rowsWritten" in cursor) {
      inside.rowsWritten += Number(cursor.rowsWritten);
    }
    return cursor;
  });
  const calls = tellCalls(state.storage, told);
  const storage = new Proxy(state.storage, {
    get: (target, name) => (name === "sql" ? sql : Reflect.get(calls, name, target)),
  });
  const watched = new Proxy(state, {
    get: (target, name) => {
      if (name === "storage") return storage;
      const member = Reflect.get(target, name) as unknown;
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  Object.defineProperty(object, "ctx", { value: watched });
}

export class ReplayGuard extends RealReplayGuard {
  constructor(state: DurableObjectState, env: Env) {
    super(state, env);
    watchStorage(this, state);
  }
}

export class ChainSigner extends RealChainSigner {
  constructor(state: DurableObjectState, env: Env) {
    super(state, env);
    watchStorage(this, state);
  }
}

// ---- One metered request ---------------------------------------------------------------------------------------------

function meteredEnv(env: Env, cost: Cost): Env {
  const other = () => {
    cost.others += 1;
  };
  const queued = () => {
    cost.queues += 1;
  };
  return {
    ...env,
    DB: meterD1(env.DB, cost),
    AGENTS: meterObjects(env.AGENTS, "AGENTS", cost),
    IDEMPOTENCY: meterObjects(env.IDEMPOTENCY, "IDEMPOTENCY", cost),
    REPLAY: meterObjects(env.REPLAY, "REPLAY", cost),
    CHAIN_SIGNER: meterObjects(env.CHAIN_SIGNER, "CHAIN_SIGNER", cost),
    CHAIN_QUEUE: tellCalls(env.CHAIN_QUEUE, queued),
    JOB_QUEUE: tellCalls(env.JOB_QUEUE, queued),
    OUTBOX_QUEUE: tellCalls(env.OUTBOX_QUEUE, queued),
    DOCUMENTS: tellCalls(env.DOCUMENTS, other),
    MAIL: tellCalls(env.MAIL, other),
    ASSETS: tellCalls(env.ASSETS, other),
  };
}

export type Metered = { beforeAnswer: Cost; afterAnswer: Cost; objectWork: ObjectWork };
let last: Metered | null = null;

/** The answer is held back until what goes on after it is over, so that both parts are counted. */
async function fetchMetered(
  request: Request<unknown, IncomingRequestCfProperties>,
  env: Env,
  context: ExecutionContext,
) {
  const cost = newCost();
  const background: Promise<unknown>[] = [];
  const waiting = new Proxy(context, {
    get: (target, name) => {
      if (name === "waitUntil") return (work: Promise<unknown>) => void background.push(work);
      const member = Reflect.get(target, name) as unknown;
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  const before = { ...inside };
  const response = await current.run(cost, async () => service.fetch(request, meteredEnv(env, cost), waiting));
  const beforeAnswer = structuredClone(cost);
  for (const work of background) await work.catch(() => undefined);
  last = {
    beforeAnswer,
    afterAnswer: cost,
    objectWork: {
      storageCalls: inside.storageCalls - before.storageCalls,
      rowsWritten: inside.rowsWritten - before.rowsWritten,
      fetches: inside.fetches - before.fetches,
    },
  };
  const answered = new Response(response.body, response);
  answered.headers.set("Bench-Cost", summary(cost));
  return answered;
}

function summary({ trips, objects, queues, fetches }: Cost): string {
  const statements = trips.flat();
  const sum = (pick: (statement: { rowsRead: number; rowsWritten: number }) => number) =>
    statements.reduce((total, statement) => total + pick(statement), 0);
  return [
    `trips=${trips.length}`,
    `statements=${statements.length}`,
    `read=${sum((statement) => statement.rowsRead)}`,
    `written=${sum((statement) => statement.rowsWritten)}`,
    `objects=${Object.values(objects).reduce((total, calls) => total + calls, 0)}`,
    `queues=${queues}`,
    `fetches=${fetches}`,
  ].join(" ");
}

// ---- The bench's own routes ------------------------------------------------------------------------------------------

type Sql = { sql: string; params?: unknown[] };

const bench = new Hono<{ Bindings: Env }>();
bench.onError((thrown, context) => context.text(thrown.message, 500));
bench.get("/__bench/hello", (context) => context.json({ hello: "world" }));
bench.get("/__bench/row", async (context) => {
  const statement = context.env.DB.prepare("select * from management_keys where key_hash = ?");
  return context.json(await statement.bind(context.req.query("key") ?? "").first());
});
bench.get("/__bench/last", (context) => context.json(last));
/** Seeds and reads as the bench needs it: one batch. */
bench.post("/__bench/sql", async (context) => {
  const statements = await context.req.json<Sql[]>();
  const prepared = statements.map(({ sql, params = [] }) => context.env.DB.prepare(sql).bind(...params));
  const results = await context.env.DB.batch(prepared);
  return context.json(results.map(({ results: rows }) => rows));
});

/**
 * The same for every request of the isolate, as `env` itself is: what the service builds from it is kept. The limiters
 * answer at once: on Cloudflare they add no latency, and here they would be a call to another service.
 */
let benchEnv: Env | null = null;
const unlimited: RateLimit = { limit: async () => ({ success: true }) };
function envOf(env: Env): Env {
  benchEnv ??= { ...env, RATE_CREDENTIAL: unlimited, RATE_ADDRESS: unlimited };
  return benchEnv;
}

export default {
  fetch(request, env, context) {
    if (new URL(request.url).pathname.startsWith("/__bench/")) return bench.fetch(request, env, context);
    return request.headers.has(METER)
      ? fetchMetered(request, envOf(env), context)
      : service.fetch(request, envOf(env), context);
  },
  queue: service.queue,
  scheduled: service.scheduled,
} satisfies ExportedHandler<Env, Message>;
