// Store of moves to a new edition of the contract (MKT-22): for each network its present edition, and the providers that are still to move.
import { and, asc, eq, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/due.ts";
import { type Database, type Read, readAll, type Statement } from "../db/batch.ts";
import { type EditionMove, type EditionRow, editionMoves, registeredEditions } from "../db/tables/chain.ts";

export const findEditions = (db: Database): Read<EditionRow[]> => readAll(db.select().from(registeredEditions));

/**
 * Plans a move for each escrow of a network that is in another edition's vault while its provider sells there. It scans all escrows, so it runs
 * only when an edition is new.
 */
export function planMoves(db: Database, { network, contract, plannedAt, plans }: EditionRow): Statement[] {
  const known = { contract, plannedAt, plans };
  return [
    db.insert(editionMoves).select(
      sql`select e.did, e.environment, e.network, ${plannedAt} from escrows e
        where e.network = ${network} and e.contract not in ('', ${contract})
          and exists (select 1 from agent_markets m join agents a on a.did = m.did and a.status not in ('REVOKED', 'TERMINATED')
            where m.did = e.did and m.environment = e.environment and m.network = e.network
              and m.status in ('ACTIVE', 'PROVISIONING'))
          and true on conflict do nothing`,
    ),
    db
      .insert(registeredEditions)
      .values({ network, ...known })
      .onConflictDoUpdate({ target: registeredEditions.network, set: known }),
  ];
}

/** The planned moves, in the order of the primary key. */
export const findMoves = (db: Database, after: Due, limit: number): Read<Due[]> => {
  const { did, environment, network, plannedAt } = editionMoves;
  const [ofNetwork = "", ofDid = "", ofEnvironment = ""] = after.id.split(" ");
  return readAll(
    db
      .select({ at: plannedAt, id: sql<string>`${network} || ' ' || ${did} || ' ' || ${environment}`.as("id") })
      .from(editionMoves)
      .where(sql`(${did}, ${environment}, ${network}) > (${ofDid}, ${ofEnvironment}, ${ofNetwork})`)
      .orderBy(asc(did), asc(environment), asc(network))
      .limit(limit),
  );
};

type MoveKey = Pick<EditionMove, "did" | "environment" | "network">;

const isMoveOf = ({ did, environment, network }: MoveKey): SQL | undefined =>
  and(eq(editionMoves.did, did), eq(editionMoves.environment, environment), eq(editionMoves.network, network));

export const endMove = (db: Database, moving: MoveKey): Statement => db.delete(editionMoves).where(isMoveOf(moving));
