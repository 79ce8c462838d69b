// Store of chain operations: one row for each subject of a kind on a network, with the state that is wanted now. Of a refund that is awaited the
// state follows from the refunds that are booked, and each write decides it anew (CHN-27).
import { and, asc, eq, lte, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/due.ts";
import { BLOCK_CLOCK_SKEW_SECONDS, SECOND_MS } from "../core/limits.ts";
import type { OperationKind, OperationStatus } from "../core/vocabulary.ts";
import { type Database, guard, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { chainOperations, type OperationRow } from "../db/tables/chain.ts";
import type { RefundRow } from "../db/tables/disputes.ts";

export type OperationKey = Pick<OperationRow, "network" | "kind" | "subject">;

const keyed = ({ network, kind, subject }: OperationKey) =>
  and(eq(chainOperations.network, network), eq(chainOperations.kind, kind), eq(chainOperations.subject, subject));

export const findOperation = (db: Database, key: OperationKey): Read<OperationRow | null> =>
  readOne(db.select().from(chainOperations).where(keyed(key)));

type Outcome = Pick<OperationRow, "wanted" | "status" | "reason" | "txHash" | "nextCheckAt">;

/**
 * Writes the wanted state and the progress. A transaction of an earlier outcome stays where this one names none. Until the operation is
 * done, a check that was due earlier stays due then: attempts that repeat each minute would put it off for ever.
 */
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
      },
    });
};

/** Another state is wanted of an operation that is done. One that is not is left to its check. */
export const changeWanted = (
  db: Database,
  key: OperationKey,
  { wanted, txHash, nextCheckAt }: Pick<Outcome, "wanted" | "txHash" | "nextCheckAt">,
  now: number,
): Statement =>
  db
    .update(chainOperations)
    .set({ wanted, ...(txHash !== null && { txHash }), nextCheckAt, checks: 0, updatedAt: now })
    .where(and(keyed(key), eq(chainOperations.status, "done")));

/** The contract may have, or get, a state that is not wanted any more: it is looked at now. */
export const doubtOperation = (db: Database, key: OperationKey, now: number): Statement =>
  db
    .update(chainOperations)
    .set({ status: "waiting", reason: null, nextCheckAt: now, updatedAt: now })
    .where(keyed(key));

/**
 * Awards that were paid, or that nothing was left of, are looked at anew where a refund or a payout of their settlement is taken back: `keys`, rows of one
 * column. Whether the part that was paid last is paid still, the contract tells. What is given up stays so.
 */
export const doubtPayouts = (db: Database, network: string, keys: SQL, now: number): Statement =>
  db
    .update(chainOperations)
    .set({ nextCheckAt: now, checks: 0, updatedAt: sql`max(${chainOperations.updatedAt} + 1, ${now})` })
    .where(
      and(
        eq(chainOperations.network, network),
        eq(chainOperations.kind, "payout"),
        // From the network's awards to their disputes: a reorganisation is rare, and each dispute would pay for an index.
        sql`exists (select 1 from disputes d where d.dispute_id = ${chainOperations.subject}
          and d.settlement_key in (${keys}) and d.network = ${network} and d.refund_from = 'vault')`,
        sql`(${chainOperations.status} = 'done' or (next_check_at is null and ${chainOperations.status} = 'waiting'))`,
      ),
    );

/** The same of several subjects. */
export const doubtOperations = (
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
          .set({ status: "waiting", reason: null, nextCheckAt: now, updatedAt: now })
          .where(
            and(
              eq(chainOperations.network, network),
              eq(chainOperations.kind, kind),
              sql`${chainOperations.subject} in (select value from json_each(${JSON.stringify(subjects)}))`,
            ),
          ),
      ];

/** Something is wanted of it anew: it is due at once, and has no transaction yet. `asks`: where somebody asks for it. */
export const wantAgain = (
  db: Database,
  key: OperationKey,
  wanted: OperationRow["wanted"],
  now: number,
  asks?: readonly number[],
): Statement => {
  const { network, kind, subject, updatedAt } = chainOperations;
  const { network: on, kind: of, subject: about } = key;
  const due = { wanted, status: "waiting", reason: null, txHash: null, nextCheckAt: now, checks: 0 } as const;
  const set = { ...due, ...(asks && { asks }) };
  return db
    .insert(chainOperations)
    .values({ network: on, kind: of, subject: about, ...set, createdAt: now, updatedAt: now })
    .onConflictDoUpdate({
      target: [network, kind, subject],
      // Later than what anybody has read of it.
      set: { ...set, updatedAt: sql`max(${updatedAt} + 1, ${now})` },
    });
};

/** Nothing is wanted of it any more, and nothing of it is remembered. */
export const dropOperation = (db: Database, key: OperationKey): Statement =>
  db.delete(chainOperations).where(keyed(key));

/** A provider's vault was released by a transaction: an operation without one has it by that, whoever sent it. */
export const noteReleased = (db: Database, network: string, did: string, txHash: string): Statement =>
  db
    .update(chainOperations)
    .set({ txHash })
    .where(and(keyed({ network, kind: "release", subject: did }), sql`tx_hash is null`));

/** When it is looked at again, however soon it was due. */
export const checkAt = (db: Database, key: OperationKey, nextCheckAt: number | null, now: number): Statement =>
  db.update(chainOperations).set({ nextCheckAt, updatedAt: now }).where(keyed(key));

/** Refuses the batch where something else was wanted or recorded since the reading. */
export const whileOperation = (db: Database, read: OperationRow): Statement =>
  guard(
    db,
    sql`exists (select 1 from chain_operations where ${keyed(read)} and updated_at = ${read.updatedAt} and status = ${read.status})`,
  );

/** Operations that are due for another check. */
export const findUnchecked = (
  db: Database,
  kind: OperationKind,
  now: number,
  after: Due,
  limit: number,
  also?: SQL,
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
          also,
        ),
      )
      .orderBy(asc(nextCheckAt), asc(network), asc(subject))
      .limit(limit),
  );
};

/** Records a check. Writes only onto the operation that was read. */
export const noteCheck = (db: Database, read: OperationRow, checks: number, nextCheckAt: number | null): Statement =>
  db
    .update(chainOperations)
    .set({ checks, nextCheckAt })
    .where(and(keyed(read), eq(chainOperations.updatedAt, read.updatedAt), eq(chainOperations.status, read.status)));

// ---- Refunds ---------------------------------------------------------------------------------------------------------------

/** A settlement in an edition of the contract. */
export type SettlementRef = Pick<RefundRow, "network" | "contract" | "settlementKey">;

/** `amount`: base units, the sum of what is given back. `until`: the instant of the last block that counts, in epoch milliseconds. */
export type AwaitedRefund = SettlementRef & { readonly amount: number; readonly until: number };

type Named = { readonly [K in keyof SettlementRef]: SQL };

const isOf = ({ network, settlementKey, contract }: Named): SQL =>
  sql`r.network = ${network} and r.settlement_key = ${settlementKey} and r.contract = ${contract}`;
/** What was given back in time; `further`: of which blocks. */
const givenBack = (settlement: Named, until: SQL, further: SQL = sql``): SQL =>
  sql`(select coalesce(sum(r.amount), 0) from refunds r where ${isOf(settlement)} and r.mined_at <= ${until} ${further})`;
const newestRefund = (settlement: Named, until: SQL): SQL<string | null> =>
  sql<string | null>`(select r.tx_hash from refunds r where ${isOf(settlement)} and r.mined_at <= ${until}
    order by r.mined_at desc, r.block_number desc limit 1)`;

// Of a stored operation.
const SETTLEMENT: Named = {
  network: sql`chain_operations.network`,
  settlementKey: sql`chain_operations.subject`,
  contract: sql`chain_operations.wanted ->> 'contract'`,
};
const UNTIL = sql`cast(chain_operations.wanted ->> 'until' as integer)`;
const AMOUNT = sql`cast(chain_operations.wanted ->> 'amount' as integer)`;

/** Awaits a refund, or another amount or instant of it. What was booked before counts. */
export const putAwaitedRefund = (db: Database, refund: AwaitedRefund, now: number): Statement => {
  const { network, contract, settlementKey, amount, until } = refund;
  const settlement = { network: sql`${network}`, settlementKey: sql`${settlementKey}`, contract: sql`${contract}` };
  const isPaid = sql`${givenBack(settlement, sql`${until}`)} >= ${amount}`;
  const set = {
    wanted: { contract, amount: String(amount), until: String(until) },
    status: sql<OperationStatus>`case when ${isPaid} then 'done' else 'waiting' end`,
    reason: null,
    txHash: sql<string | null>`case when ${isPaid} then ${newestRefund(settlement, sql`${until}`)} end`,
    nextCheckAt: sql<number | null>`case when ${isPaid} then null else ${until} end`,
    updatedAt: now,
    checks: 0,
  };
  return db
    .insert(chainOperations)
    .values({ network, kind: "refund", subject: settlementKey, ...set, createdAt: now })
    .onConflictDoUpdate({ target: [chainOperations.network, chainOperations.kind, chainOperations.subject], set });
};

/** Behind the booking of refunds: those that were awaited and are complete now. */
export const endPaidRefunds = (db: Database, network: string, keys: readonly string[], now: number): Statement =>
  db
    .update(chainOperations)
    .set({ status: "done", txHash: newestRefund(SETTLEMENT, UNTIL), nextCheckAt: null, updatedAt: now })
    .where(
      and(
        eq(chainOperations.network, network),
        eq(chainOperations.kind, "refund"),
        sql`${chainOperations.subject} in (select value from json_each(${JSON.stringify(keys)}))`,
        eq(chainOperations.status, "waiting"),
        sql`${givenBack(SETTLEMENT, UNTIL)} >= ${AMOUNT}`,
      ),
    );

/** Before the refunds behind a block are forgotten: those that are not complete without them are awaited again. */
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
        sql`${givenBack(SETTLEMENT, UNTIL, sql`and r.block_number <= ${behind}`)} < ${AMOUNT}`,
      ),
    );

/**
 * The refunds that can't come in time any more: all of the network's are booked up to a later instant. That is the last booked block's; where
 * blocks are mined for a transaction alone and nothing waits for confirmations, also the reading's, less what a block's clock may be behind.
 */
const isOver = sql`${UNTIL} < (select max(f.booked_at, case when f.booked_block = f.head_block then f.read_through - ${BLOCK_CLOCK_SKEW_SECONDS * SECOND_MS} else 0 end)
  from followers f where f.network = chain_operations.network)`;

export const findUnpaidRefunds = (db: Database, now: number, after: Due, limit: number): Read<Due[]> =>
  findUnchecked(db, "refund", now, after, limit, isOver);

export const failUnpaidRefund = (db: Database, network: string, settlementKey: string, now: number): Statement =>
  db
    .update(chainOperations)
    .set({ status: "failed", reason: "unpaid", nextCheckAt: null, updatedAt: now })
    .where(
      and(keyed({ network, kind: "refund", subject: settlementKey }), eq(chainOperations.status, "waiting"), isOver),
    );
