// Store of the acts of keys: acts that raised an alert, and calls that wait in an authority (CHN-33).
import { and, asc, eq, gt, type SQL, sql } from "drizzle-orm";
import { type Database, type Read, read, readAll, type Statement } from "../db/batch.ts";
import { eachOf, isOneOf, selectFields } from "../db/lists.ts";
import { type KeyActRow, keyActs } from "../db/tables/chain.ts";
import { noteUnrequestedThreshold, type UnrequestedThreshold } from "../escrow/store.ts";

/** Rows of one statement. The length of its text bounds them: a call has at most 8 KiB. */
const AT_ONCE = 100;

export type ActPlace = Pick<KeyActRow, "network" | "txHash" | "logIndex">;

export const splitActs = <T>(all: readonly T[]): (readonly T[])[] =>
  Array.from({ length: Math.ceil(all.length / AT_ONCE) }, (_, n) => all.slice(n * AT_ONCE, (n + 1) * AT_ONCE));

const isActNoted = (network: SQL, txHash: SQL, logIndex: SQL): SQL =>
  sql`exists (select 1 from key_acts k where k.network = ${network} and k.tx_hash = ${txHash} and k.log_index = ${logIndex})`;

/** A condition for alerts whose tags name the place of their act: the act has no alert yet. */
export const ACT_IS_UNNOTED: SQL = sql`not ${isActNoted(sql`value ->> 6`, sql`value ->> 7`, sql`value ->> 8`)}`;

/** Updates the block of an act that a reorg has moved. */
export const noteActs = (db: Database, rows: readonly KeyActRow[]): Statement[] =>
  splitActs(rows).map((part) => {
    const values = part.map((row) => [
      ...[row.network, row.txHash, row.logIndex, row.blockNumber, row.minedAt, row.authority, row.operationId],
      ...[row.nonce, row.caller, row.target, row.data, row.readyAt, row.asked ? 1 : 0],
    ]);
    return db
      .insert(keyActs)
      .select(sql`select ${selectFields(13)}, null from ${eachOf(values)} where true`)
      .onConflictDoUpdate({
        target: [keyActs.network, keyActs.txHash, keyActs.logIndex],
        set: { blockNumber: sql`excluded.block_number`, minedAt: sql`excluded.mined_at` },
        setWhere: sql`key_acts.block_number <> excluded.block_number`,
      });
  });

/** Also finds calls that have ended. */
export const findCalls = (db: Database, network: string, operationIds: readonly string[]): Read<KeyActRow[]> =>
  readAll(
    db
      .select()
      .from(keyActs)
      .where(and(eq(keyActs.network, network), isOneOf(keyActs.operationId, operationIds))),
  );

/** A call that an authority has executed or cancelled. `nonce`: how often it was scheduled until then. */
export type EndedCall = { readonly operationId: string; readonly nonce: number; readonly blockNumber: number };

export const endCalls = (db: Database, network: string, ended: readonly EndedCall[]): Statement[] =>
  splitActs(ended).map((part) => {
    const values = part.map(({ operationId, nonce, blockNumber }) => [operationId, nonce, blockNumber]);
    return db
      .update(keyActs)
      .set({
        endedBlock: sql`(select e.value ->> 2 from ${eachOf(values)} e
          where e.value ->> 0 = ${keyActs.operationId} and e.value ->> 1 = ${keyActs.nonce})`,
      })
      .where(
        and(
          eq(keyActs.network, network),
          sql`(operation_id, nonce) in (select ${selectFields(2)} from ${eachOf(values)})`,
          sql`ended_block is null`,
        ),
      );
  });

/** The blocks that were read (after one, through another), and the places of all acts in them. */
export type ActsSeen = {
  readonly network: string;
  readonly after: number;
  readonly through: number;
  readonly places: readonly Pick<ActPlace, "txHash" | "logIndex">[];
  readonly booked: number;
  /** Calls that were ready before this instant have expired. Epoch milliseconds. */
  readonly readySince: number;
};
/** Ended calls are kept for this many blocks, as notes of booked blocks are. */
const ENDED_BLOCKS = 10_000;

/** Deletes acts that a reorg removed, acts that are booked, and calls that ended long ago or expired. */
export const pruneActs = (db: Database, seen: ActsSeen): Statement => {
  const { network, after, through, places, booked, readySince } = seen;
  const known = places.map(({ txHash, logIndex }) => [txHash, logIndex]);
  const gone = sql`(block_number > ${after} and block_number <= ${through}
    and (tx_hash, log_index) not in (select ${selectFields(2)} from ${eachOf(known)}))`;
  const over = sql`(ended_block <= ${booked - ENDED_BLOCKS} or ready_at < ${readySince})`;
  return db
    .delete(keyActs)
    .where(
      and(
        eq(keyActs.network, network),
        sql`(${gone} or ${over} or (operation_id is null and block_number <= ${booked}))`,
      ),
    );
};

/** Undoes what was recorded of the blocks after `number`: a reorg removed them, and the follower reads them again. */
export const undoActs = (db: Database, network: string, number: number): Statement[] => [
  db.delete(keyActs).where(and(eq(keyActs.network, network), gt(keyActs.blockNumber, number))),
  db
    .update(keyActs)
    .set({ endedBlock: null })
    .where(and(eq(keyActs.network, network), gt(keyActs.endedBlock, number))),
];

// ---- Waiting calls -------------------------------------------------------------------------------------------------------

/** Literal text, so that SQLite uses the partial index. */
const isCallWaitingOn = (network: string, readySince: number): SQL =>
  sql`${keyActs.network} = ${network} and operation_id is not null and ended_block is null and ${keyActs.readyAt} >= ${readySince}`;

/** Unrequested calls first, then the earliest. */
export const findScheduled = (db: Database, network: string, readySince: number, limit: number): Read<KeyActRow[]> =>
  readAll(
    db
      .select()
      .from(keyActs)
      .where(isCallWaitingOn(network, readySince))
      .orderBy(asc(keyActs.asked), asc(keyActs.readyAt), asc(keyActs.txHash), asc(keyActs.logIndex))
      .limit(limit),
  );

export const countScheduled = (db: Database, network: string, readySince: number): Read<number> =>
  read(
    db
      .select({ count: sql<number>`count(*)`.as("count") })
      .from(keyActs)
      .where(isCallWaitingOn(network, readySince)),
    (rows) => rows[0]?.count ?? 0,
  );

// ---- Thresholds ----------------------------------------------------------------------------------------------------------

/** Makes the job write the wanted threshold back. Does nothing if the act was noted before. */
export const noteThreshold = (
  db: Database,
  { txHash, logIndex }: Omit<ActPlace, "network">,
  unrequested: UnrequestedThreshold,
): Statement => {
  const noted = isActNoted(sql`${unrequested.network}`, sql`${txHash}`, sql`${logIndex}`);
  return noteUnrequestedThreshold(db, unrequested, sql`not ${noted}`);
};
