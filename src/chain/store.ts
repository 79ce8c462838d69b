// Store of chain operations: one row for each subject of a kind on a network, with the state that is wanted now. The status of an awaited refund
// follows from the booked refunds, and each write derives it again (CHN-27).
import { and, asc, eq, lte, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/clock.ts";
import { BLOCK_CLOCK_SKEW_SECONDS, SECOND_MS } from "../core/limits.ts";
import type { OperationKind, OperationStatus } from "../core/vocabulary.ts";
import {
  type Database,
  mustChange,
  type PlainStatement,
  type Read,
  readAll,
  readOne,
  type Statement,
} from "../db/batch.ts";
import { isOneOf } from "../db/lists.ts";
import { chainOperations, type OperationRow } from "../db/tables/chain.ts";
import type { RefundRow } from "../db/tables/disputes.ts";

export type OperationKey = Pick<OperationRow, "network" | "kind" | "subject">;

const matchesKey = ({ network, kind, subject }: OperationKey) =>
  and(eq(chainOperations.network, network), eq(chainOperations.kind, kind), eq(chainOperations.subject, subject));

/** Later than every instant at which the operation was changed before, so that `isUnchanged` notices each change. */
const toLaterThanStored = (now: number) => sql`max(${chainOperations.updatedAt} + 1, ${now})`;

export const findOperation = (db: Database, key: OperationKey): Read<OperationRow | null> =>
  readOne(db.select().from(chainOperations).where(matchesKey(key)));

type Outcome = Pick<OperationRow, "wanted" | "status" | "reason" | "txHash" | "nextCheckAt">;

/** Until the operation is done, an earlier due check stays due: attempts that repeat each minute would postpone it for ever. */
export const putOperation = (db: Database, key: OperationKey, outcome: Outcome, now: number): Statement => {
  const set = { ...outcome, updatedAt: now, checks: 0 };
  const { txHash, nextCheckAt, network, kind, subject } = chainOperations;
  const soonest = sql`min(coalesce(${nextCheckAt}, ${outcome.nextCheckAt}), ${outcome.nextCheckAt})`;
  return db
    .insert(chainOperations)
    .values({ ...key, ...set, createdAt: now })
    .onConflictDoUpdate({
      target: [network, kind, subject],
      set: {
        ...set,
        txHash: outcome.txHash ?? sql`${txHash}`,
        ...(outcome.status !== "done" && { nextCheckAt: soonest }),
        updatedAt: toLaterThanStored(now),
      },
    });
};

/** Changes the wanted state of an operation that is done. An operation that is not done is left to its next check. */
export const changeWanted = (
  db: Database,
  key: OperationKey,
  { wanted, txHash, nextCheckAt }: Pick<Outcome, "wanted" | "txHash" | "nextCheckAt">,
  now: number,
): Statement =>
  db
    .update(chainOperations)
    .set({ wanted, ...(txHash !== null && { txHash }), nextCheckAt, checks: 0, updatedAt: toLaterThanStored(now) })
    .where(and(matchesKey(key), eq(chainOperations.status, "done")));

/** Rechecks an operation now, because the contract may have, or get, a state that is no longer wanted. */
export const recheckOperation = (db: Database, key: OperationKey, now: number): Statement =>
  db
    .update(chainOperations)
    .set({ status: "waiting", reason: null, nextCheckAt: now, updatedAt: toLaterThanStored(now) })
    .where(matchesKey(key));

/** Rechecks awards that were paid, or had nothing left, if a refund or payout of their settlement is taken back. `keys` selects one column. */
export const recheckPayouts = (db: Database, network: string, keys: SQL, now: number): Statement =>
  db
    .update(chainOperations)
    .set({ nextCheckAt: now, checks: 0, updatedAt: toLaterThanStored(now) })
    .where(
      and(
        eq(chainOperations.network, network),
        eq(chainOperations.kind, "payout"),
        // Goes from the network's awards to their disputes: a reorg is rare, and an index would cost each dispute.
        sql`exists (select 1 from disputes d where d.dispute_id = ${chainOperations.subject}
          and d.settlement_key in (${keys}) and d.network = ${network} and d.refund_from = 'vault')`,
        sql`(${chainOperations.status} = 'done' or (next_check_at is null and ${chainOperations.status} = 'waiting'))`,
      ),
    );

export const recheckOperations = (
  db: Database,
  { network, kind }: Omit<OperationKey, "subject">,
  subjects: readonly string[],
  now: number,
): Statement[] =>
  subjects.length === 0
    ? []
    : [
        db
          .update(chainOperations)
          .set({ status: "waiting", reason: null, nextCheckAt: now, updatedAt: toLaterThanStored(now) })
          .where(
            and(
              eq(chainOperations.network, network),
              eq(chainOperations.kind, kind),
              isOneOf(chainOperations.subject, subjects),
            ),
          ),
      ];

const toRequest = (wanted: OperationRow["wanted"], nextCheckAt: number) =>
  ({ wanted, status: "waiting", reason: null, txHash: null, nextCheckAt, checks: 0 }) as const;

/** The operation is due at once, without a transaction. `asks`: when its owner asked for it in the last day, if that is limited (MKT-29). */
export const requestOperation = (
  db: Database,
  { network, kind, subject }: OperationKey,
  wanted: OperationRow["wanted"],
  now: number,
  asks?: readonly number[],
): Statement => {
  const set = { ...toRequest(wanted, now), ...(asks && { asks }) };
  return db
    .insert(chainOperations)
    .values({ network, kind, subject, ...set, createdAt: now, updatedAt: now })
    .onConflictDoUpdate({
      target: [chainOperations.network, chainOperations.kind, chainOperations.subject],
      set: { ...set, updatedAt: toLaterThanStored(now) },
    });
};

const isUnchanged = (read: OperationRow) =>
  and(matchesKey(read), eq(chainOperations.updatedAt, read.updatedAt), eq(chainOperations.status, read.status));

type Change = Partial<Outcome & Pick<OperationRow, "checks" | "asks">>;

/** Changes an operation. Aborts the batch if the operation changed since it was read. */
export const changeOperation = (db: Database, read: OperationRow, set: Change, now: number): Statement[] =>
  mustChange(
    db,
    db
      .update(chainOperations)
      .set({ ...set, updatedAt: toLaterThanStored(now) })
      .where(isUnchanged(read)),
  );

/** Requests an operation that was requested before. Aborts the batch if it changed since it was read. */
export const requestAgain = (
  db: Database,
  read: OperationRow,
  wanted: OperationRow["wanted"],
  now: number,
  own: Change = {},
): Statement[] => changeOperation(db, read, { ...toRequest(wanted, now), ...own }, now);

export const dropOperation = (db: Database, key: OperationKey): Statement =>
  db.delete(chainOperations).where(matchesKey(key));

/** Records the transaction that released a provider's vault, whoever sent it, if the operation has none. */
export const recordReleaseTx = (db: Database, network: string, did: string, txHash: string): Statement =>
  db
    .update(chainOperations)
    .set({ txHash })
    .where(and(matchesKey({ network, kind: "release", subject: did }), sql`tx_hash is null`));

export const findDueOperations = (
  db: Database,
  kind: OperationKind,
  now: number,
  after: Due,
  limit: number,
): Read<Due[]> => {
  const { nextCheckAt, network, subject } = chainOperations;
  const [afterNetwork = "", afterSubject = ""] = after.id.split(" ");
  return readAll(
    db
      .select({ at: sql<number>`${nextCheckAt}`.as("at"), id: sql<string>`${network} || ' ' || ${subject}`.as("id") })
      .from(chainOperations)
      .where(
        and(
          // Literal text, so that SQLite uses the partial index.
          sql`next_check_at is not null`,
          eq(chainOperations.kind, kind),
          lte(nextCheckAt, now),
          sql`(${nextCheckAt}, ${network}, ${subject}) > (${after.at}, ${afterNetwork}, ${afterSubject})`,
          kind === "refund" ? isTooLate : undefined,
        ),
      )
      .orderBy(asc(nextCheckAt), asc(network), asc(subject))
      .limit(limit),
  );
};

/** Records a check, unless the operation changed since it was read. */
export const noteCheck = (db: Database, read: OperationRow, checks: number, nextCheckAt: number | null): Statement =>
  db.update(chainOperations).set({ checks, nextCheckAt }).where(isUnchanged(read));

// ---- Refunds ---------------------------------------------------------------------------------------------------------------

export type SettlementRef = Pick<RefundRow, "network" | "contract" | "settlementKey">;

/** `amount`: the sum of the refunds that are owed, in base units. `until`: the instant of the last block that counts, in epoch milliseconds. */
export type AwaitedRefund = SettlementRef & { readonly amount: number; readonly until: number };

type Named = { readonly [K in keyof SettlementRef]: SQL };

const isRefundOf = ({ network, settlementKey, contract }: Named): SQL =>
  sql`r.network = ${network} and r.settlement_key = ${settlementKey} and r.contract = ${contract}`;
/** The sum of the refunds in time. `further`: a condition on their blocks. */
const selectRefundedSum = (settlement: Named, until: SQL, further: SQL = sql``): SQL =>
  sql`(select coalesce(sum(r.amount), 0) from refunds r where ${isRefundOf(settlement)} and r.mined_at <= ${until} ${further})`;
const selectNewestRefund = (settlement: Named, until: SQL): SQL<string | null> =>
  sql<string | null>`(select r.tx_hash from refunds r where ${isRefundOf(settlement)} and r.mined_at <= ${until}
    order by r.mined_at desc, r.block_number desc limit 1)`;

// The settlement, deadline and amount of a stored operation.
const SETTLEMENT: Named = {
  network: sql`chain_operations.network`,
  settlementKey: sql`chain_operations.subject`,
  contract: sql`chain_operations.wanted ->> 'contract'`,
};
const UNTIL = sql`cast(chain_operations.wanted ->> 'until' as integer)`;
const AMOUNT = sql`cast(chain_operations.wanted ->> 'amount' as integer)`;

/** Awaits a refund, or changes its amount or deadline. Refunds that are already booked count. */
export const putAwaitedRefund = (db: Database, refund: AwaitedRefund, now: number): Statement => {
  const { network, contract, settlementKey, amount, until } = refund;
  const settlement = { network: sql`${network}`, settlementKey: sql`${settlementKey}`, contract: sql`${contract}` };
  const isPaid = sql`${selectRefundedSum(settlement, sql`${until}`)} >= ${amount}`;
  const set = {
    wanted: { contract, amount: String(amount), until: String(until) },
    status: sql<OperationStatus>`case when ${isPaid} then 'done' else 'waiting' end`,
    reason: null,
    txHash: sql<string | null>`case when ${isPaid} then ${selectNewestRefund(settlement, sql`${until}`)} end`,
    nextCheckAt: sql<number | null>`case when ${isPaid} then null else ${until} end`,
    updatedAt: now,
    checks: 0,
  };
  return db
    .insert(chainOperations)
    .values({ network, kind: "refund", subject: settlementKey, ...set, createdAt: now })
    .onConflictDoUpdate({ target: [chainOperations.network, chainOperations.kind, chainOperations.subject], set });
};

/** Ends the awaited refunds that are complete now. Runs after refunds were booked. */
export const endPaidRefunds = (db: Database, network: string, keys: readonly string[], now: number): PlainStatement =>
  db
    .update(chainOperations)
    .set({ status: "done", txHash: selectNewestRefund(SETTLEMENT, UNTIL), nextCheckAt: null, updatedAt: now })
    .where(
      and(
        eq(chainOperations.network, network),
        eq(chainOperations.kind, "refund"),
        isOneOf(chainOperations.subject, keys),
        eq(chainOperations.status, "waiting"),
        sql`${selectRefundedSum(SETTLEMENT, UNTIL)} >= ${AMOUNT}`,
      ),
    );

/** Awaits refunds again that are incomplete without the refunds after a block. Runs before those refunds are deleted. */
export const awaitRefundsAgain = (db: Database, network: string, behind: number, now: number): Statement =>
  db
    .update(chainOperations)
    .set({ status: "waiting", txHash: null, nextCheckAt: UNTIL, updatedAt: now })
    .where(
      and(
        eq(chainOperations.network, network),
        eq(chainOperations.kind, "refund"),
        sql`${chainOperations.subject} in
          (select g.settlement_key from refunds g where g.network = ${network} and g.block_number > ${behind})`,
        eq(chainOperations.status, "done"),
        sql`${selectRefundedSum(SETTLEMENT, UNTIL, sql`and r.block_number <= ${behind}`)} < ${AMOUNT}`,
      ),
    );

/**
 * True for refunds that can no longer come in time, because the network's refunds are booked up to a later instant: that of the last booked block.
 * If that block is the head, as where blocks are mined only for transactions, the instant of the reading counts too, less the most by which a
 * block's clock may be late.
 */
const isTooLate = sql`${UNTIL} < (select max(f.booked_at, case when f.booked_block = f.head_block then f.read_through - ${BLOCK_CLOCK_SKEW_SECONDS * SECOND_MS} else 0 end)
  from followers f where f.network = chain_operations.network)`;

export const failUnpaidRefund = (db: Database, network: string, settlementKey: string, now: number): Statement =>
  db
    .update(chainOperations)
    .set({ status: "failed", reason: "unpaid", nextCheckAt: null, updatedAt: now })
    .where(
      and(
        matchesKey({ network, kind: "refund", subject: settlementKey }),
        eq(chainOperations.status, "waiting"),
        isTooLate,
      ),
    );
