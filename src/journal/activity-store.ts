// Store of activity entries. Each is numbered inside the batch that writes it: D1 runs one batch at a time, so a platform's numbers have no gap and
// follow the order of the commits (EVT-11).
import { and, asc, eq, gt, gte, lte, type Placeholder, type SQL, sql } from "drizzle-orm";
import { HOUR_MS } from "../core/limits.ts";
import type { ActivityAction, Actor, ActorType, Environment } from "../core/vocabulary.ts";
import { type Database, type Read, read, readAll, type Statement } from "../db/batch.ts";
import { compileWrite } from "../db/compiled.ts";
import { eachOf } from "../db/lists.ts";
import { selectBareColumns } from "../db/pages.ts";
import { splitIntoParts } from "../db/parts.ts";
import { type ActivityRow, activityEntries } from "../db/tables/journal.ts";
import { findLogRows, type Range, readLogPage } from "./log-store.ts";

type Entry = Omit<typeof activityEntries.$inferInsert, "seq" | "hash">;

const compiledEntryInsert = compileWrite((db) => {
  const { placeholder } = sql;
  return db.insert(activityEntries).values({
    platformId: placeholder("platformId"),
    seq: sql`${selectLastEntry(placeholder("platformId"))} + 1`,
    environment: placeholder("environment"),
    occurredAt: placeholder("occurredAt"),
    action: placeholder("action"),
    actorType: placeholder("actorType"),
    actorId: placeholder("actorId"),
    subjectType: placeholder("subjectType"),
    subjectId: placeholder("subjectId"),
    changes: placeholder("changes"),
  });
});

export const insertEntry = (db: Database, row: Entry): Statement => ({
  statement: compiledEntryInsert(db, row),
  notifies: { activityOf: row.platformId },
});

export const selectLastEntry = (platformId: string | Placeholder): SQL =>
  sql`(select coalesce(max(seq), 0) from activity_entries where platform_id = ${platformId})`;

/** The number of the last entry, because the numbers have no gap. */
export const countEntries = (db: Database, platformId: string): Read<number> =>
  read(
    db.select({ count: sql<number>`${selectLastEntry(platformId)}`.as("count") }).from(sql`(select 1)`),
    ([row]) => row?.count ?? 0,
  );

type EntryOfOne = Pick<Entry, "environment" | "subjectId" | "changes">;
type Shared = { readonly at: number; readonly action: string; readonly actor: Actor; readonly subjectType: string };

/** Inserts entries of one platform, in order. `noted`: the number before them, if the batch has noted it. */
export const insertEntries = (
  db: Database,
  platformId: string,
  { at, action, actor, subjectType }: Shared,
  each: readonly EntryOfOne[],
  noted?: SQL,
): Statement[] => {
  const [only] = each;
  if (only && each.length === 1) {
    const shared = { occurredAt: at, action, actorType: actor.type, actorId: actor.id, subjectType };
    return [insertEntry(db, { platformId, ...shared, ...only })];
  }
  return splitIntoParts(each.map((row) => [row.environment, row.subjectId, row.changes])).map(({ rows, before }) => ({
    statement: db.insert(activityEntries).select(
      sql`select ${platformId}, key + 1 + ${noted ? sql`${noted} + ${before}` : selectLastEntry(platformId)}, value ->> 0, ${at},
          ${action}, ${actor.type}, ${actor.id}, ${subjectType}, value ->> 1, value -> 2, null from ${rows}`,
    ),
    notifies: { activityOf: platformId },
  }));
};

export const deleteEntries = (db: Database, platformIds: SQL): Statement =>
  db.delete(activityEntries).where(sql`${activityEntries.platformId} in ${platformIds}`);

/** The changes of each subject's newest entry of an action, by platform and subject. */
export const findNewestChanges = (
  db: Database,
  action: ActivityAction,
  subjects: readonly (readonly [platformId: string, subjectId: string])[],
): Read<(ActivityRow["changes"] | null)[]> => {
  const newest = sql<string | null>`(select e.changes from activity_entries e indexed by activity_entries_by_subject
    where e.platform_id = k.value ->> 0 and e.subject_id = k.value ->> 1 and e.action = ${action} order by e.seq desc limit 1)`;
  return read(db.select({ changes: newest.as("changes") }).from(sql`${eachOf(subjects)} k`), (rows) =>
    rows.map(({ changes }) => (changes === null ? null : JSON.parse(changes))),
  );
};

// ---- Pages ---------------------------------------------------------------------------------------------------------------

export type ActivityFilter = {
  readonly subjectType?: string | undefined;
  readonly subjectId?: string | undefined;
  readonly actorType?: ActorType | undefined;
  readonly actor?: string | undefined;
  readonly action?: ActivityAction | undefined;
  readonly environment?: Environment | undefined;
  /** Epoch milliseconds, exclusive on both sides. */
  readonly after?: number | undefined;
  readonly before?: number | undefined;
};

const { hash: _hash, ...shown } = selectBareColumns(activityEntries);
export type ShownRow = Omit<ActivityRow, "hash">;

/** The index of the narrowest filter. Without INDEXED BY, SQLite would walk the primary key. */
function chooseIndex(filter: ActivityFilter): { readonly name: keyof ActivityFilter; readonly source: SQL } | null {
  if (filter.subjectId !== undefined) {
    return { name: "subjectId", source: sql`activity_entries indexed by activity_entries_by_subject` };
  }
  if (filter.action !== undefined) {
    return { name: "action", source: sql`activity_entries indexed by activity_entries_by_action` };
  }
  if (filter.actor !== undefined) {
    return { name: "actor", source: sql`activity_entries indexed by activity_entries_by_actor` };
  }
  return null;
}

/** `below`: the number of the entry after which the page continues; null for the newest page. */
export function toRange(platformId: string | SQL<string>, filter: ActivityFilter, below: number | null): Range {
  const index = chooseIndex(filter);
  // A subject's id implies its type, so the type is no condition here. The caller checks it on the rows that are found.
  const { after, before, subjectType, ...ids } = filter;
  const equal = { ...ids, subjectType: ids.subjectId === undefined ? subjectType : undefined };
  const conditions = Object.entries(COLUMNS).flatMap(([name, column]) => {
    const value = equal[name as keyof typeof equal];
    return value === undefined ? [] : [{ name, condition: sql`${column} = ${value}` }];
  });
  const last = sql`${below ?? Number.MAX_SAFE_INTEGER}`;
  return {
    source: index?.source ?? sql`activity_entries`,
    keys: [
      sql`platform_id = ${platformId}`,
      ...conditions.filter(({ name }) => name === index?.name).map(({ condition }) => condition),
    ],
    below: before === undefined ? last : sql`min(${last}, ${selectUpperBound(platformId, before)})`,
    above: after === undefined ? undefined : selectLowerBound(platformId, after),
    rest: [
      ...conditions.filter(({ name }) => name !== index?.name).map(({ condition }) => condition),
      ...(after === undefined ? [] : [sql`occurred_at > ${after}`]),
      ...(before === undefined ? [] : [sql`occurred_at < ${before}`]),
    ],
  };
}

const COLUMNS = {
  subjectType: sql`subject_type`,
  subjectId: sql`subject_id`,
  actorType: sql`actor_type`,
  actor: sql`actor_id`,
  action: sql`action`,
  environment: sql`environment`,
} as const satisfies Partial<Record<keyof ActivityFilter, SQL>>;

/**
 * An entry is dated shortly before its commit, or ahead of it by the sandbox clock, which only goes forward. So the signed heads, which are dated by
 * real time, bound the numbers of a range of time: every entry up to a head was committed before the head was signed.
 */
const SLACK_MS = HOUR_MS;

const selectUpperBound = (platformId: string | SQL<string>, before: number): SQL =>
  sql`coalesce((select seq + 1 from activity_heads where platform_id = ${platformId}
    and signed_at >= ${before + SLACK_MS} order by signed_at limit 1), ${Number.MAX_SAFE_INTEGER})`;

const selectLowerBound = (platformId: string | SQL<string>, after: number): SQL =>
  sql`coalesce((select seq from activity_heads where platform_id = ${platformId} and signed_at <= ${after - SLACK_MS}
    - (select clock_offset_ms from platforms where platform_id = ${platformId}) order by signed_at desc limit 1), 0)`;

export const readEntries = (db: Database, range: Range, limit: number) =>
  readLogPage(db, findLogRows<ShownRow>(db, shown, range, limit), range, limit);

// ---- The running hash ----------------------------------------------------------------------------------------------------

export const findUnhashed = (db: Database, platformId: string, limit: number): Read<ActivityRow[]> =>
  readAll(
    db
      .select()
      .from(activityEntries)
      .where(
        and(
          eq(activityEntries.platformId, platformId),
          sql`seq > coalesce((select c.seq from activity_chains c where c.platform_id = ${platformId}), 0)`,
        ),
      )
      .orderBy(asc(activityEntries.seq))
      .limit(limit),
  );

/** Stores the hashes of the entries after `after`. The cast is needed because D1 binds numbers as REAL. */
export const setHashes = (db: Database, platformId: string, after: number, hashes: readonly string[]): Statement =>
  db
    .update(activityEntries)
    .set({ hash: sql`${JSON.stringify(hashes)} ->> cast(seq - ${after} - 1 as integer)` })
    .where(
      and(
        eq(activityEntries.platformId, platformId),
        gt(activityEntries.seq, after),
        lte(activityEntries.seq, after + hashes.length),
      ),
    );

/** Entries by number, with their hashes; `from` and `to` are inclusive. */
export const findHashed = (
  db: Database,
  platformId: string,
  { from, to, limit }: { readonly from: number; readonly to: number; readonly limit: number },
): Read<ActivityRow[]> =>
  readAll(
    db
      .select()
      .from(activityEntries)
      .where(
        and(eq(activityEntries.platformId, platformId), gte(activityEntries.seq, from), lte(activityEntries.seq, to)),
      )
      .orderBy(asc(activityEntries.seq))
      .limit(limit),
  );
