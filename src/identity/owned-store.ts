// The markets and vaults of each agent of a statement, as JSON next to the agent's own row: another statement would read the agents again.
import { eq, type Placeholder, type SQL, sql } from "drizzle-orm";
import { sells } from "../core/roles.ts";
import { ECONOMIC_ROLES } from "../core/vocabulary.ts";
import { type Database, decodeRow, type Read, readOne, toValuesArray } from "../db/batch.ts";
import { selectProvidersOffset, type WithProviderOffset } from "../db/clock.ts";
import { compileOnce } from "../db/compiled.ts";
import { agentMarkets, agents, type MarketRow } from "../db/tables/agents.ts";
import { type EscrowRow, escrows, transactions } from "../db/tables/money.ts";
import { principals } from "../db/tables/principals.ts";
import { selectFromIntent } from "../intents/find-store.ts";
import { type AgentWithPrincipal, withPrincipal } from "./store.ts";

type Owned = typeof agentMarkets | typeof escrows;

const ownEnvironment = sql`agents.environment`;

const selectFromOwned = (table: Owned, environment: SQL): SQL =>
  sql`from ${table} where ${table.did} = agents.did and ${table.environment} = ${environment}`;

const toJsonList = (table: Owned, environment = ownEnvironment): SQL =>
  sql`(select json_group_array(${toValuesArray(table)}) from (select * ${selectFromOwned(table, environment)}) as ${table})`;

/** A list that reads only the first row, because a range reads one row beyond its end. `more` is true in that row if there may be others. */
const toJsonListOfFirst = (table: Owned, more?: SQL): SQL => {
  const alone = sql`json_array(${toValuesArray(table)})`;
  const list = more ? sql`case when ${more} then ${toJsonList(table)} else ${alone} end` : alone;
  return sql`coalesce((select ${list} ${selectFromOwned(table, ownEnvironment)} limit 1), '[]')`;
};

const MARKETS = toJsonListOfFirst(agentMarkets, sql`not sole`);
/** The agent's own row says how many vaults it has. */
const VAULTS = sql`case when agents.escrow_states = '{}' then '[]'
  when instr(agents.escrow_states, ',') = 0 then ${toJsonListOfFirst(escrows)} else ${toJsonList(escrows)} end`;

function toRows<T extends Owned>(table: T, lists: SQL, only: SQL) {
  const sellers = sql.join(
    ECONOMIC_ROLES.filter(sells).map((role) => sql`${role}`),
    sql`, `,
  );
  return sql`case when agents.economic_role in (${sellers}) and ${only} then ${lists} else '[]' end`.mapWith(
    (text: string) => (JSON.parse(text) as unknown[][]).map((values) => decodeRow(table, values)),
  );
}

/** The markets and vaults of each agent, as lists. Nothing is read for an agent that does not sell, or for which `only` is false. */
export const selectOwnedRows = (only = sql`true`) => ({
  markets: toRows(agentMarkets, MARKETS, only).as("markets"),
  escrows: toRows(escrows, VAULTS, only).as("escrows"),
});

/**
 * `selectOwnedRows` in an environment (an expression of the statement) that the agent may have left. The agent's own row says nothing about the vaults
 * of an environment that it has left, and its markets there do not count.
 */
const selectOwnedRowsIn = (environment: SQL) => {
  const still = sql`${environment} = ${ownEnvironment}`;
  const escrowRows = sql`case when ${still} then ${VAULTS} else ${toJsonList(escrows, environment)} end`;
  return {
    markets: selectOwnedRows(still).markets,
    escrows: toRows(escrows, escrowRows, sql`true`).as("escrows"),
  };
};

export type Seller = AgentWithPrincipal & { readonly markets: MarketRow[]; readonly escrows: EscrowRow[] };

const selectSellers = (db: Database, did: SQL | Placeholder) =>
  db
    .select({ ...withPrincipal, ...selectOwnedRows() })
    .from(agents)
    .innerJoin(principals, eq(principals.principalId, agents.principalId))
    .where(sql`${agents.did} = ${did}`);
const sellerByDid = compileOnce((db) => selectSellers(db, sql.placeholder("did")));
const sellerOfIntent = compileOnce((db) =>
  selectSellers(db, selectFromIntent(sql.placeholder("intentId")).providerDid),
);

export const findSeller = (db: Database, did: string): Read<Seller | null> => readOne(sellerByDid(db, { did }));
export const findSellerOf = (db: Database, intentId: string): Read<Seller | null> =>
  readOne(sellerOfIntent(db, { intentId }));

/** The provider of a settlement, with its vaults in the settlement's environment and its platform's clock. */
export const findSellerIn = (db: Database, transactionId: string): Read<(Seller & WithProviderOffset) | null> =>
  readOne(
    db
      .select({
        ...withPrincipal,
        ...selectOwnedRowsIn(sql`${transactions.environment}`),
        providerOffsetMs: selectProvidersOffset(transactions),
      })
      .from(transactions)
      .innerJoin(agents, eq(agents.did, transactions.providerDid))
      .innerJoin(principals, eq(principals.principalId, agents.principalId))
      .where(eq(transactions.transactionId, transactionId)),
  );
