// The bench build: the real Worker, its bindings metered while a request asks for it, and two baselines in the same process.
// Never deployed: bench/stage.ts alone starts it, on loopback.
import { AsyncLocalStorage } from "node:async_hooks";
import { Hono } from "hono";
import { type SeededPlatform, seedPlatform } from "../scripts/platform.ts";
import { buildDeps, type Env, type JobMessage } from "../src/context.ts";
import { JOBS } from "../src/cron.ts";
import { openDatabase } from "../src/db/batch.ts";
import type { Job } from "../src/jobs/job.ts";
import { runMessage, startJob } from "../src/jobs/run.ts";
import type { Message } from "../src/queue.ts";
import service, {
  AgentObject,
  IdempotencyObject,
  ChainSigner as RealChainSigner,
  ReplayGuard as RealReplayGuard,
} from "../src/worker.ts";
import {
  type Cost,
  type Hop,
  hopsInto,
  meterD1,
  meterObjects,
  newCost,
  type ObjectWork,
  tellCalls,
  tellRefusals,
} from "./meter.ts";

export { AgentObject, IdempotencyObject };

/** The header that asks for a request to be metered. */
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

/** The header that makes each trip and each object call of a metered request begin so many milliseconds later. */
const HOP_MS = "bench-hop-ms";

function meteredEnv(env: Env, cost: Cost, hop?: Hop): Env {
  const other = () => {
    cost.others += 1;
  };
  const queued = () => {
    cost.queues += 1;
  };
  return {
    ...env,
    DB: meterD1(env.DB, () => cost, hop),
    AGENTS: meterObjects(env.AGENTS, "AGENTS", cost, hop),
    IDEMPOTENCY: meterObjects(env.IDEMPOTENCY, "IDEMPOTENCY", cost, hop),
    REPLAY: meterObjects(env.REPLAY, "REPLAY", cost, hop),
    CHAIN_SIGNER: meterObjects(env.CHAIN_SIGNER, "CHAIN_SIGNER", cost, hop),
    CHAIN_QUEUE: tellCalls(env.CHAIN_QUEUE, queued),
    JOB_QUEUE: tellCalls(env.JOB_QUEUE, queued),
    OUTBOX_QUEUE: tellCalls(env.OUTBOX_QUEUE, queued),
    DOCUMENTS: tellCalls(env.DOCUMENTS, other),
    MAIL: tellCalls(env.MAIL, other),
    ASSETS: tellCalls(env.ASSETS, other),
  };
}

export type Metered = { beforeAnswer: Cost; elapsedMs: number; afterAnswer: Cost; objectWork: ObjectWork };
let last: Metered | null = null;

type Answering = (env: Env, context: ExecutionContext) => Response | Promise<Response>;

/** The answer is held back until what goes on after it is over, so that both parts are counted. */
async function metered(env: Env, context: ExecutionContext, delay: string | null, answering: Answering) {
  const cost = newCost();
  const background: Promise<unknown>[] = [];
  const waiting = new Proxy(context, {
    get: (target, name) => {
      if (name === "waitUntil") return (work: Promise<unknown>) => void background.push(work);
      const member = Reflect.get(target, name) as unknown;
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  const hop = delay === null ? undefined : hopsInto(cost, Number(delay));
  const before = { ...inside };
  const started = Date.now();
  const response = await current.run(cost, async () => answering(meteredEnv(env, cost, hop), waiting));
  const beforeAnswer = structuredClone(cost);
  const elapsedMs = Date.now() - started;
  for (const work of background) await work.catch(() => undefined);
  last = {
    beforeAnswer,
    elapsedMs,
    afterAnswer: cost,
    objectWork: {
      storageCalls: inside.storageCalls - before.storageCalls,
      rowsWritten: inside.rowsWritten - before.rowsWritten,
      fetches: inside.fetches - before.fetches,
    },
  };
  return response;
}

// ---- One run of a job ------------------------------------------------------------------------------------------------

/** As the minute's trigger starts it and the queue works it, in one request: what the job hands to its queue is worked at once. */
async function runJob(env: Env, job: Job): Promise<Response> {
  const handed: JobMessage[] = [];
  const queue = new Proxy(env.JOB_QUEUE, {
    get: (target, method) => {
      if (method === "send") return async (message: JobMessage) => void handed.push(message);
      if (method !== "sendBatch") return Reflect.get(target, method) as unknown;
      return async (messages: Iterable<MessageSendRequest<JobMessage>>) => {
        for (const { body } of messages) handed.push(body);
      };
    },
  });
  const deps = buildDeps({ ...env, JOB_QUEUE: queue }, env.ISSUER);
  await startJob(deps, job);
  for (let message = handed.shift(); message; message = handed.shift()) await runMessage(deps, JOBS, message);
  return new Response(null);
}

/** 500 unless the run recorded as much as the asker expects. */
async function answerRun({ searchParams }: URL, env: Env, context: ExecutionContext): Promise<Response> {
  const [name, expected] = [searchParams.get("name") ?? "", Number(searchParams.get("done"))];
  const job = JOBS.find((known) => known.name === name);
  if (!job) return new Response(`there is no job ${name}`, { status: 404 });
  await metered(env, context, null, (own) => runJob(own, job));
  const asked = env.DB.prepare("select done, failed, last_error from jobs where name = ?").bind(name);
  const run = await asked.first<{ done: number; failed: number; last_error: string | null }>();
  if (run?.done === expected && run.failed === 0) return Response.json(run);
  return new Response(`expected ${expected} done: ${JSON.stringify(run)}`, { status: 500 });
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
/** How many trips D1 has refused since it was asked last. */
bench.post("/__bench/refused", (context) => {
  const told = refused;
  refused = 0;
  return context.json({ refused: told });
});
bench.post("/__bench/platform", async (context) => {
  await seedPlatform(openDatabase(context.env.DB), await context.req.json<SeededPlatform>());
  return context.json({});
});
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
let refused = 0;
const unlimited: RateLimit = { limit: async () => ({ success: true }) };
function envOf(env: Env): Env {
  const told = () => {
    refused += 1;
  };
  benchEnv ??= { ...env, DB: tellRefusals(env.DB, told), RATE_CREDENTIAL: unlimited, RATE_ADDRESS: unlimited };
  return benchEnv;
}

export default {
  fetch(request, env, context) {
    const url = new URL(request.url);
    if (url.pathname === "/__bench/job") return answerRun(url, env, context);
    if (url.pathname.startsWith("/__bench/")) return bench.fetch(request, env, context);
    if (!request.headers.has(METER)) return service.fetch(request, envOf(env), context);
    return metered(envOf(env), context, request.headers.get(HOP_MS), (own, waiting) =>
      service.fetch(request, own, waiting),
    );
  },
  /** Events are handed on by the job alone: a nudge would do so while something else is counted. */
  queue: async (batch, env) => {
    if (!batch.queue.endsWith("-outbox")) await service.queue(batch, env);
  },
  scheduled: service.scheduled,
} satisfies ExportedHandler<Env, Message>;
