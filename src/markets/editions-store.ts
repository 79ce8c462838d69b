// Store of the editions of the contract (MKT-22): for each network its present edition, and a walk for each provider that is still to move.
import { sql } from "drizzle-orm";
import { type Database, type Read, readAll, type Statement } from "../db/batch.ts";
import { type EditionRow, registeredEditions } from "../db/tables/chain.ts";
import { beginWalks } from "../jobs/walk-store.ts";

export const findEditions = (db: Database): Read<EditionRow[]> => readAll(db.select().from(registeredEditions));

/**
 * Plans a move for each escrow of a network that is in another edition's vault while its provider sells there. It scans all escrows, so it runs
 * only when an edition is new.
 */
export function planMoves(db: Database, { network, contract, plannedAt, plans }: EditionRow): Statement[] {
  const known = { contract, plannedAt, plans };
  return [
    beginWalks(db, "edition_move", {
      subject: sql`e.network || ' ' || e.did || ' ' || e.environment`,
      from: sql`escrows e where e.network = ${network} and e.contract not in ('', ${contract})
        and exists (select 1 from agent_markets m join agents a on a.did = m.did and a.status not in ('REVOKED', 'TERMINATED')
          where m.did = e.did and m.environment = e.environment and m.network = e.network
            and m.status in ('ACTIVE', 'PROVISIONING'))`,
      startedAt: plannedAt,
      payload: null,
    }).onConflictDoNothing(),
    db
      .insert(registeredEditions)
      .values({ network, ...known })
      .onConflictDoUpdate({ target: registeredEditions.network, set: known }),
  ];
}
