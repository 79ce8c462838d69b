// Store of the rows from which a document is served and signed: the agent's row and all that belongs to it, in one statement.
import { eq, type InferSelectModel, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { type Database, decodeRow, type Read, read, toValuesArray } from "../db/batch.ts";
import { compileOnce, type RowOf } from "../db/compiled.ts";
import { agents, aids, aidVersions, type MarketRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { principals } from "../db/tables/principals.ts";
import type { StoredStatus } from "../principals/effective-status.ts";
import { selectOwnedRows } from "./owned-store.ts";
import { type AgentWithPrincipal, effectiveStatusColumns, type SignedDocument, toPrincipalStanding } from "./store.ts";

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
