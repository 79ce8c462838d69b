// Store of how many mails an address got in a period (ACC-31).
import { type SQL, sql } from "drizzle-orm";
import { type Database, guard, type Read, read, readAll, type Statement } from "../db/batch.ts";
import { countEnded, type EndedCount, type EndingTable, isEnded } from "../db/ended.ts";
import { splitIntoParts } from "../db/parts.ts";
import { mailCounts } from "../db/tables/accounts.ts";

export type MailCount = { readonly subjectHash: string; readonly mails: number };

/** Adds mails to the counts of the day or hour that ends at an instant, once for each subject, and answers the new counts. */
export const addMailCounts = (db: Database, each: readonly MailCount[], endsAt: number): Read<readonly MailCount[]>[] =>
  splitIntoParts(each.map(({ subjectHash, mails }) => [subjectHash, mails])).map((part) =>
    readAll(
      db
        .insert(mailCounts)
        .select(sql`select value ->> 0, value ->> 1, ${endsAt} from ${part.rows} where true`)
        .onConflictDoUpdate({
          target: [mailCounts.endsAt, mailCounts.subjectHash],
          set: { mails: sql`${mailCounts.mails} + excluded.mails` },
        })
        .returning({ subjectHash: mailCounts.subjectHash, mails: mailCounts.mails }),
    ),
  );

const selectMailCount = (subjectHash: string, endsAt: number): SQL<number> =>
  sql<number>`coalesce((select mails from mail_counts where ends_at = ${endsAt} and subject_hash = ${subjectHash}), 0)`;

export const isBelowLimit = (db: Database, subjectHash: string, endsAt: number, most: number): Read<boolean> =>
  read(
    db.select({ mails: selectMailCount(subjectHash, endsAt).as("mails") }).from(sql`(select 1)`),
    ([row]) => (row?.mails ?? 0) < most,
  );

/** Counts one mail more cheaply than `addMailCounts`. Fails the batch (Conflict) if the count then exceeds `most`. */
export const addMailCount = (db: Database, subjectHash: string, endsAt: number, most: number): Statement[] => [
  db
    .insert(mailCounts)
    .values({ subjectHash, endsAt, mails: 1 })
    .onConflictDoUpdate({
      target: [mailCounts.endsAt, mailCounts.subjectHash],
      set: { mails: sql`${mailCounts.mails} + 1` },
    }),
  guard(db, sql`${selectMailCount(subjectHash, endsAt)} <= ${most}`),
];

const ENDING_COUNTS: EndingTable = {
  table: mailCounts,
  key: [mailCounts.endsAt, mailCounts.subjectHash],
  end: mailCounts.endsAt,
};

export const countEndedCounts = (db: Database, by: number, most: number): Read<EndedCount> =>
  countEnded(db, ENDING_COUNTS, by, most);

export const deleteEndedCounts = (db: Database, by: number, slice: number): Statement =>
  db.delete(mailCounts).where(isEnded(ENDING_COUNTS, by, slice));
