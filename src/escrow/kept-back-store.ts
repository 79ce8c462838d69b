// Reads of what vaults keep back for disputes.
import { type SQL, sql } from "drizzle-orm";
import type { Environment } from "../core/vocabulary.ts";
import { type Database, type Read, read } from "../db/batch.ts";

/** Whether a vault of an agent keeps something back for disputes. `did`: an expression that names the agent. `further`: limits the vaults. */
export const keepsBack = (did: SQL, further: SQL = sql``): SQL =>
  sql`exists (select 1 from escrows k where k.did = ${did} ${further} and (k.disputed > 0 or k.owed > 0))`;
export const findKeepsBack = (db: Database, did: string, environment: Environment): Read<boolean> =>
  read(
    db
      .select({ kept: sql<number>`${keepsBack(sql`${did}`, sql`and k.environment = ${environment}`)}`.as("kept") })
      .from(sql`(select 1)`),
    ([row]) => row?.kept === 1,
  );
