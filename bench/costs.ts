// Plays every case once under the meter, and adds up what it cost.
import { gzipSync } from "node:zlib";
import { CASES, type Case, nameOf } from "./cases.ts";
import type { StatementCost } from "./meter.ts";
import type { Play } from "./play.ts";
import { type Ask, type Reply, send } from "./wire.ts";
import type { Metered } from "./worker.ts";

export type CaseCost = {
  readonly name: string;
  readonly trips: number;
  readonly statements: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
  /** Calls of Durable Objects, those that are made after the answer among them. */
  readonly objects: number;
  readonly queues: number;
  readonly fetches: number;
  readonly bytes: number;
  readonly gzip: number;
  /** Statements whose rows D1 did not tell. */
  readonly unmetered: number;
  /** What the objects did inside themselves: counted apart. */
  readonly objectRowsWritten: number;
  readonly objectFetches: number;
  readonly each: readonly StatementCost[];
};
export type Outcome = { cost: CaseCost } | { name: string; failed: string };

/** The cases whose route the service has, and the names of the others. */
export async function casesOf({ stage }: Play): Promise<{ present: Case[]; missing: string[] }> {
  const reply = await send(stage.origin, { method: "GET", path: "/openapi.json" });
  const { paths } = JSON.parse(reply.body.toString()) as { paths: Record<string, Record<string, unknown>> };
  const own = new Set(["GET /openapi.json", "GET /healthz"]);
  const has = ({ route }: Case) => {
    const [method = "", path = ""] = route.split(" ");
    return own.has(route) || paths[path]?.[method.toLowerCase()] !== undefined;
  };
  return { present: CASES.filter(has), missing: CASES.filter((known) => !has(known)).map(nameOf) };
}

export async function measureCosts(play: Play, cases: readonly Case[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const known of cases) {
    const name = nameOf(known);
    try {
      outcomes.push({ cost: await measureCase(play, known) });
    } catch (thrown) {
      outcomes.push({ name, failed: thrown instanceof Error ? thrown.message : String(thrown) });
    }
  }
  return outcomes;
}

async function measureCase(play: Play, known: Case): Promise<CaseCost> {
  const ask = await known.ask(play);
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
    rowsRead: total(each, (statement) => statement.rowsRead),
    rowsWritten: total(each, (statement) => statement.rowsWritten),
    objects: total(Object.values(objects), (calls) => calls),
    queues,
    fetches,
    bytes: reply.body.byteLength,
    gzip: reply.body.byteLength === 0 ? 0 : gzipSync(reply.body).byteLength,
    unmetered,
    objectRowsWritten: metered.objectWork.rowsWritten,
    objectFetches: metered.objectWork.fetches,
    each,
  };
}

async function sendMetered({ stage }: Play, ask: Ask): Promise<{ reply: Reply; metered: Metered }> {
  const reply = await send(stage.origin, { ...ask, headers: { ...ask.headers, "Bench-Meter": "1" } });
  const last = await send(stage.origin, { method: "GET", path: "/__bench/last" });
  return { reply, metered: JSON.parse(last.body.toString()) as Metered };
}

const total = <T>(items: readonly T[], pick: (item: T) => number): number =>
  items.reduce((sum, item) => sum + pick(item), 0);
