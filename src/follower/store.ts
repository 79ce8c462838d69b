// Store of the follower: how far each network is read, the lines of its vaults, and the escrows that they move (CHN-24, MKT-23).
import { and, asc, desc, eq, gt, lte, type SQL, sql } from "drizzle-orm";
import {
  columnsOf,
  type Database,
  guard,
  mustChange,
  type Read,
  read,
  readAll,
  readOne,
  type Statement,
} from "../db/batch.ts";
import {
  type BookedBlock,
  bookedBlocks,
  type FollowerRow,
  followers,
  type LedgerDifference,
  ledgerDifferences,
  type VaultRef,
} from "../db/tables/chain.ts";
import {
  type EscrowRow,
  escrows,
  type LedgerLine,
  ledgerLines,
  receipts,
  type TransactionRow,
  transactions,
} from "../db/tables/money.ts";

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
const sinceThen = ({ readThrough, readAt, paused, ...others }: FollowerRow) => {
  const { checkedReceipt: _compared, bound: _bound, turned: _turned, ...after } = others;
  return { ...after, ...latest({ readThrough, readAt, paused }) };
};
const latest = ({ readThrough, readAt, paused }: Pick<FollowerRow, "readThrough" | "readAt" | "paused">) => ({
  readThrough: sql`max(${followers.readThrough}, ${readThrough})`,
  readAt: sql`max(${followers.readAt}, ${readAt})`,
  paused: sql`case when ${followers.readAt} <= ${readAt} then ${paused ? 1 : 0} else ${followers.paused} end`,
});

/** Adds providers to the list of those whose changed escrow has no event yet, or removes recorded ones. */
export const noteTurned = (db: Database, network: string, { added = [], recorded = [] }: TurnedChange): Statement[] =>
  added.length + recorded.length === 0
    ? []
    : [
        db
          .update(followers)
          .set({
            turned: sql`(select json_group_array(value) from (
              select value from json_each(followers.turned) where value not in (select value from json_each(${JSON.stringify(recorded)}))
              union all select value from json_each(${JSON.stringify(added)}) where value not in (select value from json_each(followers.turned))))`,
          })
          .where(eq(followers.network, network)),
      ];
type TurnedChange = { readonly added?: readonly string[]; readonly recorded?: readonly string[] };

/** Back to a block that the chain has kept: nothing counts as read behind it. Refused as the other is. */
export const rewindFollower = (db: Database, before: FollowerRow, after: FollowerRow): Statement[] =>
  mustChange(
    db,
    db
      .update(followers)
      .set({ ...after, bound: boundBehind(after), turned: sql`${followers.turned}` })
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

/** A facilitated settlement that stands, and the line at its place. `hasVault`: its provider has one on the network. */
export type Compared = {
  readonly transaction: TransactionRow;
  readonly line: Pick<LedgerLine, "parts" | "amount" | "blockHash"> | null;
  readonly hasVault: boolean;
};

export const findCompared = (db: Database, transactionIds: readonly string[]): Read<Compared[]> =>
  read(
    db
      .select({
        transaction: columnsOf(transactions, "x"),
        line: columnsOf(ledgerLines, "l"),
        hasVault:
          sql<number>`exists (select 1 from escrows e where e.did = ${transactions.providerDid} and e.network = ${transactions.network})`.as(
            "has_vault",
          ),
      })
      .from(transactions)
      .leftJoin(
        ledgerLines,
        and(
          eq(ledgerLines.network, transactions.network),
          eq(ledgerLines.txHash, transactions.txHash),
          eq(ledgerLines.logIndex, transactions.logIndex),
          eq(ledgerLines.kind, "settlement"),
          sql`${ledgerLines.reversed} = 0`,
        ),
      )
      .where(
        and(
          sql`${transactions.transactionId} in (select value from json_each(${JSON.stringify(transactionIds)}))`,
          sql`reversed_at is null`,
        ),
      ),
    (rows) => rows.map((row) => ({ ...row, line: row.line?.txHash ? row.line : null, hasVault: row.hasVault === 1 })),
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

// ---- Differences -----------------------------------------------------------------------------------------------------------

/** The same two numbers are found once. */
export const noteDifferences = (db: Database, differences: readonly LedgerDifference[]): Statement[] =>
  differences.map((difference) => db.insert(ledgerDifferences).values(difference).onConflictDoNothing());

/** The differences of the vaults of providers on a network, as they were noted. */
export const findDifferencesOf = (db: Database, network: string, dids: readonly string[]): Read<LedgerDifference[]> =>
  readAll(
    db
      .select()
      .from(ledgerDifferences)
      .where(
        and(
          eq(ledgerDifferences.network, network),
          sql`${ledgerDifferences.did} in (select value from json_each(${JSON.stringify(dids)}))`,
        ),
      ),
  );

// ---- Vaults ----------------------------------------------------------------------------------------------------------------

/** The next escrows behind the provider whose vault a network's follower has compared last, of all networks, in the order of their primary key. */
export const findNextEscrows = (db: Database, network: string, limit: number): Read<EscrowRow[]> =>
  readAll(
    db
      .select()
      .from(escrows)
      .where(sql`${escrows.did} > (select f.checked_did from followers f where f.network = ${network})`)
      .orderBy(asc(escrows.did), asc(escrows.environment), asc(escrows.network))
      .limit(limit),
  );

/** The notes of booked blocks that count as the last ones. */
const NOTES_BACK = 4;

/** Escrows of a network whose vaults got lines at the blocks that were noted last. */
export const findEscrowsBookedLast = (db: Database, network: string, limit: number): Read<EscrowRow[]> =>
  readAll(
    db
      .select()
      .from(escrows)
      .where(
        and(
          sql`did in (select v.value ->> 'did' from booked_blocks b cross join json_each(b.vaults) v
            where b.network = ${network} and b.number > coalesce((select number from booked_blocks
              where network = ${network} order by number desc limit 1 offset ${NOTES_BACK}), 0)
            order by b.number desc limit ${limit})`,
          eq(escrows.network, network),
        ),
      )
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
