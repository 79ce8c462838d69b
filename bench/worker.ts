// The bench build: the real Worker, with its bindings metered for requests that carry a header, and two baselines in the same process. It is never
// deployed: only bench/stage.ts starts it, on loopback.
import "./randomness.ts";
import { AsyncLocalStorage } from "node:async_hooks";
import { Hono } from "hono";
import { type SeededPlatform, seedPlatform } from "../scripts/platform.ts";
import { parseNetworks } from "../src/chain/networks.ts";
import { buildDeps, type Env } from "../src/context.ts";
import { JOBS } from "../src/cron.ts";
import { openDatabase } from "../src/db/batch.ts";
import { networkAvailability } from "../src/db/tables/chain.ts";
import { followChain } from "../src/follower/job.ts";
import type { Message } from "../src/queue.ts";
import service, {
  AgentObject,
  AttemptGuard,
  IdempotencyObject,
  ChainSigner as RealChainSigner,
  ReplayGuard as RealReplayGuard,
  WebhookCourier as RealWebhookCourier,
  SandboxRecorder,
} from "../src/worker.ts";
import { commitEvents, countDelivered, deliverFresh } from "./deliver.ts";
import { newHanded, runJob, runTrigger, withCollectingQueues } from "./jobs.ts";
import {
  type Cost,
  countHops,
  type Hop,
  meterD1,
  meterObjects,
  newCost,
  type ObjectWork,
  watchCalls,
  watchRefusals,
} from "./meter.ts";

export { AgentObject, AttemptGuard, IdempotencyObject, SandboxRecorder };

type BenchEnv = Env & { readonly BENCH_OUTBOX: string };

/** The header of a request that is metered. */
const METER = "bench-meter";

// ---- Outbound calls and the objects' own work ------------------------------------------------------------------------

const current = new AsyncLocalStorage<Cost>();
const objectCost: ObjectWork = { storageCalls: 0, rowsWritten: 0, fetches: 0 };
const realFetch = globalThis.fetch;
globalThis.fetch = async (...input: Parameters<typeof fetch>) => {
  const counter = current.getStore() ?? objectCost;
  counter.fetches += 1;
  const response = await realFetch(...input);
  if (await isPendingReceipt(input[1]?.body, response)) counter.fetches -= 1;
  return response;
};

/** Polls for a receipt that is still pending do not count, because their number depends only on the node's speed. */
async function isPendingReceipt(body: unknown, response: Response): Promise<boolean> {
  if (typeof body !== "string" || !body.includes("eth_getTransactionReceipt")) return false;
  const asked = [JSON.parse(body) as Asked | Asked[]].flat();
  const answers = [await response.clone().json<Answer | Answer[]>()].flat();
  // A batch request may also ask for the chain's id.
  const receipts = asked.filter(({ method }) => method === "eth_getTransactionReceipt").map(({ id }) => id);
  return answers.filter(({ id }) => receipts.includes(id)).every(({ result }) => result === null);
}
type Asked = { readonly id: number; readonly method: string };
type Answer = { readonly id: number; readonly result?: unknown };

/** Objects share the isolate, and the runner sends one metered request at a time, so the difference belongs to that request. */
function watchStorage(object: object, state: DurableObjectState): void {
  const countCall = () => {
    objectCost.storageCalls += 1;
  };
  const sql = watchCalls(state.storage.sql, countCall, (cursor) => {
    if (typeof cursor === "object" && cursor !== null && "rowsWritten" in cursor) {
      objectCost.rowsWritten += Number(cursor.rowsWritten);
    }
    return cursor;
  });
  const calls = watchCalls(state.storage, countCall);
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

/**
 * True if events and deliveries are sent on right after the calls, as in production. While costs are counted they are not: the bench fans out and
 * delivers where it counts, and an endpoint's object sleeps.
 */
let handsOnOverride: boolean | null = null;
const isHandingOn = (env: BenchEnv): boolean => handsOnOverride ?? env.BENCH_OUTBOX === "on";

export class WebhookCourier extends RealWebhookCourier {
  override async wake(webhookId: string, afresh = false): Promise<void> {
    if (isHandingOn(this.env as BenchEnv)) await super.wake(webhookId, afresh);
  }
}

// ---- One metered request ---------------------------------------------------------------------------------------------

/** The header with the delay, in milliseconds, of each trip and each object call of a metered request. */
const HOP_MS = "bench-hop-ms";

/** The header of a request whose messages to the job queue are counted and dropped: the job that continues the work is metered separately. */
const HOLD = "bench-hold";

const dropMessages = (queue: Env["JOB_QUEUE"]): Env["JOB_QUEUE"] =>
  new Proxy(queue, { get: () => async () => undefined });

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
    ATTEMPTS: meterObjects(env.ATTEMPTS, "ATTEMPTS", cost, hop),
    SANDBOXES: meterObjects(env.SANDBOXES, "SANDBOXES", cost, hop),
    CHAIN_SIGNER: meterObjects(env.CHAIN_SIGNER, "CHAIN_SIGNER", cost, hop),
    WEBHOOKS: meterObjects(env.WEBHOOKS, "WEBHOOKS", cost, hop),
    CHAIN_QUEUE: watchCalls(env.CHAIN_QUEUE, queued),
    JOB_QUEUE: watchCalls(env.JOB_QUEUE, queued),
    OUTBOX_QUEUE: watchCalls(env.OUTBOX_QUEUE, queued),
    WEBHOOK_QUEUE: watchCalls(env.WEBHOOK_QUEUE, queued),
    DOCUMENTS: watchCalls(env.DOCUMENTS, other),
    MAIL: watchCalls(env.MAIL, other),
    ASSETS: watchCalls(env.ASSETS, other),
  };
}

export type Metered = { beforeAnswer: Cost; elapsedMs: number; afterAnswer: Cost; objectWork: ObjectWork };
let last: Metered | null = null;

type Answering = (env: Env, context: ExecutionContext) => Response | Promise<Response>;

/** Sends the answer when the work after it has ended, so that both parts are counted. */
async function runMetered(env: Env, context: ExecutionContext, delay: string | null, answering: Answering) {
  const cost = newCost();
  const background: Promise<unknown>[] = [];
  const waiting = new Proxy(context, {
    get: (target, name) => {
      if (name === "waitUntil") return (work: Promise<unknown>) => void background.push(work);
      const member = Reflect.get(target, name) as unknown;
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  const hop = delay === null ? undefined : countHops(cost, Number(delay));
  const before = { ...objectCost };
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
      storageCalls: objectCost.storageCalls - before.storageCalls,
      rowsWritten: objectCost.rowsWritten - before.rowsWritten,
      fetches: objectCost.fetches - before.fetches,
    },
  };
  return response;
}

// ---- One run of a job, and of a trigger ------------------------------------------------------------------------------

/** Answers 500 unless the run recorded the expected number of rows. */
async function answerRun({ searchParams }: URL, env: Env, context: ExecutionContext): Promise<Response> {
  const [name, expected] = [searchParams.get("name") ?? "", Number(searchParams.get("done"))];
  const job = JOBS.find((known) => known.name === name);
  if (!job) return new Response(`there is no job ${name}`, { status: 404 });
  const latest = () => env.DB.prepare(RUN_OF).bind(name).first<StoredRun>();
  const before = await latest();
  await runMetered(env, context, null, async (own) => {
    await runJob(own, job);
    return new Response(null);
  });
  const after = await latest();
  // A job that finds nothing leaves the row of the run before.
  const isRun = after !== null && (after.pending > 0 || after.started_at !== before?.started_at);
  const run = isRun ? after : IDLE_RUN;
  const { done, failed, last_error } = run;
  if (done === expected && failed + run.pending === 0) return Response.json({ done, failed, last_error });
  return new Response(`expected ${expected} done: ${JSON.stringify(run)}`, { status: 500 });
}

const RUN_OF = "select started_at, done, failed, pending, last_error from jobs where name = ?";
type StoredRun = { started_at: number; done: number; failed: number; pending: number; last_error: string | null };
const IDLE_RUN: StoredRun = { started_at: 0, done: 0, failed: 0, pending: 0, last_error: null };

/** Runs a trigger with everything that it sends to the queues of the jobs and of the chains. */
async function answerTrigger({ searchParams }: URL, env: Env, context: ExecutionContext): Promise<Response> {
  const [cron, handed] = [searchParams.get("cron") ?? "", newHanded()];
  return runMetered(withCollectingQueues(env, handed), context, null, async (own) => {
    await runTrigger(own, cron, handed);
    return new Response(null);
  });
}

/** Processes a message of the follower as the queue does; answers 500 unless it reached the head of the chain. */
async function answerFollowing({ searchParams }: URL, env: Env, context: ExecutionContext): Promise<Response> {
  const network = searchParams.get("network") ?? "";
  return runMetered(env, context, null, async (own) => {
    const level = await followChain(buildDeps(own, own.ISSUER), network, Date.now() + FOLLOWING_MS);
    return new Response(null, { status: level ? 200 : 500 });
  });
}
const FOLLOWING_MS = 20_000;

/**
 * Fans out new events and delivers an endpoint's due deliveries, as its object does; answers 500 unless the expected number was accepted and none is
 * due.
 */
async function answerDelivering({ searchParams }: URL, env: Env, context: ExecutionContext): Promise<Response> {
  const webhookId = searchParams.get("webhook") ?? "";
  const begun = Date.now();
  await runMetered(env, context, null, async (own) => {
    await deliverFresh(buildDeps(own, own.ISSUER), webhookId);
    return new Response(null);
  });
  const delivered = await countDelivered(env.DB, webhookId, begun);
  const ended = delivered.taken === Number(searchParams.get("taken")) && delivered.due === 0;
  return Response.json(delivered, { status: ended ? 200 : 500 });
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
/** The number of trips that D1 has refused since the last call. */
bench.post("/__bench/refused", (context) => {
  const count = refused;
  refused = 0;
  return context.json({ refused: count });
});
bench.post("/__bench/platform", async (context) => {
  const db = openDatabase(context.env.DB);
  await seedPlatform(db, await context.req.json<SeededPlatform>());
  // The follower runs only where a case asks for it, because no call sends it.
  const values = parseNetworks(context.env.NETWORKS).map(({ network }) => ({
    network,
    sentAt: Number.MAX_SAFE_INTEGER,
  }));
  await db.insert(networkAvailability).values(values).onConflictDoNothing();
  return context.json({});
});
/** Runs the bench's own statements as one batch. */
bench.post("/__bench/sql", async (context) => {
  const statements = await context.req.json<Sql[]>();
  const prepared = statements.map(({ sql, params = [] }) => context.env.DB.prepare(sql).bind(...params));
  const results = await context.env.DB.batch(prepared);
  return context.json(results.map(({ results: rows }) => rows));
});

/** Turns the sending on of events and deliveries on or off. */
bench.post("/__bench/hand-on", async (context) => {
  handsOnOverride = (await context.req.json<{ on: boolean }>()).on;
  return context.json({});
});
bench.post("/__bench/events", async (context) => {
  const { platformId, count } = await context.req.json<{ platformId: string; count: number }>();
  return context.json(await commitEvents(buildDeps(context.env, context.env.ISSUER), platformId, count));
});

/**
 * One object for every request of the isolate, like `env` itself, because the service keeps what it builds from it. The limiters answer at once: on
 * Cloudflare they add no latency, and here they would be a call to another service.
 */
let benchEnv: Env | null = null;
let refused = 0;
const UNLIMITED_RATE: RateLimit = { limit: async () => ({ success: true }) };
function envOf(env: Env): Env {
  const countRefusal = () => {
    refused += 1;
  };
  benchEnv ??= {
    ...env,
    DB: watchRefusals(env.DB, countRefusal),
    RATE_CREDENTIAL: UNLIMITED_RATE,
    RATE_ADDRESS: UNLIMITED_RATE,
  };
  return benchEnv;
}

export default {
  fetch(request, env, context) {
    const url = new URL(request.url);
    if (url.pathname === "/__bench/job") return answerRun(url, env, context);
    if (url.pathname === "/__bench/trigger") return answerTrigger(url, envOf(env), context);
    if (url.pathname === "/__bench/deliver") return answerDelivering(url, env, context);
    if (url.pathname === "/__bench/follow") return answerFollowing(url, env, context);
    if (url.pathname.startsWith("/__bench/")) return bench.fetch(request, env, context);
    if (!request.headers.has(METER)) return service.fetch(request, envOf(env), context);
    const known = envOf(env);
    const held = request.headers.has(HOLD) ? { ...known, JOB_QUEUE: dropMessages(known.JOB_QUEUE) } : known;
    return runMetered(held, context, request.headers.get(HOP_MS), (own, waiting) =>
      service.fetch(request, own, waiting),
    );
  },
  /**
   * While costs are counted, only the job delivers events, and only the bench wakes an endpoint or follows the chains: a message would do so while
   * another cost is counted.
   */
  queue: async (batch, env) => {
    const messages = batch.messages.filter(({ body }) => body.kind !== "follow_chain");
    if (isHandingOn(env)) await service.queue(batch, env);
    else if (!/-(outbox|webhooks)$/.test(batch.queue))
      await service.queue({ ...batch, queue: batch.queue, messages }, env);
  },
  scheduled: service.scheduled,
} satisfies ExportedHandler<BenchEnv, Message>;
