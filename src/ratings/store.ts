// Store of the two sums of each counterparty principal; an agent's own sums are columns of its row.
import { desc, eq, type SQL, sql } from "drizzle-orm";
import { type Database, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { type AgentRow, agents, type CounterpartyRow, ratingCounterparties } from "../db/tables/agents.ts";
import { HEAVIEST_LOOKED_AT } from "./method.ts";

export type RatedAgent = Pick<
  AgentRow,
  | "did"
  | "environment"
  | "ratingWeight"
  | "ratingWeighted"
  | "ratingInteractions"
  | "ratingCounterparties"
  | "agentRating"
  | "settledVolume"
>;

/** The rating columns of an agent, for anyone. */
export const findRatedAgent = (db: Database, did: string): Read<RatedAgent | null> =>
  readOne(
    db
      .select({
        did: agents.did,
        environment: agents.environment,
        ratingWeight: agents.ratingWeight,
        ratingWeighted: agents.ratingWeighted,
        ratingInteractions: agents.ratingInteractions,
        ratingCounterparties: agents.ratingCounterparties,
        agentRating: agents.agentRating,
        settledVolume: agents.settledVolume,
      })
      .from(agents)
      .where(eq(agents.did, did)),
  );

/** The four heaviest counterparties of an agent, which its rating needs beside the agent's row. */
export const findHeaviest = (db: Database, did: string | SQL<string>): Read<CounterpartyRow[]> =>
  readAll(
    db
      .select()
      .from(ratingCounterparties)
      .where(eq(ratingCounterparties.did, did))
      .orderBy(desc(ratingCounterparties.weight))
      .limit(HEAVIEST_LOOKED_AT),
  );

const { did: ratedDid, counterpartyPrincipalId } = ratingCounterparties;

export const findCounterparty = (db: Database, did: string, principalId: string): Read<CounterpartyRow | null> =>
  findCounterpartyOf(db, sql`(${did}, ${principalId})`);

/** `pair` is a DID and the principal of its counterparty, as one expression. */
export const findCounterpartyOf = (db: Database, pair: SQL): Read<CounterpartyRow | null> =>
  readOne(db.select().from(ratingCounterparties).where(sql`(${ratedDid}, ${counterpartyPrincipalId}) = ${pair}`));

/** Absolute sums: write them only beside the guarded update of the agent's row that they were computed with. */
export const putCounterparty = (db: Database, row: CounterpartyRow): Statement =>
  db
    .insert(ratingCounterparties)
    .values(row)
    .onConflictDoUpdate({
      target: [ratingCounterparties.did, ratingCounterparties.counterpartyPrincipalId],
      set: { weight: row.weight, weighted: row.weighted },
    });
