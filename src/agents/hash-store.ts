// Finds the agents that were registered before the hash by which the contract knows them was kept.
import { and, asc, eq, gt } from "drizzle-orm";
import { type Database, type Read, readAll } from "../db/batch.ts";
import { agents } from "../db/tables/agents.ts";
import { escrows } from "../db/tables/money.ts";

/** Agents with an escrow that were registered before their hash was kept, behind a DID. */
export const findUnhashed = (db: Database, after: string, limit: number): Read<{ did: string }[]> =>
  readAll(
    db
      .selectDistinct({ did: agents.did })
      .from(escrows)
      .innerJoin(agents, and(eq(agents.did, escrows.did), eq(agents.didHash, "")))
      .where(gt(escrows.did, after))
      .orderBy(asc(agents.did))
      .limit(limit),
  );
