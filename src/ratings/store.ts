// Store of the two sums of each counterparty principal. An agent's own sums are columns of its row.
import { and, desc, eq, type SQL, sql } from "drizzle-orm";
import type { Environment } from "../core/vocabulary.ts";
import { type Database, mustChange, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { selectClockOffset, type Timed } from "../db/clock.ts";
import { compileGiven, compileInsert, compileOnce } from "../db/compiled.ts";
import { type AgentRow, agents, type CounterpartyRow, ratingCounterparties } from "../db/tables/agents.ts";
import { HEAVIEST_LOOKED_AT, type RatingMethod } from "./method.ts";
import type { Sums } from "./rating.ts";

export type RatedAgent = Pick<
  AgentRow,
  | "did"
  | "environment"
  | "ratingWeight"
  | "ratingWeighted"
  | "ratingInteractions"
  | "ratingCounterparties"
  | "agentRating"
  | "ratingHeaviest"
>;
export type RatingColumns = Omit<RatedAgent, "did" | "environment">;

const selectRatedAgent = (db: Database, did: SQL<string>) =>
  db
    .select({
      did: agents.did,
      environment: agents.environment,
      ratingWeight: agents.ratingWeight,
      ratingWeighted: agents.ratingWeighted,
      ratingInteractions: agents.ratingInteractions,
      ratingCounterparties: agents.ratingCounterparties,
      agentRating: agents.agentRating,
      ratingHeaviest: agents.ratingHeaviest,
      wallets: agents.wallets,
      clockOffsetMs: selectClockOffset(agents),
    })
    .from(agents)
    .where(eq(agents.did, did));
const ratedAgentByDid = compileOnce((db) => selectRatedAgent(db, sql`${sql.placeholder("did")}`));

/** The rating columns of an agent, for anyone, with the clock on which its signals are dated (TSK-18). */
export const findRatedAgent = (
  db: Database,
  did: string | SQL<string>,
): Read<Timed<RatedAgent & Pick<AgentRow, "wallets">> | null> =>
  readOne(typeof did === "string" ? ratedAgentByDid(db, { did }) : selectRatedAgent(db, did));

const { did: ratedDid, environment: ratedIn, counterpartyPrincipalId: ratedBy } = ratingCounterparties;

/** The four heaviest counterparties, which a new signal needs besides the agent's row. `rated`: its DID and environment, as one expression. */
export const findHeaviestOf = (db: Database, rated: SQL): Read<CounterpartyRow[]> =>
  readAll(
    db
      .select()
      .from(ratingCounterparties)
      .where(sql`(${ratedDid}, ${ratedIn}) = ${rated}`)
      .orderBy(desc(ratingCounterparties.weight))
      .limit(HEAVIEST_LOOKED_AT),
  );

export const findCounterparty = (
  db: Database,
  { did, environment }: Pick<RatedAgent, "did" | "environment">,
  principalId: string,
): Read<CounterpartyRow | null> => findCounterpartyOf(db, sql`(${did}, ${environment}, ${principalId})`);

/** `rated`: a DID, the environment that it is rated in, and the principal of its counterparty, as one expression. */
export const findCounterpartyOf = (db: Database, rated: SQL): Read<CounterpartyRow | null> =>
  readOne(db.select().from(ratingCounterparties).where(sql`(${ratedDid}, ${ratedIn}, ${ratedBy}) = ${rated}`));

const COUNTERPARTY_COLUMNS = {
  did: sql<string>`c.did`.as("did"),
  environment: sql<Environment>`c.environment`.as("environment"),
  counterpartyPrincipalId: sql<string>`c.counterparty_principal_id`.as("counterparty_principal_id"),
  weight: sql<number>`c.weight`.as("weight"),
  weighted: sql<number>`c.weighted`.as("weighted"),
};

/** The four heaviest counterparties of several agents. `rated`: a subquery of `did` and `environment`; an agent in it twice is read twice. */
export const findHeaviestIn = (db: Database, rated: SQL): Read<CounterpartyRow[]> =>
  readAll(
    db
      .select(COUNTERPARTY_COLUMNS)
      .from(sql`${rated} as t cross join rating_counterparties c`)
      .where(
        sql`c.did = t.did and c.environment = t.environment and c.counterparty_principal_id in (select h.counterparty_principal_id
          from rating_counterparties h where h.did = t.did and h.environment = t.environment order by h.weight desc limit ${HEAVIEST_LOOKED_AT})`,
      ),
  );

export const findCounterpartiesIn = (db: Database, rated: SQL): Read<CounterpartyRow[]> =>
  readAll(
    db
      .select(COUNTERPARTY_COLUMNS)
      .from(sql`${rated} as t cross join rating_counterparties c`)
      .where(sql`c.did = t.did and c.environment = t.environment and c.counterparty_principal_id = t.principal_id`),
  );

const isCounterpartyRow = (row: CounterpartyRow) =>
  and(eq(ratedDid, row.did), eq(ratedIn, row.environment), eq(ratedBy, row.counterpartyPrincipalId));

/** The guarded update of the agent's row has to be in the same batch, as for `putCounterparty`. */
export const dropCounterparty = (db: Database, row: CounterpartyRow): Statement =>
  db.delete(ratingCounterparties).where(isCounterpartyRow(row));

/** The sums that a signal adds to an agent's. `counterparties`: 1 for the first signal of its counterparty, otherwise 0. */
export type AddedSums = Sums & {
  readonly interactions: number;
  readonly counterparties: number;
  readonly counterpartyWeight: number;
  readonly by: RatingMethod;
  readonly now: number;
};

const insertCounterparty = compileInsert((db) => db.insert(ratingCounterparties));

/**
 * Writes the sums of a counterparty that was read as `before`. If `isGuarded`, aborts the batch unless the weight is still the same; otherwise the
 * guarded update of the agent's row has to be in the same batch.
 */
export function putCounterparty(
  db: Database,
  row: CounterpartyRow,
  before: CounterpartyRow | null,
  isGuarded: boolean,
): Statement[] {
  if (before === null) return [insertCounterparty(db, row)];
  if (!isGuarded) return [updateCounterparty(db, row)];
  return mustChange(db, updateCounterparty(db, { ...row, was: before.weight }));
}

const updateCounterparty = compileGiven<CounterpartyRow & { readonly was?: number }>((db, { was, ...row }) =>
  db
    .update(ratingCounterparties)
    .set({ weight: row.weight, weighted: row.weighted })
    .where(and(isCounterpartyRow(row), was === undefined ? undefined : eq(ratingCounterparties.weight, was))),
);
