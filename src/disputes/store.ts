// Store of disputes, their messages and evidence, and awards. Agents of two platforms share a dispute, so a read takes no Tenant: the caller is
// checked as a party.
import { and, asc, eq, getTableColumns, isNull, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/clock.ts";
import { decodeIdInstant } from "../core/ids.ts";
import { SECOND_MS } from "../core/limits.ts";
import type { Move } from "../core/machine.ts";
import type { DisputeStatus } from "../core/vocabulary.ts";
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
import { selectConsumersOffset, selectProvidersOffset, type Timed, type WithProviderOffset } from "../db/clock.ts";
import { compileInsert } from "../db/compiled.ts";
import { isOneOf } from "../db/lists.ts";
import { chainOperations, type FollowerRow, followers, type OperationRow } from "../db/tables/chain.ts";
import {
  type DisputeEvidenceRow,
  type DisputeMessageRow,
  type DisputeRow,
  disputeAwards,
  disputeEvidence,
  disputeMessages,
  disputes,
} from "../db/tables/disputes.ts";
import { type EscrowRow, escrows, type TaskRow, type TransactionRow, tasks, transactions } from "../db/tables/money.ts";
import { findAddressee, type NoticeAccount } from "../journal/alert-store.ts";

const DISPUTE_ROW_COLUMNS = aliasColumns(disputes, "d");

export type FoundDispute = Timed<WithProviderOffset & { dispute: DisputeRow; award: string | null }>;

/** The sum of the payouts of a row's settlement, by the contract's booked events. Without INDEXED BY, SQLite would read all lines of the network. */
const selectBookedPayouts = (table: "disputes" | "listed"): SQL<number> => {
  const of = sql.raw(table);
  return sql<number>`coalesce((select -sum(l.amount) from ledger_lines l indexed by ledger_lines_paid_out
    where l.settlement_key = ${of}.settlement_key and l.network = ${of}.network and l.contract = ${of}.contract
    and l.kind = 'payout' and l.reversed = 0), 0)`;
};

/** After a reversal the chain decides: a reorg may have removed a payout, or a payout may have been mined again. */
export const selectPaidOut = (table: "disputes" | "listed"): SQL.Aliased<number> =>
  sql<number>`case when ended_by = 'reversal' then ${selectBookedPayouts(table)} else paid_out end`.as("paid_out");

const selectDisputeColumns = (disputeId: string) => ({
  dispute: { ...DISPUTE_ROW_COLUMNS, paidOut: selectPaidOut("disputes") },
  award: sql<string | null>`(select w.award from dispute_awards w where w.dispute_id = ${disputeId})`.as("award"),
  clockOffsetMs: selectConsumersOffset(disputes),
  providerOffsetMs: selectProvidersOffset(disputes),
});

/**
 * Reads a dispute with two clocks: the consumer's platform's, which rules it, and the provider's platform's, which dates the provider's own rows
 * (ACC-9).
 */
export const findDispute = (db: Database, disputeId: string): Read<FoundDispute | null> =>
  readOne(db.select(selectDisputeColumns(disputeId)).from(disputes).where(eq(disputes.disputeId, disputeId)));

/** Reads several disputes with their clocks. `takenAway`: a reorg removed the settlement (FAC-18). `disputeIds`: JSON. */
export const findDisputes = (
  db: Database,
  disputeIds: SQL<string>,
): Read<Timed<DisputeRow & { takenAway: number }>[]> =>
  readAll(
    db
      .select({
        ...getTableColumns(disputes),
        clockOffsetMs: selectConsumersOffset(disputes),
        takenAway: sql<number>`${transactions.reversedAt} is not null`.as("taken_away"),
      })
      .from(disputes)
      .innerJoin(transactions, eq(transactions.transactionId, disputes.transactionId))
      .where(isOneOf(disputes.disputeId, disputeIds)),
  );

/** The booked refunds of a row's settlement, in base units. `further`: a condition that selects some of them. */
const selectBookedRefunds = (table: "disputes" | "transactions", further: SQL = sql``): SQL<number> => {
  const of = sql.raw(table);
  return sql<number>`coalesce((select sum(r.amount) from refunds r where r.network = ${of}.network
    and r.settlement_key = ${of}.settlement_key and r.contract = ${of}.contract ${further}), 0)`;
};

/** `refunded`: all booked refunds of the settlement. `earlier`: those in blocks from before the filing, even if they were booked later. */
type Refunded = { readonly refunded: number; readonly earlier: number };

/**
 * The second of the filing, in real time like block times. A block of the same second may be later than the filing, so it does not count as earlier.
 */
const computeFilingSecond = (disputeId: string): number =>
  Math.floor((decodeIdInstant("dsp", disputeId) ?? 0) / SECOND_MS) * SECOND_MS;

/** Reads a dispute with the refunds of its settlement, in base units. */
export type RefundedDispute = FoundDispute & Refunded;

export const findRefundedDispute = (db: Database, disputeId: string): Read<RefundedDispute | null> =>
  readOne(
    db
      .select({
        ...selectDisputeColumns(disputeId),
        refunded: selectBookedRefunds("disputes").as("refunded"),
        earlier: selectBookedRefunds("disputes", sql`and r.mined_at < ${computeFilingSecond(disputeId)}`).as("earlier"),
      })
      .from(disputes)
      .where(eq(disputes.disputeId, disputeId)),
  );

/** The dispute's task, as an expression for reads in the trip that finds the dispute. */
export const selectTaskOfDispute = (disputeId: string): SQL<string> =>
  sql<string>`(select task_id from disputes where dispute_id = ${disputeId})`;

export const findBothAccounts = (db: Database, disputeId: string) => {
  const account = (column: SQL) =>
    findAddressee(db, sql<string>`(select ${column} from disputes where dispute_id = ${disputeId})`);
  return { sellersAccount: account(sql`provider_platform_id`), buyersAccount: account(sql`consumer_platform_id`) };
};

export const findSellersAccount = (db: Database, transactionId: string): Read<NoticeAccount | null> =>
  findAddressee(
    db,
    sql<string>`(select provider_platform_id from transactions where transaction_id = ${transactionId})`,
  );

export const findMessages = (db: Database, disputeId: string): Read<DisputeMessageRow[]> =>
  readAll(
    db
      .select()
      .from(disputeMessages)
      .where(eq(disputeMessages.disputeId, disputeId))
      .orderBy(asc(disputeMessages.number)),
  );

export const findEvidence = (db: Database, disputeId: string): Read<DisputeEvidenceRow[]> =>
  readAll(
    db
      .select()
      .from(disputeEvidence)
      .where(eq(disputeEvidence.disputeId, disputeId))
      .orderBy(asc(disputeEvidence.number)),
  );

// ---- Filing ----------------------------------------------------------------------------------------------------------------

export type Disputable = {
  readonly transaction: TransactionRow;
  readonly task: TaskRow | null;
  readonly refunded: number;
};

/** A settlement with its task, its refunds, and the clock of its consumer's platform. */
export const findDisputable = (db: Database, transactionId: string | SQL<string>): Read<Timed<Disputable> | null> =>
  readOne(
    db
      .select({
        transaction: aliasColumns(transactions, "x"),
        task: aliasColumns(tasks, "t"),
        refunded: selectBookedRefunds("transactions").as("refunded"),
        clockOffsetMs: selectConsumersOffset(transactions),
      })
      .from(transactions)
      .leftJoin(tasks, eq(tasks.taskId, transactions.taskId))
      .where(eq(transactions.transactionId, transactionId)),
  );

export const findLatestDispute = (db: Database, transactionId: string): Read<DisputeRow | null> =>
  readOne(
    db
      .select()
      .from(disputes)
      .where(eq(disputes.transactionId, transactionId))
      .orderBy(sql`${disputes.attempt} desc`)
      .limit(1),
  );

export const findEscrowOfDispute = (db: Database, disputeId: string): Read<EscrowRow | null> =>
  readOne(
    db
      .select()
      .from(escrows)
      .where(
        sql`(${escrows.did}, ${escrows.environment}, ${escrows.network}) =
          (select provider_did, environment, network from disputes where dispute_id = ${disputeId})`,
      ),
  );

/** Returns null if the network was never followed. */
export const findFollowerPlace = (db: Database, network: string): Read<FollowerRow | null> =>
  readOne(db.select().from(followers).where(eq(followers.network, network)));

/** The dispute's settlement, as an expression for reads in the trip that finds the dispute. */
export const selectTransactionOfDispute = (disputeId: string): SQL<string> =>
  sql<string>`(select transaction_id from disputes where dispute_id = ${disputeId})`;

/** The dispute's agent of one side, or its intent, as an expression for reads in the trip that finds the dispute. */
export const selectDisputeParty = (disputeId: string, which: "provider" | "consumer" | "intent"): SQL<string> =>
  which === "intent"
    ? sql<string>`(select x.intent_id from disputes d join transactions x on x.transaction_id = d.transaction_id where d.dispute_id = ${disputeId})`
    : which === "provider"
      ? sql<string>`(select provider_did from disputes where dispute_id = ${disputeId})`
      : sql<string>`(select consumer_did from disputes where dispute_id = ${disputeId})`;

/** The payouts of the dispute's settlement, by the contract's booked events, in base units. */
export const findPaidOut = (db: Database, disputeId: string | SQL<string>): Read<number> =>
  read(
    db
      .select({ amount: selectBookedPayouts("disputes").as("amount") })
      .from(disputes)
      .where(eq(disputes.disputeId, disputeId)),
    ([found]) => found?.amount ?? 0,
  );

/** The latest dispute about a settlement, as an expression for reads in the same trip. */
export const selectLatestDispute = (transactionId: string): SQL<string> =>
  sql<string>`(select d.dispute_id from disputes d where d.transaction_id = ${transactionId} order by d.attempt desc limit 1)`;
/** Returns null if no award is paid out of the vault. */
export const findPayout = (db: Database, disputeId: string): Read<OperationRow | null> =>
  readOne(
    db
      .select()
      .from(chainOperations)
      .where(
        and(
          sql`${chainOperations.network} = (select d.network from disputes d where d.dispute_id = ${disputeId})`,
          eq(chainOperations.kind, "payout"),
          eq(chainOperations.subject, disputeId),
        ),
      ),
  );

/** Aborts the batch if a reorg has removed the settlement meanwhile. */
export const refuseReversed = (db: Database, transactionId: string): Statement =>
  guard(db, sql`exists (select 1 from transactions where transaction_id = ${transactionId} and reversed_at is null)`);

export const insertDispute = compileInsert((db) => db.insert(disputes));

// ---- Its course ------------------------------------------------------------------------------------------------------------

/** Aborts the batch if another move, message, piece of evidence or payment came between. */
export const moveDispute = (
  db: Database,
  before: DisputeRow,
  { from, to }: Move<DisputeStatus>,
  set: Partial<DisputeRow>,
): Statement[] =>
  mustChange(
    db,
    db
      .update(disputes)
      .set({ ...set, status: to })
      .where(
        and(
          eq(disputes.disputeId, before.disputeId),
          eq(disputes.status, from),
          eq(disputes.messages, before.messages),
          eq(disputes.evidence, before.evidence),
          eq(disputes.refundStatus, before.refundStatus),
          eq(disputes.owed, before.owed),
        ),
      ),
  );

/** Changes the refund's columns, but not the dispute's status. Aborts the batch if more was paid out meanwhile. */
export const updateRefund = (db: Database, before: DisputeRow, set: Partial<DisputeRow>): Statement[] =>
  mustChange(
    db,
    db
      .update(disputes)
      .set(set)
      .where(
        and(
          eq(disputes.disputeId, before.disputeId),
          eq(disputes.status, before.status),
          eq(disputes.refundStatus, before.refundStatus),
          eq(disputes.paidOut, before.paidOut),
          before.dueAt === null ? isNull(disputes.dueAt) : eq(disputes.dueAt, before.dueAt),
        ),
      ),
  );

export const insertMessage = (db: Database, message: DisputeMessageRow): Statement =>
  db.insert(disputeMessages).values(message);
export const insertEvidence = (db: Database, evidence: DisputeEvidenceRow): Statement =>
  db.insert(disputeEvidence).values(evidence);
/** Replaces the award if the dispute came to the arbiter again. */
export const putAward = (db: Database, disputeId: string, award: string): Statement =>
  db
    .insert(disputeAwards)
    .values({ disputeId, award })
    .onConflictDoUpdate({ target: disputeAwards.disputeId, set: { award } });

export const dropAward = (db: Database, disputeId: string): Statement =>
  db.delete(disputeAwards).where(eq(disputeAwards.disputeId, disputeId));

// ---- Deadlines -------------------------------------------------------------------------------------------------------------

/** Finds disputes that are due by real time, oldest first. Literal text, so that SQLite uses the partial index. */
export const findDueDisputes = (db: Database, now: number, after: Due, limit: number): Read<Due[]> =>
  readAll(
    db
      .select({ at: sql<number>`${disputes.dueAt}`.as("at"), id: disputes.disputeId })
      .from(disputes)
      .where(
        sql`due_at is not null and ${disputes.dueAt} <= ${now} and (${disputes.dueAt}, ${disputes.disputeId}) > (${after.at}, ${after.id})`,
      )
      .orderBy(asc(disputes.dueAt), asc(disputes.disputeId))
      .limit(limit),
  );

/**
 * Makes disputes due at once if refunds of their settlements were booked, or removed by a reorg. `keys`: rows of one column. `now`: real time, so
 * that it is past on every clock. Literal text, so that SQLite uses the partial index.
 */
export const makeRefundsDue = (db: Database, network: string, keys: SQL, now: number): Statement =>
  db
    .update(disputes)
    .set({ dueAt: now })
    .where(
      sql`${disputes.settlementKey} in (${keys}) and ${disputes.network} = ${network} and refund_from = 'provider'
        and ${disputes.refundStatus} in ('owed', 'paid')`,
    );

/** How far the network of the refund is read, and when the sandbox's clock was last moved: real time. */
export type RefundSight = { readonly readThrough: number | null; readonly movedAt: number | null };
export const findRefundSight = (db: Database, disputeId: string): Read<RefundSight | null> =>
  readOne(
    db
      .select({
        readThrough: sql<number | null>`(select f.read_through from followers f where f.network = d.network)`.as(
          "read_through",
        ),
        movedAt: sql<
          number | null
        >`(select p.clock_moved_at from platforms p where p.platform_id = d.consumer_platform_id)`.as("moved_at"),
      })
      .from(sql`disputes d`)
      .where(sql`d.dispute_id = ${disputeId}`),
  );
