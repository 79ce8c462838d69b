// Store of the lists of transactions: an agent's (AGT-37) and an account's (FAC-19). Each merges ranges of the indexes of both sides.
import { and, type SQL, sql } from "drizzle-orm";
import type { AskedRows, FoundRows } from "../core/page.ts";
import { type Environment, SIDES, type Side, type TransactionStatus } from "../core/vocabulary.ts";
import { type AccountFilter, buildAccountRanges, buildAgentRanges, SIDE_COLUMNS } from "../db/account-ranges.ts";
import type { Database, Read } from "../db/batch.ts";
import { isBelow, readRanged, selectBareColumns } from "../db/pages.ts";
import { type TransactionRow, transactions } from "../db/tables/money.ts";
import type { Tenant } from "../db/tenant.ts";

const TABLE = sql`transactions`;
const AT = sql`settled_at`;
const ID = sql`transaction_id`;
const transactionColumns = selectBareColumns(transactions);

const readTransactions = (db: Database, from: readonly SQL[], limit: number): Read<FoundRows<TransactionRow>> =>
  readRanged(
    db,
    { ranges: { columns: transactionColumns, from, order: sql`settled_at desc, transaction_id desc` } },
    limit,
  );

export const listTransactions = (
  db: Database,
  { did, environment }: { readonly did: string; readonly environment: Environment },
  { limit, after }: AskedRows,
): Read<FoundRows<TransactionRow>> =>
  readTransactions(db, buildAgentRanges({ table: TABLE, environment }, did, SIDES, isBelow(AT, ID, after)), limit);

export type TransactionFilter = AccountFilter & {
  readonly status?: TransactionStatus | undefined;
  /** Epoch milliseconds: `since` is inclusive, `until` exclusive. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
};

/** Lists the transactions of an account in an environment, newest first. A transaction between two of its agents is listed once. */
export const listAccountTransactions = (
  db: Database,
  tenant: Tenant,
  { since, until, status, ...whose }: TransactionFilter,
  { limit, after }: AskedRows,
): Read<FoundRows<TransactionRow>> => {
  const by = until === undefined ? undefined : until - 1;
  const bounds = and(since === undefined ? undefined : sql`${AT} >= ${since}`, isBelow(AT, ID, after, by));
  if (status === "reversed") return readTransactions(db, buildReversedRanges(tenant, whose, bounds), limit);
  const among = status === undefined ? bounds : and(bounds, sql`reversed_at is null`);
  return readTransactions(db, buildAccountRanges(TABLE, tenant, whose, among), limit);
};

/** Reversed transactions are rare, and have an index for each side (FAC-18). An agent's are filtered out of its account's. */
function buildReversedRanges(
  { platformId, environment }: Tenant,
  { did, role }: AccountFilter,
  bounds: SQL | undefined,
): SQL[] {
  const isSide = (side: Side) =>
    sql`${PLATFORM_COLUMNS[side]} = ${platformId}${did === undefined ? sql`` : sql` and ${SIDE_COLUMNS[side]} = ${did}`}`;
  // A transaction between two agents of the account is in both ranges.
  const either = sql`(${isSide("provider")} or ${isSide("consumer")})`;
  return SIDES.filter((side) => role === undefined || role === side).map((side) => {
    const once = role === undefined && side === "consumer" ? sql`provider_platform_id <> ${platformId}` : undefined;
    // Literal text, so that SQLite uses the partial index.
    const own = sql`${PLATFORM_COLUMNS[side]} = ${platformId} and environment = ${environment} and reversed_at is not null`;
    return sql`transactions where ${and(own, role === undefined ? either : isSide(side), once, bounds)}`;
  });
}

const PLATFORM_COLUMNS = {
  provider: sql`provider_platform_id`,
  consumer: sql`consumer_platform_id`,
} as const satisfies Record<Side, SQL>;
