// Store of how many mails an address got within a time (ACC-31).
import { sql } from "drizzle-orm";
import { type Database, type Read, readAll, type Statement } from "../db/batch.ts";
import { countEnded, type Ended, type Ending, isEnded } from "../db/ended.ts";
import { inParts } from "../db/parts.ts";
import { mailCounts } from "../db/tables/accounts.ts";

export type MailCount = { readonly subjectHash: string; readonly mails: number };

/** Counts mails, of each subject once, and answers how many there are with them. A count of a time that is over begins again. */
export const countMails = (
  db: Database,
  each: readonly MailCount[],
  now: number,
  endsAt: number,
): Read<readonly MailCount[]>[] =>
  inParts(each.map(({ subjectHash, mails }) => [subjectHash, mails])).map((part) =>
    readAll(
      db
        .insert(mailCounts)
        .select(sql`select value ->> 0, value ->> 1, ${endsAt} from ${part.rows} where true`)
        .onConflictDoUpdate({
          target: mailCounts.subjectHash,
          set: {
            mails: sql`iif(${mailCounts.endsAt} <= ${now}, 0, ${mailCounts.mails}) + excluded.mails`,
            endsAt: sql`iif(${mailCounts.endsAt} <= ${now}, excluded.ends_at, ${mailCounts.endsAt})`,
          },
        })
        .returning({ subjectHash: mailCounts.subjectHash, mails: mailCounts.mails }),
    ),
  );

const ENDED: Ending = { table: mailCounts, key: mailCounts.subjectHash, end: mailCounts.endsAt };

export const countEndedCounts = (db: Database, by: number, most: number): Read<Ended> =>
  countEnded(db, ENDED, by, most);

export const deleteEndedCounts = (db: Database, by: number, slice: number): Statement =>
  db.delete(mailCounts).where(isEnded(ENDED, by, slice));
