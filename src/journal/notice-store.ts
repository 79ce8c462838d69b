// Store of notices that wait for their mail.
import { eq, type SQL, sql } from "drizzle-orm";
import { type Database, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { countEnded, type EndedCount, type EndingTable, selectEndedKeys } from "../db/ended.ts";
import { eachOf, isOneOf } from "../db/lists.ts";
import { splitIntoParts } from "../db/parts.ts";
import { type NoticeRow, notices, type PlatformRow, platforms } from "../db/tables/accounts.ts";

export const insertNotices = (db: Database, rows: readonly Omit<NoticeRow, "attempts">[]): Statement =>
  db.insert(notices).values([...rows]);

/** The columns that address a notice, and the offset of the sandbox clock, for calls that do not read the account. */
export type NoticeAccount = Pick<
  PlatformRow,
  "platformId" | "email" | "adminContactEmail" | "legalName" | "clockOffsetMs"
>;
export const findAddressee = (db: Database, platformId: string | SQL<string>): Read<NoticeAccount | null> =>
  readOne(
    db
      .select({
        platformId: platforms.platformId,
        email: platforms.email,
        adminContactEmail: platforms.adminContactEmail,
        legalName: platforms.legalName,
        clockOffsetMs: platforms.clockOffsetMs,
      })
      .from(platforms)
      .where(eq(platforms.platformId, platformId)),
  );

type Addressee = Pick<NoticeRow, "noticeId" | "platformId" | "recipient">;
type Shared = Pick<NoticeRow, "kind" | "data"> & { readonly now: number };

export const insertAnnounced = (db: Database, { kind, data, now }: Shared, each: readonly Addressee[]): Statement[] =>
  splitIntoParts(each.map(({ noticeId, platformId, recipient }) => [noticeId, platformId, recipient])).map((part) =>
    db.insert(notices).select(
      sql`select value ->> 0, value ->> 1, ${kind}, value ->> 2, ${JSON.stringify(data)}, ${now}, ${now}, 0, 0
            from ${part.rows}`,
    ),
  );

export type Digest = Pick<NoticeRow, "noticeId" | "platformId" | "recipient" | "dueAt"> & {
  readonly account: unknown;
  readonly held: readonly { readonly subject: string; readonly at: number }[];
};

/** Adds notices to their recipient's digest, of which there is one until it is taken. It names at most `most` notices, and counts the others. */
export const addToDigest = (db: Database, { account, held, ...row }: Digest, now: number, most: number): Statement => {
  const merged = sql`select value from ${eachOf(sql`notices.data -> '$.held'`)} union all select value from ${eachOf(sql`excluded.data -> '$.held'`)}`;
  const count = sql`json_array_length(notices.data, '$.held') + json_array_length(excluded.data, '$.held')`;
  return db
    .insert(notices)
    .values({
      ...row,
      kind: "customer.digest",
      data: { account, held: held.slice(0, most), more: Math.max(0, held.length - most) },
      createdAt: now,
      isBounded: false,
    })
    .onConflictDoUpdate({
      target: [notices.platformId, notices.recipient],
      targetWhere: sql`kind = 'customer.digest' and attempts = 0`,
      set: {
        data: sql`json_set(notices.data,
          '$.held', (select json_group_array(json(value)) from (${merged} limit ${most})),
          '$.more', (notices.data ->> '$.more') + (excluded.data ->> '$.more') + max(0, ${count} - ${most}))`,
      },
    });
};

const DUE: EndingTable = { table: notices, key: notices.noticeId, end: notices.dueAt };

export const countDueNotices = (db: Database, now: number, most: number): Read<EndedCount> =>
  countEnded(db, DUE, now, most);

/**
 * Takes due notices and postpones each by the pause after its attempt, so that each notice belongs to one of two concurrent runs, and becomes due
 * again if its mail was not sent. Returns the postponed rows.
 */
export const takeDueNotices = (
  db: Database,
  now: number,
  most: number,
  pausesMs: readonly number[],
): Read<NoticeRow[]> =>
  readAll(
    db
      .update(notices)
      .set({
        dueAt: sql`${now} + coalesce(${JSON.stringify(pausesMs)} ->> ${notices.attempts}, ${pausesMs.at(-1) ?? 0})`,
        attempts: sql`${notices.attempts} + 1`,
      })
      .where(sql`${notices.noticeId} in ${selectEndedKeys(DUE, now, most)}`)
      .returning(),
  );

export const deleteNotices = (db: Database, ids: readonly string[]): Statement =>
  db.delete(notices).where(isOneOf(notices.noticeId, ids));
