// Runs every case once under the meter and adds up its cost.
import { gzipSync } from "node:zlib";
import { type Case, nameOf } from "./case.ts";
import { type StatementCost, sumOf } from "./meter.ts";
import type { Play } from "./play.ts";
import { type Ask, type Reply, send } from "./wire.ts";
import type { Metered } from "./worker.ts";

export type CaseCost = {
  readonly name: string;
  readonly trips: number;
  readonly statements: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
  /** Calls of Durable Objects, including those after the answer. */
  readonly objects: number;
  readonly queues: number;
  readonly fetches: number;
  readonly bytes: number;
  readonly gzip: number;
  /** Rows that the case may read beyond its budget. */
  readonly moreRows: number;
  /** True for a page that is not full yet. */
  readonly filling: boolean;
  /** Statements whose rows D1 did not report. */
  readonly unmetered: number;
  /** The work inside the objects, counted separately. */
  readonly objectRowsWritten: number;
  readonly objectFetches: number;
  /** The time until the answer on this machine; it has no budget. */
  readonly elapsedMs: number;
  readonly each: readonly StatementCost[];
};
type Failed = { readonly name: string; readonly failed: string };
export type Outcome = { readonly cost: CaseCost } | Failed;

/** The delay of each trip and each object call while hops are counted: long enough that concurrent ones overlap. */
export const HOP_MS = 20;
export type Far = { readonly name: string; readonly hops: number; readonly elapsedMs: number };
export type FarOutcome = Far | Failed;

export const measureCosts = (play: Play, cases: readonly Case[]): Promise<Outcome[]> =>
  forEachCase(cases, async (known) => ({ cost: await measureCase(play, known) }));

/** Measures each case; a case that fails does not stop the others. */
async function forEachCase<T>(cases: readonly Case[], measure: (known: Case) => Promise<T>): Promise<(T | Failed)[]> {
  const outcomes: (T | Failed)[] = [];
  for (const known of cases) {
    const failed = (thrown: unknown): Failed => ({
      name: nameOf(known),
      failed: thrown instanceof Error ? thrown.message : String(thrown),
    });
    outcomes.push(await measure(known).catch(failed));
  }
  return outcomes;
}

async function measureCase(play: Play, known: Case): Promise<CaseCost> {
  const ask = await known.ask(play);
  await stampKeys(play);
  const moreRows = (await known.moreRows?.(play)) ?? 0;
  const { reply, metered } = await sendMetered(play, ask);
  if (reply.status !== known.status) {
    throw new Error(`expected ${known.status}, got ${reply.status}: ${reply.body.toString().slice(0, 300)}`);
  }
  const { trips, objects, queues, fetches, unmetered } = metered.afterAnswer;
  const each = trips.flat();
  return {
    name: nameOf(known),
    trips: trips.length,
    statements: each.length,
    rowsRead: sumOf(each, (statement) => statement.rowsRead),
    rowsWritten: sumOf(each, (statement) => statement.rowsWritten),
    objects: sumOf(Object.values(objects), (calls) => calls),
    queues,
    fetches,
    bytes: reply.body.byteLength,
    gzip: reply.body.byteLength === 0 ? 0 : gzipSync(reply.body).byteLength,
    moreRows,
    filling: known.filling ?? false,
    unmetered,
    objectRowsWritten: metered.objectWork.rowsWritten,
    objectFetches: metered.objectWork.fetches,
    elapsedMs: metered.elapsedMs,
    each,
  };
}

/** Stamps all keys, because a key's use is written once an hour and must not count in a case. */
const stampKeys = ({ stage }: Play) =>
  stage.sql([{ sql: "update management_keys set last_used_at = max(last_used_at, ?)", params: [Date.now()] }]);

/** Counts the sequential hops that each call waits for before its answer. */
export const measureFar = (play: Play, cases: readonly Case[]): Promise<FarOutcome[]> =>
  forEachCase(cases, async (known): Promise<Far> => {
    const ask = await known.ask(play);
    const { reply, metered } = await sendMetered(play, ask, { "Bench-Hop-Ms": String(HOP_MS) });
    if (reply.status !== known.status) throw new Error(`from afar: expected ${known.status}, got ${reply.status}`);
    return { name: nameOf(known), hops: metered.beforeAnswer.hops, elapsedMs: metered.elapsedMs };
  });

export async function sendMetered(
  { stage }: Play,
  ask: Ask,
  more: Record<string, string> = {},
): Promise<{ reply: Reply; metered: Metered }> {
  const headers = { ...ask.headers, "Bench-Meter": "1", ...more };
  const reply = await send(stage.origin, { ...ask, headers });
  const last = await send(stage.origin, { method: "GET", path: "/__bench/last" });
  return { reply, metered: JSON.parse(last.body.toString()) as Metered };
}
