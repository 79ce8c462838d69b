// Store of the terms by which entries are found (DIR-9), and of how many entries have each.
import { and, eq, sql } from "drizzle-orm";
import type { Database, Statement } from "../db/batch.ts";
import { directoryTermCounts, directoryTerms } from "../db/tables/directory.ts";

type Placed = { readonly did: string; readonly term: string };

export const addTerm = (db: Database, { did, term }: Placed): Statement[] => [
  db.insert(directoryTerms).values({ did, term }),
  db
    .insert(directoryTermCounts)
    .values({ term, entries: 1 })
    .onConflictDoUpdate({
      target: directoryTermCounts.term,
      set: { entries: sql`${directoryTermCounts.entries} + 1` },
    }),
];

export const dropTerm = (db: Database, { did, term }: Placed): Statement[] => [
  db.delete(directoryTerms).where(and(eq(directoryTerms.term, term), eq(directoryTerms.did, did))),
  db
    .update(directoryTermCounts)
    .set({ entries: sql`${directoryTermCounts.entries} - 1` })
    .where(eq(directoryTermCounts.term, term)),
];
