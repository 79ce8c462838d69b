// What the service brings about on chains, as stored. The bytes that were sent, and their nonces, are the signer's own.
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { OperationKind, OperationStatus } from "../../core/vocabulary.ts";

export const chainOperations = sqliteTable(
  "chain_operations",
  {
    network: text().notNull(),
    kind: text().$type<OperationKind>().notNull(),
    /** What the contract is to say something of: a provider's DID. */
    subject: text().notNull(),
    /** What it is to say; a number of base units is a string. */
    wanted: text({ mode: "json" }).$type<Record<string, string | null>>().notNull(),
    status: text().$type<OperationStatus>().notNull(),
    /** Why it waits or has failed. */
    reason: text(),
    /** The newest transaction. */
    txHash: text(),
    createdAt: integer().notNull(),
    updatedAt: integer().notNull(),
    /** When the contract is looked at again, because a reorganisation may have taken back what it said; null: no more. */
    nextCheckAt: integer(),
    checks: integer().notNull().default(0),
  },
  (t) => [
    primaryKey({ columns: [t.network, t.kind, t.subject] }),
    index("chain_operations_checks").on(t.nextCheckAt).where(sql`next_check_at is not null`),
  ],
);
export type OperationRow = typeof chainOperations.$inferSelect;
