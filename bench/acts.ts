// Counts the rows that a purchase writes in all: by its calls, by what follows behind them, and by the deletion of what is kept for 30 days.
import { sendMetered } from "./costs.ts";
import { type StatementCost, sumOf } from "./meter.ts";
import { payFor } from "./payer.ts";
import { as, facilitated, facilitation, json, must, openPair, orderBody, type Play, type PlayedPair } from "./play.ts";
import type { Ask } from "./wire.ts";

export type ActRows = {
  readonly act: string;
  readonly times: number;
  /** Rows of one act by table, the most first. */
  readonly tables: readonly (readonly [table: string, rows: number])[];
};

const PAIRS = 4;
const PURCHASES = 20;
/** Purchases of each pair before: the first signals of an agent move its rating further than later ones do. */
const BEFORE = 5;
/** Runs of the minute's trigger in which all that follows is done. */
const MINUTES = 3;
const MONTH_MS = 31 * 24 * 3_600_000;

const runOf = (cron: string): Ask => ({ method: "POST", path: `/__bench/trigger?cron=${encodeURIComponent(cron)}` });
const EVERY_MINUTE = runOf("* * * * *");
const EVERY_HOUR = runOf("0 * * * *");

type Count = (statements: readonly StatementCost[]) => void;
type Calling = (ask: Ask, status: number) => Promise<Record<string, unknown>>;

export async function measureActs(play: Play): Promise<ActRows[]> {
  const pairs: PlayedPair[] = [];
  while (pairs.length < PAIRS) pairs.push(await openPair(play));
  for (const pair of pairs) {
    for (let time = 0; time < BEFORE; time++) {
      const { taskId } = await facilitated(play, pair);
      await must(play.stage, as(pair.consumer, "POST", `/v1/tasks/${taskId}/confirm`, { outcome: "confirmed" }), 200);
    }
  }
  // What stands before is of nobody who is counted.
  await follow(play, () => undefined);
  const written = new Map<string, number>();
  const count: Count = (statements) => {
    for (const { sql, rowsWritten } of statements) {
      const table = /^(?:insert(?: or \w+)? into|update|delete from) "?(\w+)/i.exec(sql)?.[1] ?? sql.slice(0, 40);
      written.set(table, (written.get(table) ?? 0) + rowsWritten);
    }
  };
  for (let n = 0; n < PURCHASES; n++) await purchase(play, pairs[n % PAIRS] ?? play, count);
  await follow(play, count);
  const tables = [...written].map(([table, rows]) => [table, rows / PURCHASES] as const);
  const counted = tables.filter(([table, rows]) => rows > 0 && table !== "jobs").sort(([, a], [, b]) => b - a);
  return [{ act: "purchase", times: PURCHASES, tables: counted }];
}

export const rowsOf = ({ tables }: ActRows): number => sumOf(tables, ([, rows]) => rows);

const callingOf =
  (play: Play, count: Count): Calling =>
  async (ask, status) => {
    const { reply, metered } = await sendMetered(play, ask);
    if (reply.status !== status) throw new Error(`${ask.path}: ${reply.status} ${reply.body.toString()}`);
    count(metered.afterAnswer.trips.flat());
    return reply.body.length === 0 ? {} : json(reply);
  };

async function purchase(play: Play, pair: PlayedPair, count: Count): Promise<void> {
  const { network } = play;
  const { consumer, provider } = pair;
  const call = callingOf(play, count);
  const order = orderBody(network, pair);
  const intentId = String((await call(await as(consumer, "POST", "/v1/payment-intents", order), 201))["intent_id"]);
  const txHash = await payFor(network, { consumerDid: consumer.did, providerDid: provider.did }, intentId);
  const body = facilitation({ intentId, txHash });
  const { task_id: taskId } = await call(await as(consumer, "POST", "/v1/facilitate", body), 200);
  await call(await as(consumer, "POST", `/v1/tasks/${String(taskId)}/confirm`, { outcome: "confirmed" }), 200);
}

/** All that follows, until a month later. */
async function follow(play: Play, count: Count): Promise<void> {
  const { sql } = play.stage;
  const run = async (ask: Ask) => {
    const { reply, metered } = await sendMetered(play, ask);
    if (reply.status !== 200) throw new Error(`${ask.path}: ${reply.body.toString()}`);
    count(metered.afterAnswer.trips.flat());
  };
  for (let minute = 0; minute < MINUTES; minute++) await run(EVERY_MINUTE);
  const then = Date.now() - MONTH_MS;
  await sql([
    { sql: "delete from event_marks" },
    { sql: "insert into event_marks (at, seq) select ?, max(seq) from events", params: [then] },
    { sql: "update directory_changes set occurred_at = occurred_at - ?", params: [MONTH_MS] },
    { sql: "update directory_hashes set occurred_at = occurred_at - ?", params: [MONTH_MS] },
  ]);
  await run(EVERY_HOUR);
  for (let minute = 0; minute < MINUTES; minute++) await run(EVERY_MINUTE);
}
