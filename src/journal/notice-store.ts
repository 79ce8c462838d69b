// Store of notices that wait for their mail.
import { eq, type SQL, sql } from "drizzle-orm";
import { type Database, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { countEnded, type Ended, type Ending, endedKeys } from "../db/ended.ts";
import { inParts } from "../db/parts.ts";
import { type NoticeRow, notices, type PlatformRow, platforms } from "../db/tables/accounts.ts";

export const insertNotice = (db: Database, row: Omit<NoticeRow, "attempts">): Statement =>
  db.insert(notices).values(row);

/** What a notice is addressed by, where the account's row is not read anyway. */
export type Account = Pick<PlatformRow, "platformId" | "email" | "adminContactEmail" | "legalName">;
export const findAddressee = (db: Database, platformId: string | SQL<string>): Read<Account | null> =>
  readOne(
    db
      .select({
        platformId: platforms.platformId,
        email: platforms.email,
        adminContactEmail: platforms.adminContactEmail,
        legalName: platforms.legalName,
      })
      .from(platforms)
      .where(eq(platforms.platformId, platformId)),
  );

type Addressee = Pick<NoticeRow, "noticeId" | "platformId" | "recipient">;
type Shared = Pick<NoticeRow, "kind" | "data"> & { readonly now: number };

/** The same notice to many. */
export const insertNotices = (db: Database, { kind, data, now }: Shared, each: readonly Addressee[]): Statement[] =>
  inParts(each.map(({ noticeId, platformId, recipient }) => [noticeId, platformId, recipient])).map((part) =>
    db.insert(notices).select(
      sql`select value ->> 0, value ->> 1, ${kind}, value ->> 2, ${JSON.stringify(data)}, ${now}, ${now}, 0
            from ${part.rows}`,
    ),
  );

const DUE: Ending = { table: notices, key: notices.noticeId, end: notices.dueAt };

export const countDueNotices = (db: Database, now: number, most: number): Read<Ended> => countEnded(db, DUE, now, most);

/**
 * Takes due notices and moves each on by the pause that follows its attempt, so that of two runs at once each notice belongs to one, and one
 * whose mail was not sent comes back. Returns them as they are then.
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
      .where(sql`${notices.noticeId} in ${endedKeys(DUE, now, most)}`)
      .returning(),
  );

export const deleteNotices = (db: Database, ids: readonly string[]): Statement =>
  db.delete(notices).where(sql`${notices.noticeId} in (select value from json_each(${JSON.stringify(ids)}))`);
