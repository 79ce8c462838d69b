// Store of the lines of vaults (MKT-23), and of what is found by a provider's hash: escrows, markets and wallets.
import { getTableColumns, type SQL, sql } from "drizzle-orm";
import { type Hash, shortenHash } from "../chain/hashes.ts";
import { type Database, mustChange, type Read, read, readAll, type Statement } from "../db/batch.ts";
import { eachOf, selectFields } from "../db/lists.ts";
import { agentMarkets, agents, type MarketRow, type WalletSince } from "../db/tables/agents.ts";
import type { VaultRef } from "../db/tables/chain.ts";
import {
  type EscrowRow,
  escrows,
  type LedgerLine,
  ledgerLines,
  type NamedWallet,
  namedWallets,
} from "../db/tables/money.ts";
import { computeEmptyLineNumber } from "../escrow/ledger.ts";
import { isNewestLine } from "../escrow/store.ts";

/** Joins the agents with these hashes. A short hash may match another agent too. */
const joinAgentsByHash = (hashes: SQL): SQL =>
  sql`${eachOf(hashes)} k cross join agents a on a.did_hash <> '' and a.did_hash = k.value ->> 0`;

/** In both environments. */
export const findEscrowsByHash = (db: Database, network: string, hashes: readonly Hash[]): Read<EscrowRow[]> =>
  readAll(
    db
      .select(getTableColumns(escrows))
      .from(sql`(select a.did from ${joinAgentsByHash(toJsonList(hashes.map((hash) => [hash])))}) as wanted`)
      .crossJoin(escrows)
      .where(sql`${escrows.did} = wanted.did and ${escrows.network} = ${network}`),
  );

/** In both environments. */
export const findMarketsByHash = (db: Database, network: string, hashes: readonly Hash[]): Read<MarketRow[]> =>
  readAll(
    db
      .select(getTableColumns(agentMarkets))
      .from(sql`(select a.did from ${joinAgentsByHash(toJsonList(hashes.map((hash) => [hash])))}) as wanted`)
      .crossJoin(agentMarkets)
      .where(sql`${agentMarkets.did} = wanted.did and ${agentMarkets.network} = ${network}`),
  );

export const findProvidersByHash = (
  db: Database,
  hashes: readonly Hash[],
): Read<{ readonly did: string; readonly wallets: readonly WalletSince[] }[]> =>
  readAll(
    db
      .select({ did: sql<string>`a.did`.as("did"), wallets: sql`a.wallets`.mapWith(agents.wallets).as("wallets") })
      .from(joinAgentsByHash(toJsonList(hashes.map((hash) => [hash])))),
  );

/** Finds which of these wallets their providers have named on a network. */
export const findNamedByHash = (
  db: Database,
  network: string,
  wallets: readonly (readonly [hash: Hash, wallet: string])[],
): Read<NamedWallet[]> =>
  readAll(
    db
      .select(getTableColumns(namedWallets))
      .from(sql`(select a.did, k.value ->> 1 as wallet from ${joinAgentsByHash(toJsonList(wallets))}) as wanted`)
      .crossJoin(namedWallets)
      .where(
        sql`${namedWallets.did} = wanted.did and ${namedWallets.network} = ${network} and ${namedWallets.wallet} = wanted.wallet`,
      ),
  );

const toJsonList = (named: readonly (readonly [hash: Hash, ...rest: string[]])[]): SQL =>
  sql`${JSON.stringify(named.map(([hash, ...rest]) => [shortenHash(hash), ...rest]))}`;

/** A vault is named by its provider's hash and its edition. */
export const findNewestLines = (
  db: Database,
  network: string,
  vaults: readonly (readonly [hash: Hash, contract: string])[],
): Read<LedgerLine[]> => {
  const wanted = sql`(select a.did, k.value ->> 1 as contract from ${joinAgentsByHash(toJsonList(vaults))}) as wanted`;
  return readAll(
    db
      .select(getTableColumns(ledgerLines))
      .from(wanted)
      .crossJoin(ledgerLines)
      .where(isNewestLine(sql`wanted.did`, network, sql`wanted.contract`)),
  );
};
/** Rows of one statement; the length of its text bounds them. */
const AT_ONCE = 200;

/** Aborts the batch if one of the lines is booked already. A line that a reorg removed is booked again, with its values in the new block. */
export const insertLines = (db: Database, lines: readonly LedgerLine[]): Statement[] =>
  Array.from({ length: Math.ceil(lines.length / AT_ONCE) }, (_, n) =>
    lines.slice(n * AT_ONCE, (n + 1) * AT_ONCE),
  ).flatMap((part) => {
    const values = part.map((line) => [
      ...[line.network, line.txHash, line.logIndex, line.did, line.contract, line.kind, line.amount, line.held],
      ...[line.deposited, line.blockNumber, line.blockHash, line.minedAt, line.number, line.settlementKey, line.parts],
    ]);
    return mustChange(
      db,
      db
        .insert(ledgerLines)
        .select(sql`select ${selectFields(13)}, 0, ${selectFields(2, 13)} from ${eachOf(values)} where true`)
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
            ).map((name) => [toCamelCase(name), sql.raw(`excluded.${name}`)]),
          ),
          setWhere: sql`ledger_lines.reversed = 1`,
        }),
      part.length,
    );
  });

const toCamelCase = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The number of a vault's lines that a reorg removes. `amount`: the sum of all but settlements. */
export type GoneLines = VaultRef & { readonly lines: number; readonly amount: number };

/** Ranges of line numbers after a block, two for each vault: lines above its newest kept line, and settlements that put nothing into the vault. */
const selectLineNumbersAfter = (network: string, vaults: readonly VaultRef[], block: number): SQL => {
  const all = sql`from ${eachOf(vaults.map(({ did, contract }) => [did, contract]))}`;
  const kept = sql`select k.number from ledger_lines k where k.did = value ->> 0 and k.network = ${network}
    and k.contract = value ->> 1 and k.number > 0 and k.block_number <= ${block} and k.reversed = 0
    order by k.number desc limit 1`;
  const [last, first] = [sql.raw(`${Number.MAX_SAFE_INTEGER}`), sql.raw(`${Number.MIN_SAFE_INTEGER}`)];
  return sql`(select value ->> 0 as did, value ->> 1 as contract, coalesce((${kept}), 0) + 1 as low, ${last} as high ${all}
    union all select value ->> 0, value ->> 1, ${first}, ${computeEmptyLineNumber(block)} ${all}) as behind`;
};
const isLineAfter = (network: string): SQL =>
  sql`l.did = behind.did and l.network = ${network} and l.contract = behind.contract
    and l.number between behind.low and behind.high and l.reversed = 0`;

export const findGoneLines = (
  db: Database,
  network: string,
  vaults: readonly VaultRef[],
  block: number,
): Read<GoneLines[]> => {
  const sums = sql`select json_array(count(*), coalesce(sum(case when l.kind = 'settlement' then 0 else l.amount end), 0))
    from ledger_lines l where ${isLineAfter(network)}`;
  return read(
    db
      .select({
        did: sql<string>`behind.did`.as("did"),
        contract: sql<string>`behind.contract`.as("contract"),
        sums: sql<string>`(${sums})`.as("sums"),
      })
      .from(selectLineNumbersAfter(network, vaults, block)),
    (found) =>
      found
        .map(({ sums, ...vault }) => ({ vault, sums: JSON.parse(sums) as [number, number] }))
        .map(({ vault, sums: [lines, amount] }) => ({ ...vault, lines, amount }))
        .filter(({ lines }) => lines > 0),
  );
};

/** The settlements of the payouts among these lines, as rows of one column. */
export const selectPaidOutAfter = (network: string, vaults: readonly VaultRef[], block: number): SQL =>
  sql`select l.settlement_key from ${selectLineNumbersAfter(network, vaults, block)} cross join ledger_lines l
    where ${isLineAfter(network)} and l.kind = 'payout'`;

/** Reverses all of them, however many there are. Aborts the batch if there are not as many as were found. */
export const reverseLinesAfter = (
  db: Database,
  network: string,
  gone: readonly GoneLines[],
  block: number,
): Statement[] =>
  gone.length === 0
    ? []
    : mustChange(
        db,
        db
          .update(ledgerLines)
          .set({ reversed: true })
          .where(
            sql`(network, tx_hash, log_index) in (select l.network, l.tx_hash, l.log_index
              from ${selectLineNumbersAfter(network, gone, block)} cross join ledger_lines l where ${isLineAfter(network)})`,
          ),
        countGoneLines(gone),
      );

export const countGoneLines = (gone: readonly GoneLines[]): number => gone.reduce((sum, { lines }) => sum + lines, 0);
