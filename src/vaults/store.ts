// Store of a provider's vaults: their newest lines, and the blocks up to which they are booked. The follower writes both.
import { and, eq, getTableColumns, sql } from "drizzle-orm";
import type { Environment } from "../core/vocabulary.ts";
import { type Database, type Read, read, readAll } from "../db/batch.ts";
import { followers } from "../db/tables/chain.ts";
import { type EscrowRow, escrows, type LedgerLine, ledgerLines, transactions } from "../db/tables/money.ts";

/** `transactionId`: the transaction of this environment as which the line's settlement was facilitated. */
export type VaultLine = LedgerLine & { readonly transactionId: string | null };

/**
 * Finds the newest lines of the vault of each of a provider's escrows, unordered. `editions`: the present edition of each network, because an early
 * row has none.
 */
export const findVaultLines = (
  db: Database,
  { did, environment }: Pick<EscrowRow, "did" | "environment">,
  editions: Readonly<Record<string, string>>,
  limit: number,
): Read<VaultLine[]> => {
  const { contract, network } = escrows;
  const edition = sql`coalesce(nullif(${contract}, ''), ${JSON.stringify(editions)} ->> ${network})`;
  return readAll(
    db
      .select({ ...getTableColumns(ledgerLines), transactionId: transactions.transactionId })
      .from(escrows)
      .crossJoin(ledgerLines)
      .leftJoin(
        transactions,
        and(
          eq(transactions.network, ledgerLines.network),
          eq(transactions.txHash, ledgerLines.txHash),
          eq(transactions.logIndex, ledgerLines.logIndex),
          eq(transactions.environment, environment),
          // Literal text, so that SQLite uses the partial index.
          sql`reversed_at is null`,
        ),
      )
      .where(
        and(
          eq(escrows.did, did),
          eq(escrows.environment, environment),
          eq(ledgerLines.did, did),
          eq(ledgerLines.network, network),
          sql`${ledgerLines.contract} = ${edition}`,
          // Literal text, so that SQLite uses the partial index.
          sql`ledger_lines.reversed = 0`,
          sql`${ledgerLines.number} > max(0, (select max(m.number) from ledger_lines m where m.did = ${did} and m.network = ${network}
            and m.contract = ${edition} and m.reversed = 0) - ${limit})`,
        ),
      ),
  );
};

/** The last booked block of each network on which the provider has an escrow, by the network's name. */
export const findBookedBlocks = (
  db: Database,
  did: string,
  environment: Environment,
): Read<ReadonlyMap<string, number>> =>
  read(
    db
      .select({ network: followers.network, block: followers.bookedBlock })
      .from(escrows)
      .innerJoin(followers, eq(followers.network, escrows.network))
      .where(and(eq(escrows.did, did), eq(escrows.environment, environment))),
    (rows) => new Map(rows.map(({ network, block }) => [network, block])),
  );
