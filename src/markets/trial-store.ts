// Store of what accounts register on mainnets with their sandbox keys (MKT-25).
import { and, eq } from "drizzle-orm";
import { type Database, mustChange, type Read, readOne, type Statement } from "../db/batch.ts";
import { type MainnetTrials, mainnetTrials } from "../db/tables/agents.ts";
import type { Tenant } from "../db/tenant.ts";

export const findTrials = (db: Database, { platformId }: Tenant): Read<MainnetTrials | null> =>
  readOne(db.select().from(mainnetTrials).where(eq(mainnetTrials.platformId, platformId)));

/** Refused where another call of the account has counted meanwhile. */
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
