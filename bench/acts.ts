// Counts all rows that an act writes: in its calls, in the jobs and messages that follow, and when rows that are kept for 30 days are deleted.
import { readBytes } from "./bytes.ts";
import { nameOf } from "./case.ts";
import { CASES } from "./cases.ts";
import { sendMetered } from "./costs.ts";
import { type Cost, sumOf } from "./meter.ts";
import { payFor } from "./payer.ts";
import {
  agentBody,
  agentPath,
  anyone,
  as,
  buyAndFacilitate,
  facilitation,
  json,
  manage,
  marketBody,
  marketsPath,
  must,
  openPair,
  operate,
  orderBody,
  type Play,
  type PlayedPair,
  principalBody,
} from "./play.ts";
import type { Ask } from "./wire.ts";

export type ActRows = {
  readonly act: string;
  readonly times: number;
  /** Rows of one act by table, the largest number first. */
  readonly tables: readonly (readonly [table: string, rows: number])[];
  /** The other units that Cloudflare bills for one act. */
  readonly billed: Billed;
  /** The number of events that the act writes. */
  readonly events: number;
  /** Bytes of one act in the database, with indexes: until rows that are kept for 30 days are deleted, and for ever. */
  readonly bytes: { readonly standing: number; readonly forEver: number };
};

export type Billed = {
  readonly requests: number;
  readonly rowsRead: number;
  readonly objectCalls: number;
  readonly queueMessages: number;
};

const PAIRS = 4;
/** The number of times that each act is played. */
const ACTS_PLAYED = 60;
/** Purchases of each pair before the measurement: an agent's first signals change its rating more than later ones do. */
const PURCHASES_BEFORE = 5;
/** The number of runs of the minute's trigger that finish everything that follows. */
const MINUTES = 8;
const MONTH_MS = 31 * 24 * 3_600_000;

const runOf = (cron: string): Ask => ({ method: "POST", path: `/__bench/trigger?cron=${encodeURIComponent(cron)}` });
const EVERY_MINUTE = runOf("* * * * *");
const EVERY_HOUR = runOf("0 * * * *");

type Count = (cost: Cost) => void;
/** A call whose rows are counted. */
type CountedCall = (ask: Ask | Promise<Ask>, status: number) => Promise<Record<string, unknown>>;
/** Prepares the n-th act without counting, and returns the act. */
type Prepare = (play: Play, n: number) => Promise<(call: CountedCall) => Promise<void>>;

export async function measureActs(play: Play): Promise<ActRows[]> {
  const pairs: PlayedPair[] = [];
  while (pairs.length < PAIRS) pairs.push(await openPair(play));
  for (const pair of pairs) {
    for (let time = 0; time < PURCHASES_BEFORE; time++) {
      const { taskId } = await buyAndFacilitate(play, pair);
      await must(play.stage, as(pair.consumer, "POST", `/v1/tasks/${taskId}/confirm`, { outcome: "confirmed" }), 200);
    }
  }
  const pairAt = (n: number) => pairs[n % PAIRS] ?? play;
  const measured: ActRows[] = [];
  for (const [act, prepare] of Object.entries(actsOf(pairAt))) measured.push(await measureAct(play, act, prepare));
  return [...measured, await measureDeliveries(play)];
}

async function measureAct(play: Play, act: string, prepare: Prepare): Promise<ActRows> {
  const acts: Awaited<ReturnType<Prepare>>[] = [];
  for (let n = 0; n < ACTS_PLAYED; n++) acts.push(await prepare(play, n));
  // Finishes what the preparation left, so that its rows are not counted.
  await runMinutes(play, () => undefined);
  await endMonth(play, () => undefined);
  const counts = newCounts();
  const call = toCountedCall(play, counts.count);
  const counting: CountedCall = (ask, status) => {
    counts.requests += 1;
    return call(ask, status);
  };
  const before = await readBytes(play.stage);
  for (const one of acts) await one(counting);
  await runMinutes(play, counts.count);
  const standing = await readBytes(play.stage);
  await endMonth(play, counts.count);
  const after = await readBytes(play.stage);
  return divide(act, ACTS_PLAYED, counts, { standing: standing - before, forEver: after - before });
}

/** Measures a hundred deliveries to one endpoint, with the deletion of their log. */
async function measureDeliveries(play: Play): Promise<ActRows> {
  const burst = CASES.find((known) => nameOf(known) === DELIVERIES.case);
  if (!burst) throw new Error(`there is no case ${DELIVERIES.case}`);
  const ask = await burst.ask(play);
  const counts = newCounts();
  const before = await readBytes(play.stage);
  await run(play, counts.count, ask);
  const standing = await readBytes(play.stage);
  await play.stage.sql([{ sql: "update webhook_deliveries set delivery_id = 'dlv_00' || substr(delivery_id, 7)" }]);
  await run(play, counts.count, EVERY_HOUR);
  return divide("delivery", DELIVERIES.many, counts, { standing: standing - before, forEver: 0 });
}
const DELIVERIES = { case: "message deliver (a burst of 100)", many: 100 } as const;

type Counts = {
  readonly count: Count;
  readonly written: Map<string, number>;
  readonly total: { rowsRead: number; objectCalls: number; queueMessages: number };
  requests: number;
  events: number;
};

function newCounts(): Counts {
  const counts: Counts = {
    written: new Map(),
    total: { rowsRead: 0, objectCalls: 0, queueMessages: 0 },
    requests: 0,
    events: 0,
    count: ({ trips, objects, queues }) => {
      const { written, total } = counts;
      total.objectCalls += sumOf(Object.values(objects), (calls) => calls);
      total.queueMessages += queues;
      for (const { sql, rowsRead, rowsWritten } of trips.flat()) {
        total.rowsRead += rowsRead;
        const table = /^(?:insert(?: or \w+)? into|update|delete from) "?(\w+)/i.exec(sql)?.[1] ?? sql.slice(0, 40);
        written.set(table, (written.get(table) ?? 0) + rowsWritten);
        if (table === "events" && sql.startsWith("insert")) counts.events += rowsWritten;
      }
    },
  };
  return counts;
}

function divide(act: string, times: number, counts: Counts, bytes: ActRows["bytes"]): ActRows {
  const { written, total, requests, events } = counts;
  const tables = [...written].map(([table, rows]) => [table, rows / times] as const);
  const each = (sum: number) => sum / times;
  return {
    act,
    times,
    tables: tables.filter(([table, rows]) => rows > 0 && table !== "jobs").sort(([, a], [, b]) => b - a),
    billed: {
      requests: each(requests),
      rowsRead: each(total.rowsRead),
      objectCalls: each(total.objectCalls),
      queueMessages: each(total.queueMessages),
    },
    events: each(events),
    bytes: { standing: each(bytes.standing), forEver: each(bytes.forEver) },
  };
}

export const rowsOf = ({ tables }: ActRows): number => sumOf(tables, ([, rows]) => rows);

const toCountedCall =
  (play: Play, count: Count): CountedCall =>
  async (asked, status) => {
    const ask = await asked;
    const { reply, metered } = await sendMetered(play, ask);
    if (reply.status !== status) throw new Error(`${ask.path}: ${reply.status} ${reply.body.toString()}`);
    count(metered.afterAnswer);
    return reply.body.length === 0 ? {} : json(reply);
  };

const actsOf = (pairAt: (n: number) => PlayedPair): Readonly<Record<string, Prepare>> => ({
  agent: async (play) => (call) => registerSeller(play, call),
  market: async (play) => {
    const { stage, network } = play;
    let did = "";
    await registerSeller(play, async (ask, status) => {
      const answer = json(await must(stage, ask, status));
      did = String(answer["did"] ?? did);
      return answer;
    });
    return async (call) => void (await call(manage(stage, "POST", marketsPath(did), marketBody(network)), 200));
  },
  purchase: async (play, n) => (call) => purchase(play, pairAt(n), call),
  // From the filing of a dispute to the payout of its award.
  dispute: async (play, n) => {
    const { consumer, provider } = pairAt(n);
    const { transactionId: transaction_id } = await buyAndFacilitate(play, { consumer, provider });
    return async (call) => {
      const filing = { transaction_id, reason: "other", disputed_amount: "0.01" };
      const id = String((await call(as(consumer, "POST", "/v1/disputes", filing), 201))["dispute_id"]);
      await call(as(provider, "POST", `/v1/disputes/${id}/respond`, { message: "It was delivered." }), 200);
      await call(as(consumer, "POST", `/v1/disputes/${id}/escalate`), 200);
      const decision = { resolution: "upheld", reason: "So it is." };
      await call(operate(play.stage, "POST", `/v1/operator/disputes/${id}/resolve`, decision), 200);
    };
  },
});

/** Registers a principal and its provider, and reads the provider's document. */
async function registerSeller({ stage, next }: Play, call: CountedCall): Promise<void> {
  const { principal_id: id } = await call(manage(stage, "POST", "/v1/principals", principalBody(next())), 201);
  const { did } = await call(manage(stage, "POST", "/v1/agents", agentBody("PROVIDER", String(id))), 201);
  await call(manage(stage, "POST", `${agentPath(String(did))}/activate`), 200);
  await call(anyone("GET", `${agentPath(String(did))}/aid`), 200);
}

async function purchase({ network }: Play, pair: PlayedPair, call: CountedCall): Promise<void> {
  const { consumer, provider } = pair;
  const order = orderBody(network, pair);
  const intentId = String((await call(as(consumer, "POST", "/v1/payment-intents", order), 201))["intent_id"]);
  const txHash = await payFor(network, { consumerDid: consumer.did, providerDid: provider.did }, intentId);
  const { task_id: taskId } = await call(
    as(consumer, "POST", "/v1/facilitate", facilitation({ intentId, txHash })),
    200,
  );
  await call(as(consumer, "POST", `/v1/tasks/${String(taskId)}/confirm`, { outcome: "confirmed" }), 200);
}

async function run(play: Play, count: Count, ask: Ask): Promise<void> {
  const { reply, metered } = await sendMetered(play, ask);
  if (reply.status !== 200) throw new Error(`${ask.path}: ${reply.body.toString()}`);
  count(metered.afterAnswer);
}

/** Runs the minute's trigger until everything that follows is done. */
async function runMinutes(play: Play, count: Count): Promise<void> {
  for (let minute = 0; minute < MINUTES; minute++) await run(play, count, EVERY_MINUTE);
}

/** Runs what follows a month later. */
async function endMonth(play: Play, count: Count): Promise<void> {
  const { sql } = play.stage;
  const then = Date.now() - MONTH_MS;
  await sql([
    { sql: "delete from event_marks" },
    { sql: "insert into event_marks (at, seq) select ?, max(seq) from events", params: [then] },
    { sql: "update directory_changes set occurred_at = occurred_at - ?", params: [MONTH_MS] },
    { sql: "update directory_hashes set occurred_at = occurred_at - ?", params: [MONTH_MS] },
  ]);
  await run(play, count, EVERY_HOUR);
  await runMinutes(play, count);
}
