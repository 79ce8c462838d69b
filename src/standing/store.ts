// Store of unfinished cascades.
import { and, asc, eq, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/due.ts";
import { type Database, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { type CascadeRow, cascades } from "../db/tables/principals.ts";

export const findCascade = (db: Database, principalId: string | SQL<string>): Read<CascadeRow | null> =>
  readOne(db.select().from(cascades).where(eq(cascades.principalId, principalId)));

/** The oldest cascades first. There are few: a row exists while its cascade runs. */
export const findCascades = (db: Database, after: Due, limit: number): Read<Due[]> =>
  readAll(
    db
      .select({ at: cascades.startedAt, id: cascades.principalId })
      .from(cascades)
      .where(sql`(${cascades.startedAt}, ${cascades.principalId}) > (${after.at}, ${after.id})`)
      .orderBy(asc(cascades.startedAt), asc(cascades.principalId))
      .limit(limit),
  );

/** Stores a cascade. A later stop of the same principal replaces an earlier one and continues with the agents that are left. */
export const beginCascade = (db: Database, row: CascadeRow): Statement =>
  db.insert(cascades).values(row).onConflictDoUpdate({ target: cascades.principalId, set: row });

/** Leaves a cascade that has replaced this one meanwhile. */
export const endCascade = (db: Database, { principalId, trigger, startedAt }: CascadeRow): Statement =>
  db
    .delete(cascades)
    .where(
      and(eq(cascades.principalId, principalId), eq(cascades.trigger, trigger), eq(cascades.startedAt, startedAt)),
    );
