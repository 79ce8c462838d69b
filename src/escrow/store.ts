// Escrows as stored: what the vault of a provider was last seen to hold.
import { and, eq, sql } from "drizzle-orm";
import { type Database, mustChange, type Read, readAll, type Statement } from "../db/batch.ts";
import { escrows } from "../db/tables.ts";

export type EscrowRow = typeof escrows.$inferSelect;

/** Writes only onto what the change was decided on: a balance that was read anew in between wins. */
export const updateEscrow = (db: Database, before: EscrowRow, after: EscrowRow): Statement[] =>
  mustChange(
    db,
    db
      .update(escrows)
      .set({ balance: after.balance, threshold: after.threshold, state: after.state, updatedAt: after.updatedAt })
      .where(
        and(
          eq(escrows.did, before.did),
          eq(escrows.environment, before.environment),
          eq(escrows.network, before.network),
          eq(escrows.balance, before.balance),
          eq(escrows.state, before.state),
        ),
      ),
  );

/** Escrows whose threshold the contract does not have yet. */
export const findBehind = (db: Database, slice: number): Read<EscrowRow[]> =>
  readAll(db.select().from(escrows).where(sql`threshold <> chain_threshold`).limit(slice));

export const findEscrow = (db: Database, key: Pick<EscrowRow, "did" | "environment" | "network">): Read<EscrowRow[]> =>
  readAll(db.select().from(escrows).where(keyed(key)));

export const setChainThreshold = (
  db: Database,
  key: Pick<EscrowRow, "did" | "environment" | "network">,
  chainThreshold: number,
): Statement => db.update(escrows).set({ chainThreshold }).where(keyed(key));

const keyed = (key: Pick<EscrowRow, "did" | "environment" | "network">) =>
  and(eq(escrows.did, key.did), eq(escrows.environment, key.environment), eq(escrows.network, key.network));
