// Store of payment intents. Two platforms share an intent, so a read takes no Tenant: the caller is checked as a party.
import { and, asc, eq, getTableColumns, inArray, lte, or, type SQL, sql } from "drizzle-orm";
import { hashDid, hashTerms } from "../chain/hashes.ts";
import type { Due } from "../core/clock.ts";
import { type Move, move } from "../core/machine.ts";
import type { IntentStatus } from "../core/vocabulary.ts";
import { type Database, mustChange, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { selectConsumersOffset, selectConsumersOffsetForCaller, type Timed, type TimedFor } from "../db/clock.ts";
import { compileInsert } from "../db/compiled.ts";
import { isOneOf } from "../db/lists.ts";
import { type IntentRow, paymentIntents } from "../db/tables/money.ts";
import { spendHolds } from "../db/tables/spending.ts";
import { BLOCK_CLOCK_SKEW_MS, intentMachine } from "./states.ts";

/** The end of the window of a settled intent's task. */
export const confirmByColumn: SQL.Aliased<number | null> = sql<
  number | null
>`(select t.confirm_by from tasks t where t.task_id = ${sql`${paymentIntents.taskId}`})`.as("confirm_by");
export type WithConfirmBy<T> = T & { readonly confirmBy: number | null };

/** Finds an intent with the clock of its consumer's platform, which rules it (ACC-9). */
export const findIntent = (db: Database, intentId: string | SQL<string>): Read<Timed<IntentRow> | null> =>
  readOne(
    db
      .select({ ...getTableColumns(paymentIntents), clockOffsetMs: selectConsumersOffset(paymentIntents) })
      .from(paymentIntents)
      .where(eq(paymentIntents.intentId, intentId)),
  );

/** `intentIds`: JSON. */
export const findIntents = (db: Database, intentIds: SQL<string>): Read<Timed<IntentRow>[]> =>
  readAll(
    db
      .select({ ...getTableColumns(paymentIntents), clockOffsetMs: selectConsumersOffset(paymentIntents) })
      .from(paymentIntents)
      .where(isOneOf(paymentIntents.intentId, intentIds)),
  );

/** Finds an intent for an agent that may be its consumer. If its end is not recorded yet, also reads how far the network's payments were seen. */
export const findIntentFor = (
  db: Database,
  intentId: string,
  caller: string,
  now: number,
): Read<WithConfirmBy<TimedFor<IntentRow> & { readonly readThrough: number | null }> | null> => {
  return readOne(
    db
      .select({
        ...getTableColumns(paymentIntents),
        clockOffsetMs: selectConsumersOffsetForCaller(caller, paymentIntents),
        confirmBy: confirmByColumn,
        readThrough: sql<number | null>`case when status = 'OPEN' and ${paymentIntents.expiresAt} <= ${now}
          then ${selectReadThrough(sql`${paymentIntents.network}`)} end`.as("read_through"),
      })
      .from(paymentIntents)
      .where(eq(paymentIntents.intentId, intentId)),
  );
};

/**
 * Finds ended intents stored as OPEN that cannot have been paid in time (PAY-21), earliest first. `ahead`: the lead of `now` over the chain's clock.
 */
export const findDueIntents = (
  db: Database,
  { now, ahead }: { readonly now: number; readonly ahead: number },
  after: Due,
  slice: number,
): Read<IntentRow[]> =>
  readAll(
    db
      .select()
      .from(paymentIntents)
      .where(
        and(
          sql`status = 'OPEN'`,
          lte(paymentIntents.expiresAt, now),
          sql`(${paymentIntents.expiresAt}, ${paymentIntents.intentId}) > (${after.at}, ${after.id})`,
          sql`max(${paymentIntents.expiresAt}, coalesce(lost_until, 0)) <= ${selectReadThrough(sql`${paymentIntents.network}`)} + ${ahead} - ${BLOCK_CLOCK_SKEW_MS}`,
        ),
      )
      .orderBy(asc(paymentIntents.expiresAt), asc(paymentIntents.intentId))
      .limit(slice),
  );

/** The instant up to which a network's payments have been seen; null if it was never read. */
export const selectReadThrough = (network: SQL): SQL<number | null> =>
  sql<number | null>`(select f.read_through from followers f where f.network = ${network})`;

/** A payment of an intent as the follower saw it. */
export type Payment = {
  readonly paymentTx: string;
  readonly paymentLog: number;
  readonly paymentBlock: number;
  readonly paidAt: number;
  readonly sentBy: string | null;
  readonly sentNonce: number | null;
};

/** Binds a payment to its intent. Aborts the batch if the intent was settled, ended or bound meanwhile. */
export const bindPayment = (db: Database, { intentId, status }: IntentRow, payment: Payment): Statement[] => {
  const { from, to } = move(intentMachine, status, "pay");
  return mustChange(
    db,
    db
      .update(paymentIntents)
      .set({ status: to, ...payment })
      .where(and(eq(paymentIntents.intentId, intentId), eq(paymentIntents.status, from), sql`payment_tx is null`)),
  );
};

/** Records the same payment in another block. */
export const movePayment = (db: Database, { intentId }: IntentRow, payment: Payment): Statement[] =>
  mustChange(
    db,
    db
      .update(paymentIntents)
      .set(payment)
      .where(and(eq(paymentIntents.intentId, intentId), eq(paymentIntents.status, "PAID"))),
  );

/** The intent after a reorg removed its payment, which pays it again if it comes back; its hold waits for that until `lostUntil`. */
export const toUnpaidIntent = <T extends IntentRow>(intent: T, lostUntil: number | null): T => ({
  ...intent,
  lostUntil,
  ...NO_PAYMENT,
  status: move(intentMachine, intent.status, "unpay").to,
  lostTx: intent.paymentTx,
  lostLog: intent.paymentLog,
});

export const unbindPayment = (db: Database, intent: IntentRow, after: IntentRow): Statement[] => {
  const { status, lostTx, lostLog, lostUntil } = after;
  return mustChange(
    db,
    db
      .update(paymentIntents)
      .set({ status, ...NO_PAYMENT, lostTx, lostLog, lostUntil })
      .where(
        and(
          eq(paymentIntents.intentId, intent.intentId),
          eq(paymentIntents.status, intent.status),
          sql`spent_at is null`,
        ),
      ),
  );
};

const NO_PAYMENT = { paymentTx: null, paymentLog: null, paymentBlock: null, paidAt: null };

/** The intent after a reorg removed its settlement (FAC-18): open until its own end, not rated, and paid again if the same payment comes back. */
export const toReopenedIntent = (
  intent: IntentRow,
  { txHash, logIndex }: { readonly txHash: string; readonly logIndex: number },
  lostUntil: number,
): IntentRow => {
  const { network, providerDid, consumerDid, amount } = intent;
  return {
    ...intent,
    ...NO_PAYMENT,
    status: move(intentMachine, intent.status, "reverse").to,
    terms: hashTerms(network, hashDid(providerDid), hashDid(consumerDid), BigInt(amount)),
    transactionId: null,
    taskId: null,
    abandonRated: true,
    lostTx: txHash,
    lostLog: logIndex,
    lostUntil,
    // The known sender belongs to another transaction.
    ...(intent.paymentTx !== txHash && { sentBy: null, sentNonce: null }),
  };
};

/** Aborts the batch if the intent has another settlement. */
export const reopenIntent = (db: Database, before: IntentRow, after: IntentRow): Statement[] => {
  const { status, terms, abandonRated, lostTx, lostLog, lostUntil, sentBy, sentNonce } = after;
  return mustChange(
    db,
    db
      .update(paymentIntents)
      .set({
        ...NO_PAYMENT,
        ...{ status, terms, transactionId: null, taskId: null, abandonRated },
        ...{ lostTx, lostLog, lostUntil, sentBy, sentNonce },
      })
      .where(
        and(
          eq(paymentIntents.intentId, before.intentId),
          eq(paymentIntents.status, before.status),
          sql`${paymentIntents.transactionId} = ${before.transactionId}`,
        ),
      ),
  );
};

/** Ends an intent that was paid and can no longer be facilitated. */
export const endPaidIntent = (db: Database, { intentId }: IntentRow, now: number): Statement[] =>
  mustChange(
    db,
    db
      .update(paymentIntents)
      .set({ spentAt: now })
      .where(and(eq(paymentIntents.intentId, intentId), sql`status = 'PAID' and spent_at is null`)),
  );

export const insertIntent = compileInsert((db) => db.insert(paymentIntents));

/** Settles an intent whose payment `judgeSettlement` has accepted. Aborts the batch (Conflict) if the status has changed since it was read. */
export function settleIntent(
  db: Database,
  intent: IntentRow,
  { transactionId, taskId }: { readonly transactionId: string; readonly taskId: string | null },
): Statement[] {
  const { from, to } = move(intentMachine, intent.status, intent.status === "OPEN" ? "settle" : "settle_late");
  return mustChange(
    db,
    db
      .update(paymentIntents)
      // Without terms, no other payment finds it.
      .set({ status: to, transactionId, taskId, terms: "" })
      .where(and(eq(paymentIntents.intentId, intent.intentId), eq(paymentIntents.status, from))),
  );
}

/** Moves either all of the intents to another status, or none. */
export const moveIntents = (
  db: Database,
  intentIds: readonly string[],
  { from, to }: Move<IntentStatus>,
): Statement[] =>
  mustChange(
    db,
    db
      .update(paymentIntents)
      .set({ status: to })
      .where(and(isOneOf(paymentIntents.intentId, intentIds), eq(paymentIntents.status, from))),
    intentIds.length,
  );

export const markAbandonRated = (db: Database, intentId: string): Statement[] =>
  mustChange(
    db,
    db
      .update(paymentIntents)
      .set({ abandonRated: true })
      .where(
        and(
          eq(paymentIntents.intentId, intentId),
          eq(paymentIntents.status, "ABANDONED"),
          eq(paymentIntents.abandonRated, false),
        ),
      ),
  );

// ---- Ending an open intent early -------------------------------------------------------------------------------------------

const DIDS_PER_STATEMENT = 20;

/**
 * Ends the unpaid open intents of ended agents now, on the clock of the consumer's platform, which rules an intent. A payment that was mined before
 * still settles one (PAY-14), the job records the rest like any other end, no consumer is rated for one, and holds keep their own end. `wall`: the
 * instant on the service's clock.
 */
export const endIntentsOfAgents = (db: Database, dids: readonly string[], wall: number): Statement[] =>
  Array.from({ length: Math.ceil(dids.length / DIDS_PER_STATEMENT) }, (_, n) => {
    const part = dids.slice(n * DIDS_PER_STATEMENT, (n + 1) * DIDS_PER_STATEMENT);
    const at = sql`${wall} + case when environment = 'sandbox' then
      (select p.clock_offset_ms from platforms p where p.platform_id = consumer_platform_id) else 0 end`;
    return db
      .update(paymentIntents)
      .set({ expiresAt: at, abandonRated: true })
      .where(
        and(
          // Literal text, so that SQLite uses the partial index.
          sql`status = 'OPEN' and intent_id in (
            select intent_id from payment_intents where status in ('OPEN', 'PAID') and spent_at is null and status = 'OPEN' and ${inArray(paymentIntents.providerDid, part)}
            union all select intent_id from spend_holds where ${inArray(spendHolds.did, part)})`,
          or(inArray(paymentIntents.providerDid, part), inArray(paymentIntents.consumerDid, part)),
          sql`expires_at > ${at}`,
        ),
      );
  });

/** Ends an open offer now (PAY-23); the job records this end like any other. `rated`: true if the consumer is not to be rated for it. */
export const markIntentCancelled = (
  db: Database,
  { intentId, expiresAt }: IntentRow,
  { now, rated }: { readonly now: number; readonly rated: boolean },
): Statement[] =>
  mustChange(
    db,
    db
      .update(paymentIntents)
      .set({ expiresAt: now, cancelledAt: now, abandonRated: rated })
      .where(and(eq(paymentIntents.intentId, intentId), sql`status = 'OPEN'`, eq(paymentIntents.expiresAt, expiresAt))),
  );

/** Ends an intent whose on-chain key was used up by a payment that settles nothing (FAC-22): no payment finds it, nor is its consumer rated. */
export const endSpoiltIntent = (db: Database, { intentId, status }: IntentRow, ended: IntentRow): Statement[] => {
  const { from, to } = move(intentMachine, status, "expire");
  return mustChange(
    db,
    db
      .update(paymentIntents)
      .set({ status: to, expiresAt: ended.expiresAt, terms: "", abandonRated: true })
      .where(and(eq(paymentIntents.intentId, intentId), eq(paymentIntents.status, from))),
  );
};

/** Ends the hold of a lost payment that can never be mined again. */
export const endLostHold = (db: Database, { intentId }: IntentRow): Statement[] =>
  mustChange(
    db,
    db
      .update(paymentIntents)
      .set({ lostUntil: null })
      .where(and(eq(paymentIntents.intentId, intentId), sql`status = 'OPEN' and lost_until is not null`)),
  );
