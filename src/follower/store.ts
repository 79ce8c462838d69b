// Store of the follower: how far each network is read, the lines of its vaults, and the escrows that they move (CHN-24, MKT-23).
import { and, asc, desc, eq, getTableColumns, gt, lte, type SQL, sql } from "drizzle-orm";
import { type Hash, shortHash } from "../chain/hashes.ts";
import { type Database, guard, mustChange, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { agentMarkets, type MarketRow } from "../db/tables/agents.ts";
import {
  type BookedBlock,
  bookedBlocks,
  type FollowerRow,
  followers,
  type LedgerDifference,
  ledgerDifferences,
  type VaultRef,
} from "../db/tables/chain.ts";
import { type EscrowRow, escrows, type LedgerLine, ledgerLines, receipts } from "../db/tables/money.ts";
import { isNewestLine } from "../escrow/store.ts";

// ---- Progress --------------------------------------------------------------------------------------------------------------

export const findFollower = (db: Database, network: string): Read<FollowerRow | null> =>
  readOne(db.select().from(followers).where(eq(followers.network, network)));

/** Intents whose bound payments came to stand behind the booked block, and those of which that is so no more. */
export type BoundChange = { readonly added: readonly string[]; readonly ended: readonly string[] };
const AS_BEFORE: BoundChange = { added: [], ended: [] };

/** Begins or moves on; refused when another run has moved on meanwhile. */
export const moveFollower = (
  db: Database,
  before: FollowerRow | null,
  after: FollowerRow,
  bound: BoundChange = AS_BEFORE,
): Statement[] =>
  before === null
    ? [db.insert(followers).values({ ...after, bound: bound.added, checkedReceipt: beforeFirstOf(after.network) })]
    : mustChange(
        db,
        db
          .update(followers)
          .set({ ...sinceThen(after), bound: afterChange(bound) })
          .where(isAt(before)),
      );

/** As another run may have left it meanwhile, and with this change. */
const afterChange = ({ added, ended }: BoundChange): SQL<string> =>
  sql`(select json_group_array(value) from (
    select value from json_each(followers.bound) where value not in (select value from json_each(${JSON.stringify(ended)}))
    union all select value from json_each(${JSON.stringify(added)}) where value not in (select value from json_each(followers.bound))))`;

/** A payment that was bound behind a network's booked block. */
export const noteBound = (db: Database, network: string, intentId: string): Statement =>
  db
    .update(followers)
    .set({ bound: afterChange({ added: [intentId], ended: [] }) })
    .where(eq(followers.network, network));

/** Where the comparison of a network's settlements begins. */
const beforeFirstOf = (network: string): SQL<number> =>
  sql`coalesce((select min(r.rowid) - 1 from receipts r where r.network = ${network}), (select max(r.rowid) from receipts r), 0)`;

/**
 * A run that began before another one and ends behind it brings nothing back that the other one has read. How far settlements were compared, and
 * what is bound, are moved by themselves.
 */
const sinceThen = ({ readThrough, readAt, paused, checkedReceipt: _own, bound: _too, ...after }: FollowerRow) => ({
  ...after,
  readThrough: sql`max(${followers.readThrough}, ${readThrough})`,
  readAt: sql`max(${followers.readAt}, ${readAt})`,
  paused: sql`case when ${followers.readAt} <= ${readAt} then ${paused ? 1 : 0} else ${followers.paused} end`,
});

/** Back to a block that the chain has kept: nothing counts as read behind it. Refused as the other is. */
export const rewindFollower = (db: Database, before: FollowerRow, after: FollowerRow): Statement[] =>
  mustChange(
    db,
    db
      .update(followers)
      .set({ ...after, bound: boundBehind(after) })
      .where(isAt(before)),
  );

/** By the instants of their payments, which stand on clocks that may be ahead of the chain's. Literal text, so that SQLite uses the partial index. */
const boundBehind = ({ network, bookedBlock, bookedAt }: FollowerRow): SQL<string> =>
  sql`(select json_group_array(i.intent_id) from payment_intents i where i.status = 'PAID' and i.spent_at is null
    and i.network = ${network} and i.paid_at >= ${bookedAt} and i.payment_block > ${bookedBlock})`;

/** Refuses the batch when another run has moved on meanwhile. */
export const whileAt = (db: Database, before: FollowerRow): Statement =>
  guard(db, sql`exists (select 1 from followers where ${isAt(before)})`);

const isAt = ({ network, bookedBlock, bookedHash }: FollowerRow): SQL | undefined =>
  and(eq(followers.network, network), eq(followers.bookedBlock, bookedBlock), eq(followers.bookedHash, bookedHash));

/** So many notes back a reorganisation is found. */
const NOTED = 200;
/** Notes are kept for so many blocks: by their numbers, so that no run counts them. At most 2,000 blocks lie between two. */
const KEPT_BLOCKS = 10_000;

/** Notes a booked block, and forgets the oldest ones. */
export const noteBlock = (db: Database, note: BookedBlock): Statement[] => [
  db
    .insert(bookedBlocks)
    .values(note)
    .onConflictDoUpdate({
      target: [bookedBlocks.network, bookedBlocks.number],
      set: { hash: note.hash, vaults: note.vaults },
    }),
  db
    .delete(bookedBlocks)
    .where(and(eq(bookedBlocks.network, note.network), lte(bookedBlocks.number, note.number - KEPT_BLOCKS))),
];

/** Vaults that got lines at the last booked block. */
export const noteVaults = (
  db: Database,
  { network, bookedBlock, bookedHash }: FollowerRow,
  vaults: readonly VaultRef[],
): Statement[] => [
  db
    .insert(bookedBlocks)
    .values({ network, number: bookedBlock, hash: bookedHash, vaults })
    .onConflictDoUpdate({
      target: [bookedBlocks.network, bookedBlocks.number],
      set: {
        vaults: sql`(select json_group_array(json(value)) from
          (select value from json_each(booked_blocks.vaults) union all select value from json_each(excluded.vaults)))`,
      },
    }),
];

/** The blocks that were noted, the newest first. */
export const findNotes = (db: Database, network: string): Read<BookedBlock[]> =>
  readAll(
    db
      .select()
      .from(bookedBlocks)
      .where(eq(bookedBlocks.network, network))
      .orderBy(desc(bookedBlocks.number))
      .limit(NOTED + 1),
  );

export const forgetBehind = (db: Database, network: string, number: number): Statement =>
  db.delete(bookedBlocks).where(and(eq(bookedBlocks.network, network), gt(bookedBlocks.number, number)));

// ---- Settlements -----------------------------------------------------------------------------------------------------------

export type Recorded = Pick<typeof receipts.$inferSelect, "network" | "blockNumber" | "transactionId"> & {
  readonly number: number;
};

/** The place of a receipt among all. */
const NUMBER = sql<number>`receipts.rowid`;

/** The settlements that were recorded and not yet compared with their blocks, in the order of their records; of all networks. */
export const findUnchecked = (db: Database, network: string, limit: number): Read<Recorded[]> =>
  readAll(
    db
      .select({
        number: NUMBER.as("number"),
        network: receipts.network,
        blockNumber: receipts.blockNumber,
        transactionId: receipts.transactionId,
      })
      .from(receipts)
      .where(sql`${NUMBER} > (select f.checked_receipt from followers f where f.network = ${network})`)
      .orderBy(asc(NUMBER))
      .limit(limit),
  );

/** All up to a receipt were compared, on the chain that the follower has read. */
export const moveChecked = (db: Database, before: FollowerRow, checkedReceipt: number): Statement[] =>
  mustChange(
    db,
    db
      .update(followers)
      .set({ checkedReceipt })
      .where(and(isAt(before), eq(followers.checkedReceipt, before.checkedReceipt))),
  );

/** What was recorded of blocks that are gone is compared again. */
export const recheckBehind = (db: Database, network: string, number: number): Statement =>
  db
    .update(followers)
    .set({
      checkedReceipt: sql`min(${followers.checkedReceipt}, coalesce((select min(r.rowid) - 1 from receipts r
        where r.network = ${network} and r.block_number > ${number}), ${followers.checkedReceipt}))`,
    })
    .where(eq(followers.network, network));

// ---- Lines -----------------------------------------------------------------------------------------------------------------

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
        ...[line.deposited, line.blockNumber, line.blockHash, line.minedAt, line.number, line.settlementKey],
      ]),
    );
    const column = (at: number): SQL => sql.raw(`value ->> ${at}`);
    const columns = sql.join(
      Array.from({ length: 13 }, (_, at) => column(at)),
      sql`, `,
    );
    const settlementKey = column(13);
    return [
      db
        .insert(ledgerLines)
        .select(sql`select ${columns}, 0, ${settlementKey} from json_each(${values}) where true`)
        .onConflictDoUpdate({
          target: [ledgerLines.network, ledgerLines.txHash, ledgerLines.logIndex],
          set: Object.fromEntries(
            (
              ["amount", "held", "deposited", "block_number", "block_hash", "mined_at", "number", "reversed"] as const
            ).map((name) => [camel(name), sql.raw(`excluded.${name}`)]),
          ),
          setWhere: sql`ledger_lines.reversed = 1`,
        }),
      guard(db, sql`changes() = ${sql.raw(String(part.length))}`),
    ];
  });

const camel = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The newest lines of a vault, the newest first. */
export const findLinesOf = (
  db: Database,
  network: string,
  { did, contract }: VaultRef,
  limit: number,
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

// ---- Differences -----------------------------------------------------------------------------------------------------------

/** The same two numbers are found once. */
export const noteDifferences = (db: Database, differences: readonly LedgerDifference[]): Statement[] =>
  differences.map((difference) => db.insert(ledgerDifferences).values(difference).onConflictDoNothing());

// ---- Vaults ----------------------------------------------------------------------------------------------------------------

/** The next escrows behind a provider, of all networks, in the order of their primary key. */
export const findEscrowsBehind = (db: Database, did: string, limit: number): Read<EscrowRow[]> =>
  readAll(
    db
      .select()
      .from(escrows)
      .where(gt(escrows.did, did))
      .orderBy(asc(escrows.did), asc(escrows.environment), asc(escrows.network))
      .limit(limit),
  );

/** The escrows of providers on a network, in either environment. */
export const findEscrowsOfAll = (db: Database, network: string, dids: readonly string[]): Read<EscrowRow[]> =>
  readAll(
    db
      .select()
      .from(escrows)
      .where(and(sql`did in (select value from json_each(${JSON.stringify(dids)}))`, eq(escrows.network, network))),
  );
