// Reads of the intents that payments are for: by what the follower has bound, by name, and by terms (PAY-21).
import { and, asc, eq, getTableColumns, lte, or, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/due.ts";
import { type Database, type Read, readAll } from "../db/batch.ts";
import { consumersOffsetOf, type Timed } from "../db/clock.ts";
import { type IntentRow, paymentIntents } from "../db/tables/money.ts";
import { type PaidIntent, paidIntent } from "./find-store.ts";

/** The intents that payments of a transaction are bound to (PAY-21), or were until a reorganisation took them away. */
export const findIntentsPaidBy = (db: Database, network: string | SQL<string>, txHash: string): Read<PaidIntent[]> =>
  readAll(
    db
      .select(paidIntent)
      .from(paymentIntents)
      // Literal text, so that SQLite uses the partial index.
      .where(
        or(
          and(eq(paymentIntents.network, network), eq(paymentIntents.paymentTx, txHash), sql`payment_tx is not null`),
          and(eq(paymentIntents.network, network), eq(paymentIntents.lostTx, txHash), sql`lost_tx is not null`),
        ),
      ),
  );

/** Those whose payments a reorganisation took away, of these payments. */
export const findIntentsThatLost = (
  db: Database,
  network: string,
  payments: readonly { readonly txHash: string; readonly logIndex: number }[],
): Read<Timed<IntentRow>[]> => {
  const wanted = JSON.stringify(payments.map(({ txHash, logIndex }) => [txHash, logIndex]));
  return readAll(
    db
      .select({ ...getTableColumns(paymentIntents), clockOffsetMs: consumersOffsetOf(paymentIntents) })
      .from(sql`json_each(${wanted}) k`)
      .crossJoin(paymentIntents)
      // Literal text, so that SQLite uses the partial index.
      .where(
        sql`${paymentIntents.lostTx} = k.value ->> 0 and ${paymentIntents.lostLog} = k.value ->> 1
          and ${paymentIntents.network} = ${network} and lost_tx is not null`,
      ),
  );
};

/** Paid intents of a network that are not counted as spent yet, after a position, by the instants of their payments. */
export const findPaidIntents = (
  db: Database,
  network: string,
  after: Due,
  to: number,
  limit: number,
): Read<Timed<IntentRow>[]> =>
  readAll(
    db
      .select({ ...getTableColumns(paymentIntents), clockOffsetMs: consumersOffsetOf(paymentIntents) })
      .from(paymentIntents)
      .where(
        and(
          // Literal text, so that SQLite uses the partial index.
          sql`status = 'PAID' and spent_at is null`,
          eq(paymentIntents.network, network),
          lte(paymentIntents.paidAt, to),
          sql`(${paymentIntents.paidAt}, ${paymentIntents.intentId}) > (${after.at}, ${after.id})`,
        ),
      )
      .orderBy(asc(paymentIntents.paidAt), asc(paymentIntents.intentId))
      .limit(limit),
  );

/** The intents whose bound payments stand behind a network's booked block. */
export const findBoundIntents = (db: Database, network: string): Read<Timed<IntentRow>[]> =>
  readAll(
    db
      .select({ ...getTableColumns(paymentIntents), clockOffsetMs: consumersOffsetOf(paymentIntents) })
      .from(sql`followers f`)
      .crossJoin(sql`json_each(f.bound) b`)
      .crossJoin(paymentIntents)
      .where(sql`f.network = ${network} and ${paymentIntents.intentId} = b.value`),
  );

/** The intents that payments name, by their hashes. */
export const findIntentsNamed = (db: Database, hashes: readonly string[]): Read<Timed<IntentRow>[]> =>
  readAll(
    db
      .select({ ...getTableColumns(paymentIntents), clockOffsetMs: consumersOffsetOf(paymentIntents) })
      .from(paymentIntents)
      .where(sql`intent_hash in (select value from json_each(${JSON.stringify(hashes)}))`),
  );

/** Unsettled intents of the terms of payments that name none, the newest first; of each terms at most `most`. */
export const findIntentsOfTerms = (db: Database, terms: readonly string[], most: number): Read<Timed<IntentRow>[]> =>
  readAll(
    db
      .select({ ...getTableColumns(paymentIntents), clockOffsetMs: consumersOffsetOf(paymentIntents) })
      .from(sql`(select value as terms from json_each(${JSON.stringify(terms)})) as wanted`)
      .crossJoin(paymentIntents)
      .where(
        sql`${paymentIntents.terms} = wanted.terms and transaction_id is null and ${paymentIntents.createdAt} >= coalesce(
          (select n.created_at from payment_intents n where n.terms = wanted.terms and n.transaction_id is null
            order by n.created_at desc limit 1 offset ${most - 1}), 0)`,
      ),
  );

/** Open intents of a network whose lost payments keep their holds, and of whose transactions it is known who sent them. */
export const findWaitingIntents = (db: Database, network: string): Read<Timed<IntentRow>[]> =>
  readAll(
    db
      .select({ ...getTableColumns(paymentIntents), clockOffsetMs: consumersOffsetOf(paymentIntents) })
      .from(paymentIntents)
      // Literal text, so that SQLite uses the partial index.
      .where(
        sql`lost_until is not null and status = 'OPEN' and ${paymentIntents.network} = ${network} and sent_by is not null`,
      ),
  );
