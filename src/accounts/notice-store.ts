// Store of notices that wait for their mail.
import type { Database, Statement } from "../db/batch.ts";
import { type NoticeRow, notices } from "../db/tables/accounts.ts";

export const insertNotice = (db: Database, row: Omit<NoticeRow, "attempts">): Statement =>
  db.insert(notices).values(row);
