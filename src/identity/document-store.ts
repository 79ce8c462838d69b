// Store of what a document is served and signed from: the agent's row and what stands beside it, as one statement.
import { eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import { sells } from "../core/roles.ts";
import { ECONOMIC_ROLES } from "../core/vocabulary.ts";
import { columnsOf, compileOnce, type Database, type Read, readOne } from "../db/batch.ts";
import { agentMarkets, agents, aids, type MarketRow } from "../db/tables/agents.ts";
import { type EscrowRow, escrows } from "../db/tables/money.ts";
import { principals } from "../db/tables/principals.ts";
import { type AgentWithPrincipal, type SignedDocument, withPrincipal } from "./store.ts";

/**
 * The rows of a table that belong to each agent, in the order of its key, as JSON beside the agent's own row: another statement would read the
 * agents again. An agent that does not sell has none, and none is looked for; neither is where `only` does not hold.
 */
export function ownedRows<Row>(table: typeof agentMarkets | typeof escrows, only: SQL = sql`true`): SQL<Row[]> {
  const columns = Object.entries(getTableColumns(table));
  const values = sql.join(
    columns.map(([, column]) => sql`${column}`),
    sql`, `,
  );
  const own = sql`select * from ${table} where ${table.did} = agents.did and ${table.environment} = agents.environment`;
  const toRow = (value: readonly unknown[]) => Object.fromEntries(columns.map(([name], place) => [name, value[place]]));
  const sellers = sql.join(
    ECONOMIC_ROLES.filter(sells).map((role) => sql`${role}`),
    sql`, `,
  );
  return sql`case when agents.economic_role in (${sellers}) and ${only}
    then (select json_group_array(json_array(${values})) from (${own}) as ${table}) else '[]' end`.mapWith(
    (text: string): Row[] => JSON.parse(text).map(toRow),
  );
}

/** The stored document is of an earlier revision, or there is none. */
const STALE = sql`aids.revision is not agents.revision`;

const documentByDid = compileOnce((db) =>
  db
    .select({
      ...withPrincipal,
      aid: columnsOf(aids, "d"),
      newest: sql<string | null>`case when ${STALE} then
        (select content from aid_versions where did = agents.did order by version desc limit 1) end`.as("newest"),
      markets: ownedRows<MarketRow>(agentMarkets, STALE).as("markets"),
      escrows: ownedRows<EscrowRow>(escrows, STALE).as("escrows"),
    })
    .from(agents)
    .innerJoin(principals, eq(principals.principalId, agents.principalId))
    .leftJoin(aids, eq(aids.did, agents.did))
    .where(eq(agents.did, sql`${sql.placeholder("did")}`)),
);

export type FoundDocument = AgentWithPrincipal & {
  readonly aid: (SignedDocument & { readonly revision: number }) | null;
  /** What a stale document is built from; nothing is read of it while the stored one is current. */
  readonly newest: string | null;
  readonly markets: MarketRow[];
  readonly escrows: EscrowRow[];
};

/** The document as it was last signed, null for a DRAFT, with its agent; and where it is stale what the next one says. */
export const findDocument = (db: Database, did: string): Read<FoundDocument | null> =>
  readOne(documentByDid(db, { did }));
