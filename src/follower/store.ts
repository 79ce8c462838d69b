// Store of the follower's progress on each network, its noted blocks, and the settlements and escrows that it compares (CHN-24, MKT-23).
import { and, asc, desc, eq, gt, lte, type SQL, sql } from "drizzle-orm";
import {
  aliasColumns,
  type Database,
  guard,
  mustChange,
  type Read,
  read,
  readAll,
  readOne,
  type Statement,
} from "../db/batch.ts";
import { eachOf, isOneOf } from "../db/lists.ts";
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

/** `added`: intents whose payment is now in a block after the booked one. `ended`: intents of which this is no longer true. */
export type BoundChange = { readonly added: readonly string[]; readonly ended: readonly string[] };
const BOUND_UNCHANGED: BoundChange = { added: [], ended: [] };

/** Inserts or advances the follower. Aborts the batch if another run has advanced it meanwhile. */
export const moveFollower = (
  db: Database,
  before: FollowerRow | null,
  after: FollowerRow,
  bound: BoundChange = BOUND_UNCHANGED,
): Statement[] =>
  before === null
    ? [
        db
          .insert(followers)
          .values({ ...after, bound: bound.added, checkedReceipt: selectLastReceiptBefore(after.network) }),
      ]
    : mustChange(
        db,
        db
          .update(followers)
          .set({ ...toAdvancedColumns(after), bound: applyBoundChange(bound) })
          .where(isFollowerAt(before)),
      );

/** Applies a change to the stored list, because another run may have changed the list meanwhile. */
const applyBoundChange = ({ added, ended }: BoundChange): SQL<string> =>
  sql`(select json_group_array(value) from (
    select value from ${eachOf(followers.bound)} where value not in (select value from ${eachOf(ended)})
    union all select value from ${eachOf(added)} where value not in (select value from ${eachOf(followers.bound)})))`;

/** Records an intent that was bound to a payment after the network's booked block. */
export const noteBound = (db: Database, network: string, intentId: string): Statement =>
  db
    .update(followers)
    .set({ bound: applyBoundChange({ added: [intentId], ended: [] }) })
    .where(eq(followers.network, network));

/** The receipt after which the comparison of a network's settlements begins. */
const selectLastReceiptBefore = (network: string): SQL<number> =>
  sql`coalesce((select min(r.rowid) - 1 from receipts r where r.network = ${network}), (select max(r.rowid) from receipts r), 0)`;

/**
 * A run that began before another one and ends after it must not undo what the other one has read. Other statements move `checkedReceipt`, `bound`
 * and `turned`.
 */
const toAdvancedColumns = ({ readThrough, readAt, paused, ...others }: FollowerRow) => {
  const { checkedReceipt: _compared, bound: _bound, turned: _turned, ...after } = others;
  return { ...after, ...keepLatest({ readThrough, readAt, paused }) };
};
const keepLatest = ({ readThrough, readAt, paused }: Pick<FollowerRow, "readThrough" | "readAt" | "paused">) => ({
  readThrough: sql`max(${followers.readThrough}, ${readThrough})`,
  readAt: sql`max(${followers.readAt}, ${readAt})`,
  paused: sql`case when ${followers.readAt} <= ${readAt} then ${paused ? 1 : 0} else ${followers.paused} end`,
});

/** Adds providers whose changed escrow has no event yet to the list, or removes providers whose event was recorded. */
export const changeTurned = (
  db: Database,
  network: string,
  { added = [], recorded = [] }: TurnedChange,
): Statement[] =>
  added.length + recorded.length === 0
    ? []
    : [
        db
          .update(followers)
          .set({
            turned: sql`(select json_group_array(value) from (
              select value from ${eachOf(followers.turned)} where value not in (select value from ${eachOf(recorded)})
              union all select value from ${eachOf(added)} where value not in (select value from ${eachOf(followers.turned)})))`,
          })
          .where(eq(followers.network, network)),
      ];
type TurnedChange = { readonly added?: readonly string[]; readonly recorded?: readonly string[] };

/** Rewinds to a block that is still on the chain, so nothing after it counts as read. Aborts the batch like `moveFollower`. */
export const rewindFollower = (db: Database, before: FollowerRow, after: FollowerRow): Statement[] =>
  mustChange(
    db,
    db
      .update(followers)
      .set({ ...after, bound: selectBoundAfter(after), turned: sql`${followers.turned}` })
      .where(isFollowerAt(before)),
  );

/** `paid_at` is never behind the chain's clock but may be ahead of it, so it only preselects. Literal text, so that SQLite uses the partial index. */
const selectBoundAfter = ({ network, bookedBlock, bookedAt }: FollowerRow): SQL<string> =>
  sql`(select json_group_array(i.intent_id) from payment_intents i where i.status = 'PAID' and i.spent_at is null
    and i.network = ${network} and i.paid_at >= ${bookedAt} and i.payment_block > ${bookedBlock})`;

/** Aborts the batch if another run has moved the follower meanwhile. */
export const guardFollower = (db: Database, before: FollowerRow): Statement =>
  guard(db, sql`exists (select 1 from followers where ${isFollowerAt(before)})`);

const isFollowerAt = ({ network, bookedBlock, bookedHash }: FollowerRow): SQL | undefined =>
  and(eq(followers.network, network), eq(followers.bookedBlock, bookedBlock), eq(followers.bookedHash, bookedHash));

/** A reorg is found if it goes back at most this many notes. */
const NOTES_READ = 200;
/** Notes are kept for this many blocks. The limit is a block number, so that no run counts notes; at most 2,000 blocks lie between two. */
const KEPT_BLOCKS = 10_000;

/** Also deletes the notes that are too old. */
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

/** Notes the vaults that got lines at the last booked block. */
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
          (select value from ${eachOf(bookedBlocks.vaults)} union all select value from ${eachOf(sql`excluded.vaults`)}))`,
      },
    }),
];

/** Newest first. */
export const findNotes = (db: Database, network: string): Read<BookedBlock[]> =>
  readAll(
    db
      .select()
      .from(bookedBlocks)
      .where(eq(bookedBlocks.network, network))
      .orderBy(desc(bookedBlocks.number))
      .limit(NOTES_READ + 1),
  );

export const deleteNotesAfter = (db: Database, network: string, number: number): Statement =>
  db.delete(bookedBlocks).where(and(eq(bookedBlocks.network, network), gt(bookedBlocks.number, number)));

// ---- Settlements -----------------------------------------------------------------------------------------------------------

export type RecordedSettlement = Pick<typeof receipts.$inferSelect, "network" | "blockNumber" | "transactionId"> & {
  readonly number: number;
};

/** Numbers the receipts of all networks in the order of their insertion. */
const RECEIPT_NUMBER = sql<number>`receipts.rowid`;

/** Finds settlements that were not compared with their blocks yet, oldest record first. They are of all networks. */
export const findUncheckedSettlements = (db: Database, network: string, limit: number): Read<RecordedSettlement[]> =>
  readAll(
    db
      .select({
        number: RECEIPT_NUMBER.as("number"),
        network: receipts.network,
        blockNumber: receipts.blockNumber,
        transactionId: receipts.transactionId,
      })
      .from(receipts)
      .where(sql`${RECEIPT_NUMBER} > (select f.checked_receipt from followers f where f.network = ${network})`)
      .orderBy(asc(RECEIPT_NUMBER))
      .limit(limit),
  );

/** A facilitated settlement that was not reversed, and the line at its place. `hasVault`: its provider has a vault on the network. */
export type ComparedSettlement = {
  readonly transaction: TransactionRow;
  readonly line: Pick<LedgerLine, "parts" | "amount" | "blockHash"> | null;
  readonly hasVault: boolean;
};

export const findSettlementsWithLines = (db: Database, transactionIds: readonly string[]): Read<ComparedSettlement[]> =>
  read(
    db
      .select({
        transaction: aliasColumns(transactions, "x"),
        line: aliasColumns(ledgerLines, "l"),
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
      .where(and(isOneOf(transactions.transactionId, transactionIds), sql`reversed_at is null`)),
    (rows) => rows.map((row) => ({ ...row, line: row.line?.txHash ? row.line : null, hasVault: row.hasVault === 1 })),
  );

/** Records that all settlements up to a receipt were compared. Aborts the batch if the follower or the comparison has moved meanwhile. */
export const moveChecked = (db: Database, before: FollowerRow, checkedReceipt: number): Statement[] =>
  mustChange(
    db,
    db
      .update(followers)
      .set({ checkedReceipt })
      .where(and(isFollowerAt(before), eq(followers.checkedReceipt, before.checkedReceipt))),
  );

/** Moves the comparison back to before the settlements of the blocks that are gone. */
export const recheckAfter = (db: Database, network: string, number: number): Statement =>
  db
    .update(followers)
    .set({
      checkedReceipt: sql`min(${followers.checkedReceipt}, coalesce((select min(r.rowid) - 1 from receipts r
        where r.network = ${network} and r.block_number > ${number}), ${followers.checkedReceipt}))`,
    })
    .where(eq(followers.network, network));

// ---- Differences -----------------------------------------------------------------------------------------------------------

/** Does nothing if the same two numbers were noted before. */
export const noteDifferences = (db: Database, differences: readonly LedgerDifference[]): Statement[] =>
  differences.map((difference) => db.insert(ledgerDifferences).values(difference).onConflictDoNothing());

export const findDifferencesOf = (db: Database, network: string, dids: readonly string[]): Read<LedgerDifference[]> =>
  readAll(
    db
      .select()
      .from(ledgerDifferences)
      .where(and(eq(ledgerDifferences.network, network), isOneOf(ledgerDifferences.did, dids))),
  );

// ---- Vaults ----------------------------------------------------------------------------------------------------------------

/** Finds the escrows after the provider that this network's follower has compared last, in primary key order. They are of all networks. */
export const findNextEscrows = (db: Database, network: string, limit: number): Read<EscrowRow[]> =>
  readAll(
    db
      .select()
      .from(escrows)
      .where(sql`${escrows.did} > (select f.checked_did from followers f where f.network = ${network})`)
      .orderBy(asc(escrows.did), asc(escrows.environment), asc(escrows.network))
      .limit(limit),
  );

/** This many of the newest notes count as the last ones. */
const NOTES_BACK = 4;

/** Finds a network's escrows whose vaults got lines at the blocks that were noted last. */
export const findEscrowsBookedLast = (db: Database, network: string, limit: number): Read<EscrowRow[]> =>
  readAll(
    db
      .select()
      .from(escrows)
      .where(
        and(
          sql`did in (select v.value ->> 'did' from booked_blocks b cross join ${eachOf(sql`b.vaults`)} v
            where b.network = ${network} and b.number > coalesce((select number from booked_blocks
              where network = ${network} order by number desc limit 1 offset ${NOTES_BACK}), 0)
            order by b.number desc limit ${limit})`,
          eq(escrows.network, network),
        ),
      )
      .limit(limit),
  );

/** In both environments. */
export const findEscrowsOfProviders = (db: Database, network: string, dids: readonly string[]): Read<EscrowRow[]> =>
  readAll(
    db
      .select()
      .from(escrows)
      .where(and(isOneOf(sql`did`, dids), eq(escrows.network, network))),
  );
