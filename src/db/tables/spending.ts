// Tables of what agents have spent and hold, from which their spending windows are judged. Amounts are token base units.
import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Environment } from "../../core/vocabulary.ts";

/** The totals that an agent and its delegates have settled, and that open intents hold, in an environment and currency. */
export const spendSums = sqliteTable(
  "spend_sums",
  {
    did: text().notNull(),
    environment: text().$type<Environment>().notNull(),
    currency: text().notNull(),
    settled: integer().notNull(),
    open: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.did, t.environment, t.currency] })],
);

/** The running total after each settlement: a window is the newest total less the last one before it. */
export const spendLedger = sqliteTable(
  "spend_ledger",
  {
    did: text().notNull(),
    environment: text().$type<Environment>().notNull(),
    currency: text().notNull(),
    at: integer().notNull(),
    total: integer().notNull(),
    intentId: text().notNull().default(""),
  },
  (t) => [primaryKey({ columns: [t.did, t.environment, t.currency, t.at] })],
);

/**
 * The hold of each open intent on a spender's window, keyed by the instant at which it ends, so that expired holds are found without a job (PAY-11).
 * `spend_sums.open` is the sum of an agent's rows of the currency here.
 */
export const spendHolds = sqliteTable(
  "spend_holds",
  {
    did: text().notNull(),
    environment: text().$type<Environment>().notNull(),
    expiresAt: integer().notNull(),
    intentId: text().notNull(),
    amount: integer().notNull(),
    /** The hold ends only when the network has been read far enough (PAY-21). */
    network: text().notNull().default(""),
    currency: text().notNull().default(""),
  },
  (t) => [primaryKey({ columns: [t.did, t.environment, t.expiresAt, t.intentId] })],
);
