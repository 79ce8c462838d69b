// Store of the lines of vaults, and of the escrows and markets that they are found by (MKT-23).
import { and, desc, eq, getTableColumns, lte, type SQL, sql } from "drizzle-orm";
import { type Hash, shortHash } from "../chain/hashes.ts";
import { type Database, guard, type Read, readAll, type Statement } from "../db/batch.ts";
import { agentMarkets, agents, type MarketRow, type WalletSince } from "../db/tables/agents.ts";
import type { VaultRef } from "../db/tables/chain.ts";
import { type EscrowRow, escrows, type LedgerLine, ledgerLines } from "../db/tables/money.ts";
import { emptyBehind } from "../escrow/ledger.ts";
import { isNewestLine } from "../escrow/store.ts";

/** The providers with these hashes; a hash that is short may be another's too. */
const named = (hashes: SQL): SQL =>
  sql`json_each(${hashes}) k cross join agents a on a.did_hash <> '' and a.did_hash = k.value ->> 0`;

/** The escrows of the providers with these hashes, in either environment. */
export const findEscrowsByHash = (db: Database, network: string, hashes: readonly Hash[]): Read<EscrowRow[]> =>
  readAll(
    db
      .select(getTableColumns(escrows))
      .from(sql`(select a.did from ${named(jsonOf(hashes.map((hash) => [hash])))}) as wanted`)
      .crossJoin(escrows)
      .where(sql`${escrows.did} = wanted.did and ${escrows.network} = ${network}`),
  );

/** Their markets on a network, in either environment. */
export const findMarketsByHash = (db: Database, network: string, hashes: readonly Hash[]): Read<MarketRow[]> =>
  readAll(
    db
      .select(getTableColumns(agentMarkets))
      .from(sql`(select a.did from ${named(jsonOf(hashes.map((hash) => [hash])))}) as wanted`)
      .crossJoin(agentMarkets)
      .where(sql`${agentMarkets.did} = wanted.did and ${agentMarkets.network} = ${network}`),
  );

/** The providers with these hashes, and their wallets. */
export const findProvidersByHash = (
  db: Database,
  hashes: readonly Hash[],
): Read<{ readonly did: string; readonly wallets: readonly WalletSince[] }[]> =>
  readAll(
    db
      .select({ did: sql<string>`a.did`.as("did"), wallets: sql`a.wallets`.mapWith(agents.wallets).as("wallets") })
      .from(named(jsonOf(hashes.map((hash) => [hash])))),
  );

const jsonOf = (named: readonly (readonly [hash: Hash, ...rest: string[]])[]): SQL =>
  sql`${JSON.stringify(named.map(([hash, ...rest]) => [shortHash(hash), ...rest]))}`;

/** The newest line of each vault; of providers, by their hashes, and editions. */
export const findNewestLines = (
  db: Database,
  network: string,
  vaults: readonly (readonly [hash: Hash, contract: string])[],
): Read<LedgerLine[]> => {
  const wanted = sql`(select a.did, k.value ->> 1 as contract from ${named(jsonOf(vaults))}) as wanted`;
  return readAll(
    db
      .select(getTableColumns(ledgerLines))
      .from(wanted)
      .crossJoin(ledgerLines)
      .where(isNewestLine(sql`wanted.did`, network, sql`wanted.contract`)),
  );
};
/** Rows of one statement, by its text. */
const AT_ONCE = 200;

/** Refused where one of them is booked already; one that a reorganisation took away is booked anew, with what it came to in its new block. */
export const insertLines = (db: Database, lines: readonly LedgerLine[]): Statement[] =>
  Array.from({ length: Math.ceil(lines.length / AT_ONCE) }, (_, n) =>
    lines.slice(n * AT_ONCE, (n + 1) * AT_ONCE),
  ).flatMap((part) => {
    const values = JSON.stringify(
      part.map((line) => [
        ...[line.network, line.txHash, line.logIndex, line.did, line.contract, line.kind, line.amount, line.held],
        ...[
          line.deposited,
          line.blockNumber,
          line.blockHash,
          line.minedAt,
          line.number,
          line.settlementKey,
          line.parts,
        ],
      ]),
    );
    const column = (at: number): SQL => sql.raw(`value ->> ${at}`);
    const columns = sql.join(
      Array.from({ length: 13 }, (_, at) => column(at)),
      sql`, `,
    );
    const names = sql`${column(13)}, ${column(14)}`;
    return [
      db
        .insert(ledgerLines)
        .select(sql`select ${columns}, 0, ${names} from json_each(${values}) where true`)
        .onConflictDoUpdate({
          target: [ledgerLines.network, ledgerLines.txHash, ledgerLines.logIndex],
          set: Object.fromEntries(
            (
              [
                "amount",
                "held",
                "deposited",
                "block_number",
                "block_hash",
                "mined_at",
                "number",
                "reversed",
                "parts",
              ] as const
            ).map((name) => [camel(name), sql.raw(`excluded.${name}`)]),
          ),
          setWhere: sql`ledger_lines.reversed = 1`,
        }),
      guard(db, sql`changes() = ${sql.raw(String(part.length))}`),
    ];
  });

const camel = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The newest lines of a vault, the newest first; `empty`: of the settlements that put nothing into it those behind a block. */
export const findLinesOf = (
  db: Database,
  network: string,
  { did, contract }: VaultRef,
  limit: number,
  { empty }: { readonly empty?: number } = {},
): Read<LedgerLine[]> =>
  readAll(
    db
      .select()
      .from(ledgerLines)
      .where(
        and(
          eq(ledgerLines.did, did),
          eq(ledgerLines.network, network),
          eq(ledgerLines.contract, contract),
          empty === undefined ? sql`number > 0` : lte(ledgerLines.number, emptyBehind(empty)),
          // Literal text, so that SQLite uses the partial index.
          sql`reversed = 0`,
        ),
      )
      .orderBy(desc(ledgerLines.number))
      .limit(limit),
  );

export const reverseLines = (db: Database, lines: readonly LedgerLine[]): Statement[] =>
  lines.length === 0
    ? []
    : [
        db
          .update(ledgerLines)
          .set({ reversed: true })
          .where(
            sql`(network, tx_hash, log_index) in (select value ->> 0, value ->> 1, value ->> 2 from
              json_each(${JSON.stringify(lines.map(({ network, txHash, logIndex }) => [network, txHash, logIndex]))})) and reversed = 0`,
          ),
        guard(db, sql`changes() = ${sql.raw(String(lines.length))}`),
      ];
