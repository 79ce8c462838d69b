// Escrows as stored: what the vault of a provider was last seen to hold.
import { and, eq } from "drizzle-orm";
import { type Database, mustChange, type Statement } from "../db/batch.ts";
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
