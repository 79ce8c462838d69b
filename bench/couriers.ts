// Measures webhooks as they run: events a second from their commit to receivers on this machine, and the time that an event takes to a healthy
// endpoint, alone and while other endpoints of its account are dead. As in production, the outbox's queue waits a second for more. Printed, never a
// gate.
import { setTimeout as sleep } from "node:timers/promises";
import { decodeIdInstant } from "../src/core/ids.ts";
import { SECOND_MS } from "../src/core/limits.ts";
import { watchOthers, workerdCpu } from "./cpu.ts";
import { percentile95 } from "./paced.ts";
import { json, manageAs, must, type Play } from "./play.ts";
import type { Manner } from "./receiver.ts";
import { accredit, type Platform, type Stage } from "./stage.ts";

export type Throughput = {
  readonly endpoints: number;
  readonly events: number;
  readonly eventsPerSecond: number;
  readonly deliveriesPerSecond: number;
  /** The CPU time of one delivery, with its share of the fan-out; null if the system does not report it. */
  readonly cpuMicros: number | null;
};
/** The p95 of the milliseconds to the healthy endpoint. */
export type Lag = { readonly from: string; readonly aloneMs: number; readonly besideMs: number };
export type Couriers = {
  readonly throughput: readonly Throughput[];
  readonly dead: number;
  readonly lags: readonly Lag[];
  /** The number of events that the healthy endpoint got alone, and while others were dead. */
  readonly alone: number;
  readonly beside: number;
  /** The share of the machine that other programs used. */
  readonly others: number | null;
};

/** The number of endpoints and of events in each load. */
const LOADS = [
  { endpoints: 1, events: 1_000 },
  { endpoints: 10, events: 200 },
  { endpoints: 20, events: 125 },
] as const;
/** The number of events in one commit. */
const COMMITTED = 100;
const DEAD: readonly Manner[] = ["hangs", "fails"];
const DEAD_EACH = 9;
const EVERY_MS = 100;
const [ALONE_MS, BESIDE_MS] = [8 * SECOND_MS, 20 * SECOND_MS];
/** After this time, dead endpoints rest between their attempts. */
const RESTING_AFTER_MS = 8 * SECOND_MS;
const POLL_MS = 20;
const GIVE_UP_MS = 60 * SECOND_MS;

type Scene = { readonly stage: Stage; readonly platform: Platform };

export async function measureCouriers({ stage }: Play): Promise<Couriers> {
  const scene = { stage, platform: await accredit(stage.origin, "Webhooks under load") };
  for (const mark of ["all", "listed", "webhooks"])
    await stage.sql([
      { sql: "insert or replace into outbox (name, seq) select ?, max(seq) from events", params: [mark] },
    ]);
  await switchHandingOn(stage, true);
  const othersMeanwhile = watchOthers();
  try {
    const throughput: Throughput[] = [];
    for (const { endpoints, events } of LOADS) throughput.push(await measureThroughput(scene, endpoints, events));
    await keepEndpoints(scene, 0);
    const healthy = await endpoint(scene, "ok", "healthy");
    const before = await watchEndpoint(scene, healthy, ALONE_MS);
    for (const manner of DEAD) for (let n = 0; n < DEAD_EACH; n++) await endpoint(scene, manner, `${manner}-${n}`);
    const beside = await watchEndpoint(scene, healthy, BESIDE_MS);
    await keepEndpoints(scene, 1);
    const behind = await watchEndpoint(scene, healthy, ALONE_MS);
    const alone = [...before, ...behind];
    const lag = (from: string, pick: (one: Journey) => number, during: readonly Journey[]): Lag => ({
      from,
      aloneMs: percentile95(alone.map(pick)),
      besideMs: percentile95(during.map(pick)),
    });
    const sinceCommit = ({ commitMs }: Journey) => commitMs;
    const sinceFanOut = ({ fanOutMs }: Journey) => fanOutMs;
    const resting = beside.filter(({ afterMs }) => afterMs >= RESTING_AFTER_MS);
    return {
      throughput,
      dead: DEAD.length * DEAD_EACH,
      lags: [
        lag("the commit", sinceCommit, beside),
        lag("the fan-out", sinceFanOut, beside),
        lag("the commit, while they rest", sinceCommit, resting),
        lag("the fan-out, while they rest", sinceFanOut, resting),
      ],
      alone: alone.length,
      beside: beside.length,
      others: othersMeanwhile(),
    };
  } finally {
    await switchHandingOn(stage, false);
    await keepEndpoints(scene, 0);
  }
}

const switchHandingOn = (stage: Stage, on: boolean) =>
  must(stage, { method: "POST", path: "/__bench/hand-on", body: JSON.stringify({ on }) }, 200);

async function endpoint({ stage, platform }: Scene, manner: Manner, name: string): Promise<string> {
  const body = { url: stage.receiver.urlOf(manner, name), event_types: ["*"] };
  return String(json(await must(stage, manageAs(platform, "POST", "/v1/webhooks", body), 201))["webhook_id"]);
}

/** Keeps the first endpoints of the account, and no rows of the others. */
async function keepEndpoints({ stage, platform }: Scene, count: number): Promise<void> {
  const own = "select webhook_id from webhook_endpoints where platform_id = ?1";
  const others = `select webhook_id from (${own} order by webhook_id limit -1 offset ?2)`;
  const params = [platform.platformId, count];
  const tables = ["webhook_queue", "webhook_deliveries", "webhook_endpoints"];
  await stage.sql(tables.map((table) => ({ sql: `delete from ${table} where webhook_id in (${others})`, params })));
  stage.receiver.release();
}

type Committed = { readonly at: number; readonly ids: readonly string[] };

/** Commits events. `at`: the instant of the commit, by the service's clock. */
async function commit({ stage, platform: { platformId } }: Scene, count: number): Promise<Committed> {
  const body = JSON.stringify({ platformId, count });
  const reply = await must(stage, { method: "POST", path: "/__bench/events", body }, 200);
  return JSON.parse(reply.body.toString()) as Committed;
}

async function awaitCondition(done: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + GIVE_UP_MS; !(await done()); await sleep(POLL_MS))
    if (Date.now() > end) throw new Error("deliveries do not arrive");
}

// ---- Throughput ----------------------------------------------------------------------------------------------------------

async function measureThroughput(scene: Scene, endpoints: number, events: number): Promise<Throughput> {
  const { receiver } = scene.stage;
  await keepEndpoints(scene, 0);
  const names = Array.from({ length: endpoints }, (_, n) => `load-${endpoints}-${n}`);
  for (const name of names) await endpoint(scene, "ok", name);
  const wanted = receiver.count() + events * endpoints;
  const cpu = workerdCpu();
  const [started, cpuBefore] = [Date.now(), cpu?.() ?? 0];
  for (let left = events; left > 0; left -= COMMITTED) await commit(scene, Math.min(left, COMMITTED));
  await awaitCondition(() => receiver.count() >= wanted);
  const last = Math.max(...names.map((name) => receiver.arrivalsOf(name).at(-1)?.at ?? 0));
  const seconds = (last - started) / SECOND_MS;
  return {
    endpoints,
    events,
    eventsPerSecond: events / seconds,
    deliveriesPerSecond: (events * endpoints) / seconds,
    cpuMicros: cpu && (cpu() - cpuBefore) / (events * endpoints),
  };
}

// ---- A healthy endpoint --------------------------------------------------------------------------------------------------

/** The time that an event takes to the endpoint. `afterMs`: the time from the first commit to its own. */
type Journey = { readonly afterMs: number; readonly commitMs: number; readonly fanOutMs: number };

/** Commits an event at intervals, for `ms` milliseconds. */
async function watchEndpoint(scene: Scene, webhookId: string, ms: number): Promise<Journey[]> {
  const { receiver } = scene.stage;
  const committing: Promise<Committed>[] = [];
  for (const started = Date.now(); Date.now() < started + ms; ) {
    committing.push(commit(scene, 1));
    await sleep(Math.max(0, started + committing.length * EVERY_MS - Date.now()));
  }
  const committed = await Promise.all(committing);
  const ids = committed.flatMap((one) => one.ids);
  const arrived = () => new Map(receiver.arrivalsOf("healthy").map(({ eventId, at }) => [eventId, at]));
  await awaitCondition(() => {
    const known = arrived();
    return ids.every((id) => known.has(id));
  });
  const [arrivedAt, fannedOutAt] = [arrived(), await readFanOutTimes(scene, webhookId, ids)];
  const first = committed[0]?.at ?? 0;
  return committed.flatMap(({ at, ids: own }) =>
    own.map((id): Journey => {
      const to = arrivedAt.get(id) ?? Number.NaN;
      return { afterMs: at - first, commitMs: to - at, fanOutMs: to - (fannedOutAt.get(id) ?? Number.NaN) };
    }),
  );
}

/** Returns the instants at which the deliveries of these events were made, from the ids. The log has them soon after their attempts. */
async function readFanOutTimes(
  { stage }: Scene,
  webhookId: string,
  ids: readonly string[],
): Promise<Map<string, number>> {
  const text = "select event_id, delivery_id from webhook_deliveries where webhook_id = ?";
  const found = new Map<string, number>();
  await awaitCondition(async () => {
    const [rows = []] = await stage.sql([{ sql: text, params: [webhookId] }]);
    for (const row of rows) found.set(String(row["event_id"]), decodeIdInstant("dlv", String(row["delivery_id"])) ?? 0);
    return ids.every((id) => found.has(id));
  });
  return found;
}
