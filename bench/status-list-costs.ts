// Status lists with many certificates (bench/status-lists.ts): the rows, and the costs of a list, of a place for a new certificate, and of the acts
// that change a list.
import { STATUS_LIST_SIZE } from "../src/core/limits.ts";
import { type Case, nameOf } from "./case.ts";
import { CASES } from "./cases.ts";
import { copyRows, otherId, scatteredDid } from "./copies.ts";
import { type CaseCost, measureCosts, sendMetered } from "./costs.ts";
import { type StatementCost, sumOf } from "./meter.ts";
import { anyone, type Play } from "./play.ts";
import { median } from "./rounds.ts";

/** The acts that take a place, and the acts that make an exception. */
const ACTS = [
  "POST /v1/agents/{did}/activate",
  "POST /v1/agents/{did}/certificate",
  "POST /v1/agents/{did}/rotate-key",
  "POST /v1/agents/{did}/revoke",
  "PATCH /v1/agents/{did}/status",
  "PATCH /v1/agents/{did}/scope",
  "POST /v1/verify/certificate",
];
const TIMES = 9;
/** The number of certificates for which places are drawn. */
export const DRAWN_FOR = 100;

/** The cost of answering one list; the time is the median of several answers. */
export type ListCost = { trips: number; read: number; written: number; ms: number; bytes: number };
export type MeasuredList = { exceptions: number; signed: ListCost; served: ListCost };
/** The rows of an act, without those of the draw of a place and of the sample that may follow it. */
export type ActCost = { name: string; trips: number; statements: number; read: number; written: number };
export type Measured = {
  readonly certificates: number;
  readonly lists: readonly MeasuredList[];
  readonly acts: readonly ActCost[];
  /** The rows read by each draw. A draw that finds no place is followed by another. */
  readonly draws: readonly number[];
  /** The rows read by the hourly count of the newest list. */
  readonly counted: number;
};

// ---- The rows --------------------------------------------------------------------------------------------------------------

export type Filling = { readonly certificates: number; readonly exceptions: number; readonly lists: number };

/** Fills the lists from 2 on. The polynomial gives each certificate of a list a place of its own, as scattered as random ones. */
export async function fillLists(play: Play, { certificates, exceptions, lists }: Filling): Promise<void> {
  const { stage, provider } = play;
  const each = Math.round(certificates / exceptions);
  const inList = `(n / ${lists})`;
  const which = `case when ${inList} % ${each} = 0 then ${inList} / ${each} % 3 end`;
  await stage.sql(
    Array.from({ length: lists }, (_, i) => ({
      sql: `insert into status_lists (list_id, size, created_at, counted_at) values (?, ${STATUS_LIST_SIZE}, 0, ?)`,
      params: [2 + i, Date.now()],
    })),
  );
  const vary = {
    did: scatteredDid(provider.did),
    jti: otherId("crt"),
    list_id: `2 + n % ${lists}`,
    idx: `(30 * ${inList} + 40503) * ${inList} % ${STATUS_LIST_SIZE}`,
    listed_status: `coalesce(${which}, 0)`,
    replaced_at: `case ${which} when 0 then issued_at end`,
  };
  const copies = { table: "certificates", where: `did = '${provider.did}'`, vary };
  await copyRows(stage, copies, { from: 0, to: certificates });
}

/** Suspends certificates of one list until it has the given number of exceptions. */
export async function addExceptions({ stage }: Play, listId: number, exceptions: number): Promise<void> {
  const wanted = exceptions - (await countExceptions(stage, listId));
  const sql = `update certificates set listed_status = 2 where list_id = ? and idx in (select idx from certificates
    where list_id = ? and listed_status = 0 and replaced_at is null
      order by (idx + 7919) * idx % 65521 limit ?)`;
  await stage.sql([{ sql, params: [listId, listId, wanted] }]);
}

async function countExceptions({ sql }: Play["stage"], listId: number): Promise<number> {
  const text = `select count(*) as rows from certificates
    where list_id = ? and (listed_status <> 0 or replaced_at is not null) and expires_at > ?`;
  const [[found] = []] = await sql([{ sql: text, params: [listId, Date.now()] }]);
  return Number(found?.["rows"]);
}

// ---- The measurements ------------------------------------------------------------------------------------------------------

/** Measures the lists; the last one is the newest. */
export async function measure(play: Play, lists: readonly number[]): Promise<Measured> {
  const [[found] = []] = await play.stage.sql([{ sql: "select count(*) as rows from certificates" }]);
  const measured: MeasuredList[] = [];
  for (const listId of lists) measured.push(await measureList(play, listId));
  const acts = await measureActs(play);
  const draws = await measureDraws(play, lists.at(-1) ?? 1);
  return { certificates: Number(found?.["rows"]), lists: measured, acts, draws, counted: await measureCount(play) };
}

export async function measureList(play: Play, listId: number): Promise<MeasuredList> {
  const exceptions = await countExceptions(play.stage, listId);
  const unsign = { sql: "update status_lists set signed_at = null, signed = null where list_id = ?", params: [listId] };
  const signed = await measureAnswers(play, listId, () => play.stage.sql([unsign]));
  return { exceptions, signed, served: await measureAnswers(play, listId, async () => undefined) };
}

/** Sends a credential, so that no cache answers. */
async function measureAnswers(play: Play, listId: number, before: () => Promise<unknown>): Promise<ListCost> {
  const ask = anyone("GET", `/.well-known/aeap-status-lists/${listId}`, undefined, { Authorization: "Bearer none" });
  const costs: ListCost[] = [];
  for (let i = 0; i < TIMES; i++) {
    await before();
    const { reply, metered } = await sendMetered(play, ask);
    if (reply.status !== 200) throw new Error(`list ${listId}: ${reply.status}`);
    const { trips } = metered.afterAnswer;
    const each = trips.flat();
    costs.push({
      trips: trips.length,
      read: sumOf(each, ({ rowsRead }) => rowsRead),
      written: sumOf(each, ({ rowsWritten }) => rowsWritten),
      ms: metered.elapsedMs,
      bytes: reply.body.byteLength,
    });
  }
  const most = (of: keyof ListCost) => Math.max(...costs.map((cost) => cost[of]));
  const ms = median(costs.map((cost) => cost.ms));
  return { trips: most("trips"), read: most("read"), written: most("written"), ms, bytes: most("bytes") };
}

const casesOf = (names: readonly string[]): Case[] =>
  names.map((name) => {
    const found = CASES.find((known) => nameOf(known) === name);
    if (!found) throw new Error(`${name} is no case`);
    return found;
  });

async function costsOf(play: Play, names: readonly string[]): Promise<CaseCost[]> {
  const outcomes = await measureCosts(play, casesOf(names));
  return outcomes.map((outcome) => {
    if ("cost" in outcome) return outcome.cost;
    throw new Error(`${outcome.name}: ${outcome.failed}`);
  });
}

/** The draw of a place, whose rows are random, and the sample of a crowded list. */
const isDraw = ({ sql }: StatementCost): boolean => sql.includes("join json_each(") && sql.includes("as drawn");
const isSample = ({ sql }: StatementCost): boolean => sql.includes("as drawn") && sql.includes("cross join");

async function measureActs(play: Play): Promise<ActCost[]> {
  const acts: ActCost[] = [];
  for (const act of ACTS) acts.push(await measureAct(play, act));
  return acts;
}

async function measureAct(play: Play, act: string): Promise<ActCost> {
  const [cost] = await costsOf(play, [act]);
  if (!cost) throw new Error("unreachable: one case");
  const { name, trips, statements, rowsWritten: written, each } = cost;
  // All places that it drew were taken, which happens once in a hundred and fifty times.
  if (each.filter(isDraw).length > 1) return measureAct(play, act);
  const own = each.filter((statement) => !isDraw(statement) && !isSample(statement));
  const sampled = each.some(isSample) ? 1 : 0;
  return { name, trips: trips - sampled, statements, read: sumOf(own, ({ rowsRead }) => rowsRead), written };
}

/** A sample may by chance find so many places taken that it opens the next list, whose draws are not what is measured. */
async function measureDraws(play: Play, newest: number): Promise<number[]> {
  await play.stage.sql([{ sql: "delete from status_lists where list_id > ?", params: [newest] }]);
  const costs = await costsOf(
    play,
    Array.from({ length: DRAWN_FOR }, () => "POST /v1/agents/{did}/certificate"),
  );
  if ((await newestList(play)) > newest) return measureDraws(play, newest);
  return costs.flatMap(({ each }) => each.filter(isDraw).map(({ rowsRead }) => rowsRead));
}

async function newestList({ stage }: Play): Promise<number> {
  const [[found] = []] = await stage.sql([{ sql: "select max(list_id) as newest from status_lists" }]);
  return Number(found?.["newest"]);
}

async function measureCount(play: Play): Promise<number> {
  await play.stage.sql([{ sql: "update status_lists set counted_at = 0" }]);
  const path = "/__bench/job?name=open_status_lists&done=0";
  const { reply, metered } = await sendMetered(play, { method: "POST", path });
  if (reply.status !== 200) throw new Error(`open_status_lists: ${reply.body.toString()}`);
  return sumOf(metered.afterAnswer.trips.flat(), ({ rowsRead }) => rowsRead);
}
