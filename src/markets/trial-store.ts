// Store of the registrations that accounts make on mainnets with their sandbox keys (MKT-25).
import { and, eq, type SQL, sql } from "drizzle-orm";
import { DAY_MS } from "../core/limits.ts";
import { type Condition, type Database, mustChange, type Read, readOne, type Statement } from "../db/batch.ts";
import { eachOf } from "../db/lists.ts";
import { type MainnetTrials, mainnetTrials } from "../db/tables/agents.ts";
import type { Tenant } from "../db/tenant.ts";

export const findTrials = (db: Database, { platformId }: Pick<Tenant, "platformId">): Read<MainnetTrials | null> =>
  readOne(db.select().from(mainnetTrials).where(eq(mainnetTrials.platformId, platformId)));

/** Refused if another call of the account has counted meanwhile. */
export const putTrials = (db: Database, before: MainnetTrials | null, after: MainnetTrials): Statement[] =>
  before === null
    ? [db.insert(mainnetTrials).values(after)]
    : mustChange(
        db,
        db
          .update(mainnetTrials)
          .set(after)
          .where(and(eq(mainnetTrials.platformId, before.platformId), eq(mainnetTrials.total, before.total))),
      );

// ---- All accounts that are not accredited ----------------------------------------------------------------------------------

/** The key of the row that counts all of them together. */
const TOGETHER = { platformId: "" } as const;
export const findTogether = (db: Database): Read<MainnetTrials | null> => findTrials(db, TOGETHER);

const countInLastDay = (now: number): SQL =>
  sql`(select count(*) from ${eachOf(mainnetTrials.asks)} where value > ${now - DAY_MS})`;

type Further = { readonly further: number; readonly now: number };

/** Adds to the row in SQL, so that calls of several accounts do not conflict. Refused if the sum would exceed `most` in 24 hours. */
export function countTogether(db: Database, { further, now }: Further, most: number): Statement[] {
  const added = Array.from({ length: further }, () => now);
  const asks = sql`(select json_group_array(value) from (
    select value from ${eachOf(mainnetTrials.asks)} where value > ${now - DAY_MS} union all select value from ${eachOf(added)}))`;
  return mustChange(
    db,
    db
      .insert(mainnetTrials)
      .values({ ...TOGETHER, asks: added, total: further })
      .onConflictDoUpdate({
        target: mainnetTrials.platformId,
        set: { asks, total: sql`${mainnetTrials.total} + ${further}` },
        setWhere: sql`${countInLastDay(now)} + ${further} <= ${most}`,
      }),
  );
}

/** After `countTogether` in the same batch: true if this call made the count reach `from`. */
export const hasJustReached = (from: number, { further, now }: Further): Condition =>
  sql`exists (select 1 from ${mainnetTrials} where platform_id = ${TOGETHER.platformId}
    and ${countInLastDay(now)} between ${from} and ${from + further - 1})`;
