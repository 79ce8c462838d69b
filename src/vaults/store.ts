// Store of the reads of vaults: their newest lines and booked blocks, their differences (MKT-28), and what they are still needed for (MKT-30). The
// follower writes the lines, the blocks and the differences.
import { and, desc, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/clock.ts";
import type { AskedRows } from "../core/page.ts";
import type { Environment } from "../core/vocabulary.ts";
import { type Database, guard, type Read, read, readAll, type Statement } from "../db/batch.ts";
import { followers, type LedgerDifference, ledgerDifferences } from "../db/tables/chain.ts";
import { alerts } from "../db/tables/journal.ts";
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

// ---- Differences -----------------------------------------------------------------------------------------------------------

/** `alertId`: the open alert about the vault. */
export type ListedDifference = LedgerDifference & { readonly alertId: string | null };

/** The place of a difference among those of its instant: the columns of its key, none of which contains a space. */
export const toDifferencePlace = ({ network, did, contract, held, expected }: LedgerDifference): string =>
  [network, did, contract, held, expected].join(" ");

/** Lists vaults that held less than their lines say, newest first. */
export const listDifferences = (
  db: Database,
  filter: { readonly network: string | undefined; readonly did: string | undefined },
  { limit, after }: AskedRows,
): Read<ListedDifference[]> => {
  const { foundAt, network, did, contract, held, expected } = ledgerDifferences;
  const [afterNetwork = "", afterDid = "", afterContract = "", afterHeld = "", afterExpected = ""] =
    after?.id.split(" ") ?? [];
  return readAll(
    db
      .select({ ...getTableColumns(ledgerDifferences), alertId: alerts.alertId })
      .from(ledgerDifferences)
      .leftJoin(
        alerts,
        and(
          eq(alerts.kind, "reconciliation"),
          eq(alerts.subject, sql`${did} || ' on ' || ${network}`),
          // Literal text, so that SQLite uses the partial index.
          sql`acknowledged_at is null`,
        ),
      )
      .where(
        and(
          // The sign keeps SQLite from using the index of the key, which has another order.
          filter.network === undefined ? undefined : sql`+${network} = ${filter.network}`,
          filter.did === undefined ? undefined : eq(did, filter.did),
          after === null
            ? undefined
            : sql`(${foundAt}, ${network}, ${did}, ${contract}, ${held}, ${expected}) <
              (${after.at}, ${afterNetwork}, ${afterDid}, ${afterContract}, ${Number(afterHeld)}, ${Number(afterExpected)})`,
        ),
      )
      // A filter by provider leaves `did` out, because its index does not have the column between the others.
      .orderBy(
        ...[foundAt, network, ...(filter.did === undefined ? [did] : []), contract, held, expected].map((one) =>
          desc(one),
        ),
      )
      .limit(limit + 1),
  );
};

// ---- Needs -----------------------------------------------------------------------------------------------------------------

export type VaultKey = Pick<EscrowRow, "did" | "network">;

/**
 * `sells`: the provider has not ended, and has a market in either environment where it is or will be paid. `open`: it has an open intent, task or
 * dispute, or an ended dispute that is not paid yet. `closesAt`: the end of the last dispute window.
 */
export type VaultNeeds = { readonly sells: boolean; readonly open: boolean; readonly closesAt: number };

/** Finds for what a provider still needs its vault on a network. */
export const findVaultNeeds = (db: Database, vault: VaultKey, now: number): Read<VaultNeeds> => {
  const [did, network] = [sql`${vault.did}`, sql`${vault.network}`];
  return read(
    db
      .select({
        sells: sql<number>`${isSellingOn(did, network)}`.as("sells"),
        open: sql<number>`${hasOpenOn(did, network, now)}`.as("open"),
        closesAt: sql<number>`${selectLastWindowEnd(did, network)}`.as("closes_at"),
      })
      .from(sql`(select 1)`),
    ([row]) => ({ sells: row?.sells === 1, open: row?.open === 1, closesAt: row?.closesAt ?? 0 }),
  );
};

/** Aborts the batch if the provider sells again, has something open, or has a dispute window that is still open. */
export const guardLeaving = (db: Database, vault: VaultKey, now: number): Statement => {
  const [did, network] = [sql`${vault.did}`, sql`${vault.network}`];
  const closed = sql`${selectLastWindowEnd(did, network)} <= ${now}`;
  return guard(db, sql`not ${isSellingOn(did, network)} and not ${hasOpenOn(did, network, now)} and ${closed}`);
};

/** Looks at the next escrows from a DID on, in primary key order, and finds those whose provider no longer sells there. */
export const findUnsoldVaults = (db: Database, from: string, limit: number): Read<Due[]> =>
  readAll(
    db
      .select({ at: sql<number>`0`.as("at"), id: sql<string>`listed.did || ' ' || listed.network`.as("id") })
      .from(
        sql`(select did, network, base_threshold from escrows where did >= ${from} order by did, environment, network limit ${limit}) as listed`,
      )
      .where(sql`listed.base_threshold > 0 and not ${isSellingOn(sql`listed.did`, sql`listed.network`)}`),
  );

/** The expressions name the vault. A market that failed does not count, nor a sandbox market of an agent that was promoted. */
const isSellingOn = (did: SQL, network: SQL): SQL =>
  sql`exists (select 1 from agent_markets m join agents a on a.did = m.did
    where m.did = ${did} and m.network = ${network} and m.status <> 'FAILED' and a.status not in ('REVOKED', 'TERMINATED')
      and (m.environment = 'production' or a.environment = 'sandbox'))`;

/** A dispute on any network counts, by what its vault keeps back: while it is open, and until its outcome is paid. */
const hasOpenOn = (did: SQL, network: SQL, now: number): SQL =>
  sql`(exists (select 1 from payment_intents i where i.provider_did = ${did} and i.network = ${network}
      and status in ('OPEN', 'PAID') and spent_at is null)
    or exists (select 1 from tasks t where t.provider_did = ${did} and t.environment in ('sandbox', 'production')
      and t.answer is null and t.confirm_by > ${now} and t.status in ('open', 'disputed') and t.network = ${network})
    or ${keepsBack(did)})`;

const selectLastWindowEnd = (did: SQL, network: SQL): SQL =>
  sql`coalesce((select max(windows_close_at) from escrows w where w.did = ${did} and w.network = ${network}), 0)`;

/** Whether a vault of an agent keeps something back for disputes. `did`: an expression that names the agent. `further`: limits the vaults. */
export const keepsBack = (did: SQL, further: SQL = sql``): SQL =>
  sql`exists (select 1 from escrows k where k.did = ${did} ${further} and (k.disputed > 0 or k.owed > 0))`;
export const findKeepsBack = (db: Database, did: string, environment: Environment): Read<boolean> =>
  read(
    db
      .select({ kept: sql<number>`${keepsBack(sql`${did}`, sql`and k.environment = ${environment}`)}`.as("kept") })
      .from(sql`(select 1)`),
    ([row]) => row?.kept === 1,
  );
