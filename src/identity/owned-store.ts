// The markets and vaults of each agent of a statement, as JSON next to the agent's own row: another statement would read the agents again.
import { eq, type Placeholder, type SQL, sql } from "drizzle-orm";
import { sells } from "../core/roles.ts";
import { ECONOMIC_ROLES } from "../core/vocabulary.ts";
import { type Database, type Read, readOne, rowFrom, valuesOf } from "../db/batch.ts";
import { type OfTwoClocks, providersOffsetOf } from "../db/clock.ts";
import { compileOnce } from "../db/compiled.ts";
import { agentMarkets, agents, type MarketRow } from "../db/tables/agents.ts";
import { type EscrowRow, escrows, transactions } from "../db/tables/money.ts";
import { principals } from "../db/tables/principals.ts";
import { ofIntent } from "../intents/find-store.ts";
import { type AgentWithPrincipal, withPrincipal } from "./store.ts";

type Owned = typeof agentMarkets | typeof escrows;

const OWN = sql`agents.environment`;

const ofAgent = (table: Owned, environment: SQL): SQL =>
  sql`from ${table} where ${table.did} = agents.did and ${table.environment} = ${environment}`;

const listOf = (table: Owned, environment = OWN): SQL =>
  sql`(select json_group_array(${valuesOf(table)}) from (select * ${ofAgent(table, environment)}) as ${table})`;

/** A list that reads only the first row, because a range reads one row beyond its end. `more` is true in that row if there may be others. */
const firstOf = (table: Owned, more?: SQL): SQL => {
  const alone = sql`json_array(${valuesOf(table)})`;
  const list = more ? sql`case when ${more} then ${listOf(table)} else ${alone} end` : alone;
  return sql`coalesce((select ${list} ${ofAgent(table, OWN)} limit 1), '[]')`;
};

const MARKETS = firstOf(agentMarkets, sql`not sole`);
/** The agent's own row says how many vaults it has. */
const VAULTS = sql`case when agents.escrow_states = '{}' then '[]'
  when instr(agents.escrow_states, ',') = 0 then ${firstOf(escrows)} else ${listOf(escrows)} end`;

function toRows<T extends Owned>(table: T, lists: SQL, only: SQL) {
  const sellers = sql.join(
    ECONOMIC_ROLES.filter(sells).map((role) => sql`${role}`),
    sql`, `,
  );
  return sql`case when agents.economic_role in (${sellers}) and ${only} then ${lists} else '[]' end`.mapWith(
    (text: string) => (JSON.parse(text) as unknown[][]).map((values) => rowFrom(table, values)),
  );
}

/** The markets and vaults of each agent, as lists. Nothing is read for an agent that does not sell, or for which `only` is false. */
export const ownedRows = (only = sql`true`) => ({
  markets: toRows(agentMarkets, MARKETS, only).as("markets"),
  escrows: toRows(escrows, VAULTS, only).as("escrows"),
});

/**
 * `ownedRows` in an environment (an expression of the statement) that the agent may have left. The agent's own row says nothing about the vaults
 * of an environment that it has left, and its markets there do not count.
 */
const ownedRowsIn = (environment: SQL) => {
  const still = sql`${environment} = ${OWN}`;
  const escrowRows = sql`case when ${still} then ${VAULTS} else ${listOf(escrows, environment)} end`;
  return {
    markets: ownedRows(still).markets,
    escrows: toRows(escrows, escrowRows, sql`true`).as("escrows"),
  };
};

export type Seller = AgentWithPrincipal & { readonly markets: MarketRow[]; readonly escrows: EscrowRow[] };

const sellers = (db: Database, did: SQL | Placeholder) =>
  db
    .select({ ...withPrincipal, ...ownedRows() })
    .from(agents)
    .innerJoin(principals, eq(principals.principalId, agents.principalId))
    .where(sql`${agents.did} = ${did}`);
const sellerByDid = compileOnce((db) => sellers(db, sql.placeholder("did")));
const sellerOfIntent = compileOnce((db) => sellers(db, ofIntent(sql.placeholder("intentId")).providerDid));

export const findSeller = (db: Database, did: string): Read<Seller | null> => readOne(sellerByDid(db, { did }));
export const findSellerOf = (db: Database, intentId: string): Read<Seller | null> =>
  readOne(sellerOfIntent(db, { intentId }));

/** The provider of a settlement, with its vaults in the settlement's environment and its platform's clock. */
export const findSellerIn = (db: Database, transactionId: string): Read<(Seller & OfTwoClocks) | null> =>
  readOne(
    db
      .select({
        ...withPrincipal,
        ...ownedRowsIn(sql`${transactions.environment}`),
        providerOffsetMs: providersOffsetOf(transactions),
      })
      .from(transactions)
      .innerJoin(agents, eq(agents.did, transactions.providerDid))
      .innerJoin(principals, eq(principals.principalId, agents.principalId))
      .where(eq(transactions.transactionId, transactionId)),
  );
