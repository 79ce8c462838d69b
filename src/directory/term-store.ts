// Store of the terms by which entries are found (DIR-9), and of the number of entries that have each.
import { and, eq, sql } from "drizzle-orm";
import type { Database, Statement } from "../db/batch.ts";
import { splitIntoParts } from "../db/parts.ts";
import { directoryTermCounts, directoryTerms } from "../db/tables/directory.ts";

/** One statement writes all terms, and one their counts. */
export function addTerms(db: Database, did: string, terms: readonly string[]): Statement[] {
  const rows = splitIntoParts(terms.map((term) => [term]));
  return [
    ...rows.map((part) => db.insert(directoryTerms).select(sql`select value ->> 0, ${did} from ${part.rows}`)),
    ...rows.map((part) =>
      db
        .insert(directoryTermCounts)
        .select(sql`select value ->> 0, 1 from ${part.rows} where true`)
        .onConflictDoUpdate({
          target: directoryTermCounts.term,
          set: { entries: sql`${directoryTermCounts.entries} + 1` },
        }),
    ),
  ];
}

export const dropTerms = (db: Database, did: string, terms: readonly string[]): Statement[] =>
  splitIntoParts(terms.map((term) => [term])).flatMap(({ rows }) => {
    const gone = sql`(select value ->> 0 from ${rows})`;
    return [
      db.delete(directoryTerms).where(and(sql`${directoryTerms.term} in ${gone}`, eq(directoryTerms.did, did))),
      db
        .update(directoryTermCounts)
        .set({ entries: sql`${directoryTermCounts.entries} - 1` })
        .where(sql`${directoryTermCounts.term} in ${gone}`),
    ];
  });
