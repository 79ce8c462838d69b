// Store of an agent's intents: the list of them (PAY-22), and the number of open ones (AGT-35).
import { and, type SQL, sql } from "drizzle-orm";
import type { AskedRows, FoundRows } from "../core/page.ts";
import { type Environment, type IntentStatus, SIDES, type Side } from "../core/vocabulary.ts";
import type { Database, Read } from "../db/batch.ts";
import { isBelow, readRanged, selectBareColumns } from "../db/pages.ts";
import { SIDE_COLUMNS } from "../db/parts.ts";
import { type IntentRow, paymentIntents } from "../db/tables/money.ts";
import { BLOCK_CLOCK_SKEW_MS } from "./states.ts";
import { selectReadThrough } from "./store.ts";

export type ListedIntent = IntentRow & {
  readonly confirmBy: number | null;
  /** The offset of the clock that rules the intent (ACC-9), if it is stored as OPEN. */
  readonly clockOffsetMs: number | null;
  /** The instant up to which payments on its network have been seen, if it is stored as OPEN. */
  readonly readThrough: number | null;
};

const intentColumns = selectBareColumns(paymentIntents);
/** Only a sandbox clock can be moved. */
const OFFSET = sql<number | null>`case when status = 'OPEN' and environment = 'sandbox' then
  (select p.clock_offset_ms from platforms p where p.platform_id = consumer_platform_id) else 0 end`;
const READ_THROUGH = sql<number | null>`case when status = 'OPEN' then
  (select f.read_through from followers f where f.network = listed.network) end`;
const CONFIRM_BY = sql<number | null>`(select t.confirm_by from tasks t where t.task_id = listed.task_id)`;
const SHOWN_COLUMNS = {
  ...intentColumns,
  clockOffsetMs: OFFSET.as("clock_offset_ms"),
  readThrough: READ_THROUGH.as("read_through"),
  confirmBy: CONFIRM_BY.as("confirm_by"),
};

export type IntentFilter = { readonly status?: IntentStatus | undefined; readonly role?: Side | undefined };

/** Lists an agent's intents, newest first. `now`: real time, shifted to each clock. A page by status scans no more than others (db/pages.ts). */
export const listIntents = (
  db: Database,
  did: string,
  { status, role }: IntentFilter,
  now: number,
  page: AskedRows,
): Read<FoundRows<ListedIntent>> => {
  const own = sql`environment = (select a.environment from agents a where a.did = ${did})`;
  const older = isBelow(sql`created_at`, sql`intent_id`, page.after);
  const from = SIDES.filter((side) => role === undefined || role === side).map(
    (side) => sql`payment_intents where ${and(sql`${SIDE_COLUMNS[side]} = ${did}`, own, older)}`,
  );
  const ranges = { columns: intentColumns, from, order: sql`created_at desc, intent_id desc` };
  const fits = status === undefined ? undefined : hasEffectiveStatus(status, now);
  return readRanged(db, { ranges, shown: SHOWN_COLUMNS, fits }, page.limit);
};

/** Selects intents by effective status: an OPEN one has ended at its instant, whether or not that is recorded (PAY-13). */
function hasEffectiveStatus(status: IntentStatus, now: number): SQL {
  const ended = sql`expires_at <= ${now} + ${OFFSET}`;
  if (status === "OPEN") return sql`(status = 'OPEN' and not (${ended}))`;
  if (status === "ABANDONED") return sql`(status = 'ABANDONED' or (status = 'OPEN' and ${ended}))`;
  return sql`status = ${status}`;
}

/**
 * Defines which intents count as open. Without `ahead`: those open at `now`, on the agent's clock (milliseconds). With `ahead`, how far the service's
 * clock is ahead of the chains': also those that may have been paid in time, each until its hold has ended (PAY-11). `real`: real time, if the
 * agent's clock differs from it.
 */
export type OpenAt = { readonly now: number; readonly ahead?: number; readonly real?: number };

/** Counts open intents, at most `most`: a provider's by their index, a consumer's by the holds on its window, which has its delegates' too. */
export const countOpenIntents = (
  { did, environment }: { readonly did: string; readonly environment: Environment },
  at: OpenAt,
  most: number,
): SQL<number> => {
  // Literal text, so that SQLite uses the partial index.
  const stored = sql`select i.expires_at, i.lost_until, i.environment, i.status, i.spent_at, i.network, i.consumer_platform_id from payment_intents i
    where i.provider_did = ${did} and i.status in ('OPEN', 'PAID') and i.spent_at is null limit ${most}`;
  const sold = sql`select count(*) from (${stored}) listed where listed.environment = ${environment} and ${isOpen(at, "listed")}`;
  const held = sql`select h.intent_id from spend_holds h where ${isHoldOfAgent({ did, environment }, at)} limit ${most}`;
  const bought = sql`select count(*) from (${held}) listed cross join payment_intents i on i.intent_id = listed.intent_id
    where i.consumer_did = ${did} and ${isOpen(at)} and i.environment = ${environment}`;
  return sql<number>`((${sold}) + (${bought}))`;
};

/** A paid intent is open until it is facilitated or its time is over. Literal text, so that SQLite uses the partial index. */
function isOpen(at: OpenAt, of: "i" | "listed" = "i"): SQL {
  const i = sql.raw(of);
  const end = at.ahead === undefined ? sql`${i}.expires_at` : sql`max(${i}.expires_at, coalesce(${i}.lost_until, 0))`;
  return sql`${i}.status in ('OPEN', 'PAID') and ${i}.spent_at is null and (${i}.status = 'PAID' or ${end} > ${selectLatestEnd(at, i)})`;
}

/** With `ahead`, holds of ended intents may count too, so all are read. */
const isHoldOfAgent = ({ did, environment }: { did: string; environment: Environment }, { now, ahead }: OpenAt): SQL =>
  sql`h.did = ${did} and h.environment = ${environment}${ahead === undefined ? sql` and h.expires_at > ${now}` : sql``}`;

/** The instant up to which intents have ended: the agent's now, or the instant up to which the network was read, on the intent's own clock. */
function selectLatestEnd({ now, ahead }: OpenAt, i: SQL): SQL {
  if (ahead === undefined) return sql`${now}`;
  const offset = sql`case when ${i}.environment = 'sandbox' then
    (select p.clock_offset_ms from platforms p where p.platform_id = ${i}.consumer_platform_id) else 0 end`;
  return sql`coalesce(${selectReadThrough(sql`${i}.network`)}, 0) + ${offset} + ${ahead - BLOCK_CLOCK_SKEW_MS}`;
}

export const hasOpenIntent = (of: { readonly did: string; readonly environment: Environment }, at: OpenAt): SQL => {
  const { did, environment } = of;
  const open = sql`i.environment = ${environment} and ${isOpen(at)}`;
  return sql`(exists (select 1 from payment_intents i where i.provider_did = ${did} and ${open})
    or exists (select 1 from spend_holds h cross join payment_intents i on i.intent_id = h.intent_id
      where ${isHoldOfAgent(of, at)} and i.consumer_did = ${did} and ${open}))`;
};
