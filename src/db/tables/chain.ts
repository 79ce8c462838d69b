// Table of chain operations (CHN-14). The bytes that were sent, and their nonces, are stored by the signer.
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { OperationKind, OperationStatus } from "../../core/vocabulary.ts";

export const chainOperations = sqliteTable(
  "chain_operations",
  {
    network: text().notNull(),
    kind: text().$type<OperationKind>().notNull(),
    /** The subject of the wanted state: a provider's DID. */
    subject: text().notNull(),
    /** The state that the contract should have; base units are a string. */
    wanted: text({ mode: "json" }).$type<Record<string, string | null>>().notNull(),
    status: text().$type<OperationStatus>().notNull(),
    /** Why it waits or has failed. */
    reason: text(),
    /** The newest transaction. */
    txHash: text(),
    createdAt: integer().notNull(),
    updatedAt: integer().notNull(),
    /** When the contract is read again, because a reorganisation may have undone the operation; null when no check is left (CHN-19). */
    nextCheckAt: integer(),
    checks: integer().notNull().default(0),
  },
  (t) => [
    primaryKey({ columns: [t.network, t.kind, t.subject] }),
    index("chain_operations_checks").on(t.nextCheckAt).where(sql`next_check_at is not null`),
  ],
);
export type OperationRow = typeof chainOperations.$inferSelect;
