// Store of payment intents. Two platforms share an intent, so a read takes no Tenant: the caller is checked as a party.
import { and, asc, desc, eq, getTableColumns, gt, inArray, lte, or, type SQL, sql } from "drizzle-orm";
import { type Hash, storedHash } from "../chain/hashes.ts";
import type { Due } from "../core/due.ts";
import { type Move, move } from "../core/machine.ts";
import type { IntentStatus } from "../core/vocabulary.ts";
import { type Database, guard, mustChange, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { clockOffsetFor, clockOffsetOf, type Timed, type TimedFor } from "../db/clock.ts";
import { type IntentRow, paymentIntents, spendHolds } from "../db/tables/money.ts";
import { BLOCK_CLOCK_SKEW_MS, intentMachine, LATE_MS } from "./states.ts";

/** An intent with the clock of its consumer's platform, which rules it (ACC-9). */
export const findIntent = (db: Database, intentId: string): Read<Timed<IntentRow> | null> =>
  readOne(
    db
      .select({ ...getTableColumns(paymentIntents), clockOffsetMs: clockOffsetOf(paymentIntents.consumerPlatformId) })
      .from(paymentIntents)
      .where(eq(paymentIntents.intentId, intentId)),
  );

/** The same for an agent that may be its consumer. */
export const findIntentFor = (db: Database, intentId: string, caller: string): Read<TimedFor<IntentRow> | null> => {
  const { consumerDid, consumerPlatformId } = paymentIntents;
  const clockOffsetMs = clockOffsetFor(caller, consumerDid, consumerPlatformId);
  return readOne(
    db
      .select({ ...getTableColumns(paymentIntents), clockOffsetMs })
      .from(paymentIntents)
      .where(eq(paymentIntents.intentId, intentId)),
  );
};

type OfPair = { consumerDid: string; providerDid: string; network: string; amount: number; minedAt?: number };

const payableOf = (by: OfPair): SQL | undefined =>
  and(
    eq(paymentIntents.consumerDid, by.consumerDid),
    eq(paymentIntents.providerDid, by.providerDid),
    eq(paymentIntents.network, by.network),
    eq(paymentIntents.amount, by.amount),
    // Literal text, so that SQLite uses the partial index.
    sql`transaction_id is null`,
    by.minedAt === undefined ? undefined : lte(paymentIntents.createdAt, by.minedAt + BLOCK_CLOCK_SKEW_MS),
  );

/**
 * The newest intent that a payment can settle where the caller names none (FAC-8): open, or ended less than 24 hours ago. With `minedAt`,
 * only one that existed and had not ended when the payment was mined, so that a late payment does not settle a newer intent.
 */
export const findOpenIntentOf = (db: Database, by: OfPair, now: number): Read<IntentRow | null> =>
  readOne(
    db
      .select()
      .from(paymentIntents)
      .where(
        and(
          payableOf(by),
          gt(paymentIntents.expiresAt, now - LATE_MS),
          by.minedAt === undefined ? undefined : gt(paymentIntents.expiresAt, by.minedAt),
        ),
      )
      .orderBy(desc(paymentIntents.createdAt))
      .limit(1),
  );

/** The intent that a payment names. */
export const findNamedIntent = (db: Database, hash: Hash): Read<IntentRow | null> =>
  readOne(
    db
      .select()
      .from(paymentIntents)
      .where(eq(paymentIntents.intentHash, storedHash(hash))),
  );

/** Intents that have ended and are still stored as OPEN, the earliest end first. */
export const findDueIntents = (db: Database, now: number, after: Due, slice: number): Read<IntentRow[]> =>
  readAll(
    db
      .select()
      .from(paymentIntents)
      .where(
        and(
          sql`status = 'OPEN'`,
          lte(paymentIntents.expiresAt, now),
          sql`(${paymentIntents.expiresAt}, ${paymentIntents.intentId}) > (${after.at}, ${after.id})`,
        ),
      )
      .orderBy(asc(paymentIntents.expiresAt), asc(paymentIntents.intentId))
      .limit(slice),
  );

const DIDS_AT_ONCE = 20;

/**
 * Ends the open intents of agents that have ended, where nobody has paid them: now, on the clock of the consumer's platform, which rules an
 * intent. A payment that was mined before still settles one (PAY-14), the job records the rest as it does those that end by themselves, and
 * no consumer is rated for one. The holds keep their own end. `wall`: the instant on the service's clock.
 */
export const endIntentsOf = (db: Database, dids: readonly string[], wall: number): Statement[] =>
  Array.from({ length: Math.ceil(dids.length / DIDS_AT_ONCE) }, (_, n) => {
    const part = dids.slice(n * DIDS_AT_ONCE, (n + 1) * DIDS_AT_ONCE);
    const at = sql`${wall} + case when environment = 'sandbox' then
      (select p.clock_offset_ms from platforms p where p.platform_id = consumer_platform_id) else 0 end`;
    return db
      .update(paymentIntents)
      .set({ expiresAt: at, abandonRated: true })
      .where(
        and(
          // Literal text, so that SQLite uses the partial index.
          sql`status = 'OPEN' and intent_id in (
            select intent_id from payment_intents where status = 'OPEN' and ${inArray(paymentIntents.providerDid, part)}
            union all select intent_id from spend_holds where ${inArray(spendHolds.did, part)})`,
          or(inArray(paymentIntents.providerDid, part), inArray(paymentIntents.consumerDid, part)),
          sql`expires_at > ${at}`,
        ),
      );
  });

export const insertIntent = (db: Database, intent: IntentRow): Statement => db.insert(paymentIntents).values(intent);

/**
 * Refuses (Conflict) when the status is no longer the one that was read. `judgeSettlement` has judged the payment before.
 */
export function settleIntent(db: Database, intent: IntentRow, transactionId: string): Statement[] {
  const { from, to } = move(intentMachine, intent.status, intent.status === "OPEN" ? "settle" : "settle_late");
  return mustChange(
    db,
    db
      .update(paymentIntents)
      .set({ status: to, transactionId })
      .where(and(eq(paymentIntents.intentId, intent.intentId), eq(paymentIntents.status, from))),
  );
}

/** Moves all of the intents from one status to another, or none. */
export const moveIntents = (
  db: Database,
  intentIds: readonly string[],
  { from, to }: Move<IntentStatus>,
): Statement[] => [
  db
    .update(paymentIntents)
    .set({ status: to })
    .where(
      and(
        sql`${paymentIntents.intentId} in (select value from json_each(${JSON.stringify(intentIds)}))`,
        eq(paymentIntents.status, from),
      ),
    ),
  guard(db, sql`changes() = ${sql.raw(String(intentIds.length))}`),
];

/** Intents that their own consumer opened and left unpaid, and that no late payment can settle; the earliest end first (TSK-11). */
export const findUnratedIntents = (db: Database, endedBefore: number, after: Due, limit: number): Read<Due[]> =>
  readAll(
    db
      .select({ at: paymentIntents.expiresAt, id: paymentIntents.intentId })
      .from(paymentIntents)
      .where(
        and(
          // Literal text, so that SQLite uses the partial index.
          sql`status = 'ABANDONED' and abandon_rated = 0 and opened_by = consumer_did`,
          lte(paymentIntents.expiresAt, endedBefore),
          sql`(${paymentIntents.expiresAt}, ${paymentIntents.intentId}) > (${after.at}, ${after.id})`,
        ),
      )
      .orderBy(asc(paymentIntents.expiresAt), asc(paymentIntents.intentId))
      .limit(limit),
  );

export const markRated = (db: Database, intentId: string): Statement[] =>
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

/** The parties and the network of an intent as expressions, for reads in the trip that finds the intent. */
export const ofIntent = (intentId: string) => ({
  providerDid: sql<string>`(select provider_did from payment_intents where intent_id = ${intentId})`,
  consumerDid: sql<string>`(select consumer_did from payment_intents where intent_id = ${intentId})`,
  network: sql<string>`(select network from payment_intents where intent_id = ${intentId})`,
  /** The consumer and the environment that it is rated in. */
  ratedConsumer: sql`(select consumer_did, environment from payment_intents where intent_id = ${intentId})`,
});
