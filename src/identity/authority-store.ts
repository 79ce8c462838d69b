// Store of the CA's keys that the service has seen (IDN-29), and of the rows from which a document is served and signed: the agent's row and all
// that belongs to it, in one statement.
import { and, eq, type InferSelectModel, isNull, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { sells } from "../core/roles.ts";
import { ECONOMIC_ROLES } from "../core/vocabulary.ts";
import { type Database, decodeRow, type Read, read, readOne, type Statement, toValuesArray } from "../db/batch.ts";
import { selectProvidersOffset, type WithProviderOffset } from "../db/clock.ts";
import { compileOnce, type RowOf } from "../db/compiled.ts";
import {
  type AuthorityKeyRow,
  agentMarkets,
  agents,
  aids,
  aidVersions,
  authorityKeys,
  type MarketRow,
} from "../db/tables/agents.ts";
import { type EscrowRow, escrows, transactions } from "../db/tables/money.ts";
import { principals } from "../db/tables/principals.ts";
import { selectFromIntent } from "../intents/find-store.ts";
import type { StoredStatus } from "../principals/effective-status.ts";
import {
  type AgentWithPrincipal,
  effectiveStatusColumns,
  type SignedDocument,
  toPrincipalStanding,
  withPrincipal,
} from "./store.ts";

/** One row per key that the service ever had, newest first; one or two are added a year. */
export const findAuthorityKeys = (db: Database): Read<AuthorityKeyRow[]> =>
  read(db.select().from(authorityKeys), (rows) => rows.sort((a, b) => b.publishedAt - a.publishedAt));

export const recordAuthorityKey = (db: Database, kid: string, now: number): Statement =>
  db.insert(authorityKeys).values({ kid, publishedAt: now }).onConflictDoNothing();

/** Deletes a key that never signed and is no longer in the secret: if it returns, its day of notice starts again. */
export const forgetAuthorityKey = (db: Database, kid: string): Statement =>
  db.delete(authorityKeys).where(and(eq(authorityKeys.kid, kid), isNull(authorityKeys.signsFrom)));

export const recordSigningKey = (db: Database, kid: string, now: number): Statement =>
  db
    .update(authorityKeys)
    .set({ signsFrom: sql`coalesce(${authorityKeys.signsFrom}, ${now})`, signedUntil: now })
    .where(eq(authorityKeys.kid, kid));

// ---- Documents ----------------------------------------------------------------------------------------------------------

/** True if the stored document has an earlier revision, or there is none. */
const STALE = sql`aids.revision is not agents.revision`;

/** A complete row as one column; null unless the condition holds. */
const selectRowIf = <T extends SQLiteTable>(table: T, when: SQL) =>
  sql<InferSelectModel<T> | null>`case when ${when} then ${toValuesArray(table)} end`.mapWith(
    (text: string): InferSelectModel<T> => decodeRow(table, JSON.parse(text) as unknown[]),
  );

const documentByDid = compileOnce((db) =>
  db
    .select({
      ...effectiveStatusColumns,
      agentRevision: agents.revision,
      content: aids.content,
      proof: aids.proof,
      revision: sql<number | null>`${aids.revision}`.as("d_revision"),
      agent: selectRowIf(agents, STALE).as("agent"),
      principal: selectRowIf(principals, STALE).as("principal"),
      newest: sql<string | null>`case when ${STALE} then
        (select content from aid_versions where did = agents.did order by version desc limit 1) end`
        .mapWith(aidVersions.content)
        .as("newest"),
      ...selectOwnedRows(STALE),
    })
    .from(agents)
    .innerJoin(principals, eq(principals.principalId, agents.principalId))
    .leftJoin(aids, eq(aids.did, agents.did))
    .where(eq(agents.did, sql`${sql.placeholder("did")}`)),
);

export type DocumentSource = AgentWithPrincipal & {
  readonly newest: string | null;
  readonly markets: MarketRow[];
  readonly escrows: EscrowRow[];
};

export type FoundDocument = {
  readonly agent: Pick<AgentWithPrincipal["agent"], "status" | "environment" | "revision">;
  readonly principal: StoredStatus;
  /** The document that was signed last; null for a DRAFT. */
  readonly aid: (SignedDocument & { readonly revision: number }) | null;
  /** Null while the stored document is current. */
  readonly source: DocumentSource | null;
};

export const findIdentityDocument = (db: Database, did: string): Read<FoundDocument | null> =>
  read(documentByDid(db, { did }), ([row]: RowOf<typeof documentByDid>[]) => {
    if (!row) return null;
    const { content, proof, revision, agent, principal, newest, markets, escrows } = row;
    return {
      agent: { status: row.status, environment: row.environment, revision: row.agentRevision },
      principal: toPrincipalStanding(row),
      aid: content === null || proof === null || revision === null ? null : { content, proof, revision },
      source: agent && principal ? { agent, principal, newest, markets, escrows } : null,
    };
  });

// ---- Markets and vaults of each agent of a statement --------------------------------------------------------------------
// As JSON next to the agent's own row: another statement would read the agents again.

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

// ---- Sellers ------------------------------------------------------------------------------------------------------------

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
