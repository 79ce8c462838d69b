// Ratings as stored: the two sums of each counterparty principal; an agent's own sums are columns of its row.
import { and, desc, eq, type SQL } from "drizzle-orm";
import { type Database, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { type agents, ratingCounterparties } from "../db/tables.ts";
import { HEAVIEST_LOOKED_AT } from "./method.ts";

export type CounterpartyRow = typeof ratingCounterparties.$inferSelect;
export type RatedAgent = Pick<
  typeof agents.$inferSelect,
  | "did"
  | "environment"
  | "ratingWeight"
  | "ratingWeighted"
  | "ratingInteractions"
  | "ratingCounterparties"
  | "agentRating"
  | "settledVolume"
>;

/** The four heaviest counterparties of an agent: all that a reading of its rating needs beside the agent's row. */
export const findHeaviest = (db: Database, did: string | SQL<string>): Read<CounterpartyRow[]> =>
  readAll(
    db
      .select()
      .from(ratingCounterparties)
      .where(eq(ratingCounterparties.did, did))
      .orderBy(desc(ratingCounterparties.weight))
      .limit(HEAVIEST_LOOKED_AT),
  );

export const findCounterparty = (
  db: Database,
  did: string | SQL<string>,
  principalId: string | SQL<string>,
): Read<CounterpartyRow | null> =>
  readOne(
    db
      .select()
      .from(ratingCounterparties)
      .where(and(eq(ratingCounterparties.did, did), eq(ratingCounterparties.counterpartyPrincipalId, principalId))),
  );

/** Absolute sums: write them only beside the guarded update of the agent's row that they were computed with. */
export const putCounterparty = (db: Database, row: CounterpartyRow): Statement =>
  db
    .insert(ratingCounterparties)
    .values(row)
    .onConflictDoUpdate({
      target: [ratingCounterparties.did, ratingCounterparties.counterpartyPrincipalId],
      set: { weight: row.weight, weighted: row.weighted },
    });
