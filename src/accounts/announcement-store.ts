// Store of announcements.
import { and, asc, eq, type SQL, sql } from "drizzle-orm";
import { type Database, mustChange, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { type AnnouncementRow, announcements } from "../db/tables/accounts.ts";

export const insertAnnouncement = (db: Database, row: AnnouncementRow): Statement =>
  db.insert(announcements).values(row);

/** The oldest announcement that has not reached every account. The condition is literal, so that SQLite uses the partial index. */
export const findOpenAnnouncement = (db: Database): Read<AnnouncementRow | null> =>
  readOne(
    db
      .select()
      .from(announcements)
      .where(sql`finished_at is null`)
      .orderBy(asc(announcements.createdAt), asc(announcements.announcementId))
      .limit(1),
  );

/** Fails (Conflict) when another run has advanced further. */
export const advanceAnnouncement = (
  db: Database,
  before: AnnouncementRow,
  reached: string,
  finishedAt: number | null,
): Statement[] =>
  mustChange(
    db,
    db
      .update(announcements)
      .set({ reached, finishedAt })
      .where(and(eq(announcements.announcementId, before.announcementId), isAnnouncementUnchanged(before))),
  );

const isAnnouncementUnchanged = ({ reached }: AnnouncementRow): SQL | undefined =>
  and(eq(announcements.reached, reached), sql`finished_at is null`);

export const findAnnouncements = (db: Database, ids: readonly string[]): Read<AnnouncementRow[]> =>
  readAll(
    db
      .select()
      .from(announcements)
      .where(sql`${announcements.announcementId} in (select value from json_each(${JSON.stringify(ids)}))`),
  );
