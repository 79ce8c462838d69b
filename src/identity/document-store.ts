// Store of what a document is served and signed from: the agent's row and what stands beside it, as one statement.
import { eq, sql } from "drizzle-orm";
import { columnsOf, compileOnce, type Database, type Read, readOne } from "../db/batch.ts";
import { agents, aids, type MarketRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { principals } from "../db/tables/principals.ts";
import { ownedRows } from "./owned-store.ts";
import { type AgentWithPrincipal, type SignedDocument, withPrincipal } from "./store.ts";

/** The stored document is of an earlier revision, or there is none. */
const STALE = sql`aids.revision is not agents.revision`;

const documentByDid = compileOnce((db) =>
  db
    .select({
      ...withPrincipal,
      aid: columnsOf(aids, "d"),
      newest: sql<string | null>`case when ${STALE} then
        (select content from aid_versions where did = agents.did order by version desc limit 1) end`.as("newest"),
      ...ownedRows(STALE),
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
