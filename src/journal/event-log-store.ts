// Store of the list of a platform's events (EVT-17 to EVT-19), newest first by number. A page also scans a bounded number of events, of all tenants,
// that no job has listed yet.
import { and, asc, desc, lte, type SQL, sql } from "drizzle-orm";
import { computeFirstId } from "../core/ids.ts";
import type { FoundRows } from "../core/page.ts";
import { type Database, type PlainStatement, type Read, read, readAll, readOne, type Statement } from "../db/batch.ts";
import { readRanged, selectBareColumns } from "../db/pages.ts";
import type { Tenant } from "../db/statement.ts";
import { type EventRow, eventMarks, events } from "../db/tables/journal.ts";
import { deleteEvents, markListed, moveMark, selectMark } from "./log-store.ts";

export type EventFilter = {
  readonly type?: string | undefined;
  readonly subject?: string | undefined;
  /** The id of an event, or an instant in epoch milliseconds; later events are listed. */
  readonly since?: { readonly id: string } | { readonly at: number } | undefined;
};

/** `first`: the instant of real time from which events are shown. `after`: the id of the previous page's last event. */
export function listEvents(
  db: Database,
  tenant: Tenant,
  { type, subject, since }: EventFilter,
  { limit, after, first }: { readonly limit: number; readonly after: string | null; readonly first: number },
): Read<FoundRows<EventRow>> {
  const from = since && ("id" in since ? selectEventNumber(tenant, since.id) : selectNumberBefore(tenant, since.at));
  const place = and(
    sql`seq > ${selectLastNumberBefore(first)}`,
    from && sql`seq > ${from}`,
    after === null ? undefined : sql`seq < ${selectEventNumber(tenant, after)}`,
  );
  const ranges = {
    columns: shownColumns,
    order: sql`seq desc`,
    from: toRanges(tenant, subject).map((range) => sql`${range} and ${place}`),
  };
  const fits = and(
    type === undefined ? undefined : sql`type = ${type}`,
    since && "at" in since ? sql`occurred_at > ${since.at}` : undefined,
  );
  return readRanged(db, { ranges, fits }, limit);
}

export const findEvent = (db: Database, tenant: Tenant, id: string, first: number): Read<EventRow | null> =>
  readOne(
    db
      .select(shownColumns)
      .from(sql`events`)
      .where(sql`seq = ${selectEventNumber(tenant, id)} and seq > ${selectLastNumberBefore(first)}`),
  );

const shownColumns = selectBareColumns(events);

/** Ranges of a tenant's events: all of them, or those about a subject, one for each place where an event may name it. */
const toRanges = (tenant: Tenant, subject: string | undefined): SQL[] =>
  subject === undefined
    ? [
        sql`events indexed by events_by_tenant where listed = 1 and ${isEventOfTenant(tenant)}`,
        selectUnlistedEvents(tenant),
      ]
    : [
        sql`events indexed by events_by_agent where listed = 1 and agent_did = ${subject} and ${isEventOfTenant(tenant)}`,
        sql`events indexed by events_by_other where listed = 1 and other_did = ${subject} and ${isEventOfTenant(tenant)}`,
        sql`events indexed by events_by_subject where listed = 1 and subject = ${subject} and ${isEventOfTenant(tenant)}`,
        sql`${selectUnlistedEvents(tenant)} and ${subject} in (agent_did, other_did, subject)`,
      ];

// ---- Numbers of events ---------------------------------------------------------------------------------------------------

/** Oldest first. If more are waiting, the newest appear later, and a reader that continues from the last event shown misses none. */
const UNLISTED_SCANNED = 1_000;
/** Events of nearly the same instant may have ids and numbers in different orders, so this many are compared. */
const NEIGHBOURS = 20;

const isEventOfTenant = ({ platformId, environment }: Tenant): SQL =>
  sql`platform_id = ${platformId} and environment = ${environment}`;

const selectUnlistedEvents = (tenant: Tenant): SQL =>
  sql`events not indexed where seq > ${LISTED_TO} and seq <= ${LISTED_TO} + ${UNLISTED_SCANNED} and ${isEventOfTenant(tenant)}`;

const selectEventNumber = (tenant: Tenant, id: string): SQL =>
  sql`coalesce((select seq from events indexed by events_by_id where listed = 1 and ${isEventOfTenant(tenant)} and id = ${id}),
    (select seq from ${selectUnlistedEvents(tenant)} and id = ${id}))`;

/** The number of an event; null if it is older than the first event that is shown. */
export const findEventNumber = (db: Database, tenant: Tenant, id: string, first: number): Read<number | null> =>
  read(
    db
      .select({ seq: sql<number>`seq` })
      .from(sql`(select ${selectEventNumber(tenant, id)} as seq)`)
      .where(sql`seq > ${selectLastNumberBefore(first)}`),
    ([row]) => row?.seq ?? null,
  );

/** The number after which events are later than the instant, except for neighbours, which the caller compares. */
const selectNumberBefore = (tenant: Tenant, instant: number): SQL =>
  sql`coalesce((select min(seq) - 1 from (select seq from events indexed by events_by_id where listed = 1 and ${isEventOfTenant(tenant)}
    and id >= ${computeFirstId("evt", instant + 1)} order by id limit ${NEIGHBOURS})), ${LISTED_TO})`;

/** Never before the first event that is shown. */
export const findEventNumberAt = (db: Database, tenant: Tenant, instant: number, first: number): Read<number | null> =>
  read(
    db
      .select({ seq: sql<number>`seq` })
      .from(sql`(select max(${selectNumberBefore(tenant, instant)}, ${selectLastNumberBefore(first)}) as seq)`),
    ([row]) => row?.seq ?? null,
  );

// ---- Listing after the commit (EVT-18) -----------------------------------------------------------------------------------

export const LISTED_TO = selectMark("listed");

export type Unlisted = { readonly seq: number; readonly occurredAt: number };

export const findUnlisted = (db: Database, limit: number): Read<Unlisted[]> =>
  readAll(
    db
      .select({ seq: events.seq, occurredAt: events.occurredAt })
      .from(events)
      .where(sql`${events.seq} > ${LISTED_TO}`)
      .orderBy(asc(events.seq))
      .limit(limit),
  );

/** Lists the events after `from`, up to `to`, and moves the mark. If two runs read the same events, the second one is refused. */
export const markEventsListed = (db: Database, from: number, to: number): Statement[] => [
  ...moveMark(db, from, to, "listed"),
  markListed(db, from, to),
];

// ---- Age and deletion (EVT-19) -------------------------------------------------------------------------------------------

/** Notes the number of the last event, unless one was noted after `since`. */
export const recordAge = (db: Database, now: number, since: number): PlainStatement =>
  db.insert(eventMarks).select(
    sql`select ${now}, (select max(seq) from events)
      where not exists (select 1 from event_marks where at > ${since}) and (select max(seq) from events) is not null`,
  );

/** The number up to which events are older than the instant. */
export const selectLastNumberBefore = (instant: number): SQL =>
  sql`coalesce((select m.seq from event_marks m where m.at <= ${instant} order by m.at desc limit 1), 0)`;

/** Events that are no longer shown, oldest first. The newest event always stays, because SQLite numbers the next one after it. */
export const findPrunableEvents = (db: Database, before: number, limit: number): Read<number[]> =>
  read(
    db
      .select({ seq: events.seq })
      .from(events)
      .where(
        sql`${events.seq} <= min(${selectLastNumberBefore(before)}, ${LISTED_TO}, ${selectMark("all")}, ${selectMark("webhooks")},
          (select max(seq) from events) - 1)`,
      )
      .orderBy(asc(events.seq))
      .limit(limit),
    (rows) => rows.map(({ seq }) => seq),
  );

/** Deletes events, and the age marks that no longer bound any event. */
export const pruneEvents = (db: Database, seqs: readonly number[], before: number): Statement[] => {
  const newest = db
    .select({ at: eventMarks.at })
    .from(eventMarks)
    .where(lte(eventMarks.at, before))
    .orderBy(desc(eventMarks.at))
    .limit(1);
  return [deleteEvents(db, seqs), db.delete(eventMarks).where(sql`${eventMarks.at} < (${newest})`)];
};
