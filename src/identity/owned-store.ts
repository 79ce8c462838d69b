// What each agent of a statement owns, as JSON beside the agent's own row: another statement would read the agents again.
import { getTableColumns, type SQL, sql } from "drizzle-orm";
import { sells } from "../core/roles.ts";
import { ECONOMIC_ROLES } from "../core/vocabulary.ts";
import { agentMarkets, type MarketRow } from "../db/tables/agents.ts";
import { type EscrowRow, escrows } from "../db/tables/money.ts";

type Owned = typeof agentMarkets | typeof escrows;

const valuesOf = (table: Owned): SQL =>
  sql`json_array(${sql.join(
    Object.values(getTableColumns(table)).map((column) => sql`${column}`),
    sql`, `,
  )})`;

/** The rows of an agent, in the order of the key. */
const ofAgent = (table: Owned): SQL =>
  sql`from ${table} where ${table.did} = agents.did and ${table.environment} = agents.environment`;

const listOf = (table: Owned): SQL =>
  sql`(select json_group_array(${valuesOf(table)}) from (select * ${ofAgent(table)}) as ${table})`;

/** A list with the first row alone: a range reads one row beyond its end. `more` holds in that row where there may be others. */
const firstOf = (table: Owned, more?: SQL): SQL => {
  const alone = sql`json_array(${valuesOf(table)})`;
  const list = more ? sql`case when ${more} then ${listOf(table)} else ${alone} end` : alone;
  return sql`coalesce((select ${list} ${ofAgent(table)} limit 1), '[]')`;
};

const MARKETS = firstOf(agentMarkets, sql`not sole`);
/** The agent's own row names its vaults. */
const VAULTS = sql`case when agents.escrow_states = '{}' then '[]'
  when instr(agents.escrow_states, ',') = 0 then ${firstOf(escrows)} else ${listOf(escrows)} end`;

function toRows<Row>(table: Owned, lists: SQL, only: SQL): SQL<Row[]> {
  const names = Object.keys(getTableColumns(table));
  const toRow = (values: readonly unknown[]) => Object.fromEntries(names.map((name, place) => [name, values[place]]));
  const sellers = sql.join(
    ECONOMIC_ROLES.filter(sells).map((role) => sql`${role}`),
    sql`, `,
  );
  return sql`case when agents.economic_role in (${sellers}) and ${only} then ${lists} else '[]' end`.mapWith(
    (text: string): Row[] => JSON.parse(text).map(toRow),
  );
}

/** The markets and vaults of each agent. One that does not sell has none, and none is looked for; neither is where `only` does not hold. */
export const ownedRows = (only = sql`true`) => ({
  markets: toRows<MarketRow>(agentMarkets, MARKETS, only).as("markets"),
  escrows: toRows<EscrowRow>(escrows, VAULTS, only).as("escrows"),
});
