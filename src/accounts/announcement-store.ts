// Store of announcements.
import { type SQL, sql } from "drizzle-orm";
import { type Database, type Read, readAll, type Statement } from "../db/batch.ts";
import { isOneOf } from "../db/lists.ts";
import { type AnnouncementRow, announcements } from "../db/tables/accounts.ts";

export const insertAnnouncement = (db: Database, row: AnnouncementRow): Statement =>
  db.insert(announcements).values(row);

/** The last account that has its notice. */
export const selectLastNotified = (announcementId: string): SQL =>
  sql`(select after_id from walks where kind = 'announcement' and subject = ${announcementId})`;

export const findAnnouncements = (db: Database, ids: readonly string[]): Read<AnnouncementRow[]> =>
  readAll(db.select().from(announcements).where(isOneOf(announcements.announcementId, ids)));
