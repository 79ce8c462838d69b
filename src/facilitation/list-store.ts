// Store of the list of an agent's transactions (AGT-37): a range of each side's index.
import { and, sql } from "drizzle-orm";
import type { Position } from "../core/page.ts";
import type { Environment } from "../core/vocabulary.ts";
import { type Database, type Read, readAll } from "../db/batch.ts";
import { bareColumns, below, pageOf } from "../db/pages.ts";
import { type TransactionRow, transactions } from "../db/tables/money.ts";

const shown = bareColumns(transactions);
const ORDER = sql`settled_at desc, transaction_id desc`;

export const listTransactions = (
  db: Database,
  { did, environment }: { readonly did: string; readonly environment: Environment },
  page: { readonly limit: number; readonly after: Position | null },
): Read<TransactionRow[]> => {
  const older = below(sql`settled_at`, sql`transaction_id`, page.after);
  // An agent is on one side; which one, only its row tells.
  const from = [sql`provider_did`, sql`consumer_did`].map(
    (side) => sql`transactions where ${and(sql`${side} = ${did}`, sql`environment = ${environment}`, older)}`,
  );
  return readAll(db.select(shown).from(pageOf({ columns: shown, from, order: ORDER }, page.limit)));
};
