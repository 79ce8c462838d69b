// Reads of the intents that payments are for: by the payment that the follower has bound, by name, and by terms (PAY-21).
import { and, asc, eq, getTableColumns, lte, or, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/due.ts";
import { type Database, type Read, readAll } from "../db/batch.ts";
import { selectConsumersOffset, type Timed } from "../db/clock.ts";
import { compileOnce } from "../db/compiled.ts";
import { eachOf } from "../db/lists.ts";
import { type IntentRow, paymentIntents } from "../db/tables/money.ts";
import { type PaidIntent, paidIntentColumns, selectFromIntent } from "./find-store.ts";
import { BLOCK_CLOCK_SKEW_MS } from "./states.ts";

/** The intents that payments of a transaction are bound to, or were bound to until a reorg removed them (PAY-21). */
const selectPaidBy = (db: Database, network: SQL | Placeholder) => {
  const on = sql`${paymentIntents.network} = ${network}`;
  const txHash = sql.placeholder("txHash");
  return (
    db
      .select(paidIntentColumns)
      .from(paymentIntents)
      // Literal text, so that SQLite uses the partial index.
      .where(
        or(
          and(on, sql`${paymentIntents.paymentTx} = ${txHash}`, sql`payment_tx is not null`),
          and(on, sql`${paymentIntents.lostTx} = ${txHash}`, sql`lost_tx is not null`),
        ),
      )
  );
};
const selectPaidOnNetwork = compileOnce((db) => selectPaidBy(db, sql.placeholder("network")));
const selectPaidOnNetworkOfIntent = compileOnce((db) =>
  selectPaidBy(db, selectFromIntent(sql.placeholder("intentId")).network),
);

export const findIntentsPaidBy = (db: Database, network: string, txHash: string): Read<PaidIntent[]> =>
  readAll(selectPaidOnNetwork(db, { network, txHash }));
/** Like findIntentsPaidBy, on the network of an intent. */
export const findIntentsPaidOnSameNetwork = (db: Database, intentId: string, txHash: string): Read<PaidIntent[]> =>
  readAll(selectPaidOnNetworkOfIntent(db, { intentId, txHash }));

/** Finds the intents that lost one of these payments to a reorg. */
export const findIntentsWithLostPayments = (
  db: Database,
  network: string,
  payments: readonly { readonly txHash: string; readonly logIndex: number }[],
): Read<Timed<IntentRow>[]> => {
  const wanted = payments.map(({ txHash, logIndex }) => [txHash, logIndex]);
  return readAll(
    db
      .select({ ...getTableColumns(paymentIntents), clockOffsetMs: selectConsumersOffset(paymentIntents) })
      .from(sql`${eachOf(wanted)} k`)
      .crossJoin(paymentIntents)
      // Literal text, so that SQLite uses the partial index.
      .where(
        sql`${paymentIntents.lostTx} = k.value ->> 0 and ${paymentIntents.lostLog} = k.value ->> 1
          and ${paymentIntents.network} = ${network} and lost_tx is not null`,
      ),
  );
};

/** Finds paid intents of a network that do not count as spent yet, after a position, by the instants of their payments. */
export const findPaidIntents = (
  db: Database,
  network: string,
  after: Due,
  to: number,
  limit: number,
): Read<Timed<IntentRow>[]> =>
  readAll(
    db
      .select({ ...getTableColumns(paymentIntents), clockOffsetMs: selectConsumersOffset(paymentIntents) })
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

/** Finds the intents whose bound payments were mined after the network's booked block. */
export const findBoundIntents = (db: Database, network: string): Read<Timed<IntentRow>[]> =>
  readAll(
    db
      .select({ ...getTableColumns(paymentIntents), clockOffsetMs: selectConsumersOffset(paymentIntents) })
      .from(sql`followers f`)
      .crossJoin(sql`${eachOf(sql`f.bound`)} b`)
      .crossJoin(paymentIntents)
      .where(sql`f.network = ${network} and ${paymentIntents.intentId} = b.value`),
  );

export const findIntentsByHash = (db: Database, hashes: readonly string[]): Read<Timed<IntentRow>[]> =>
  readAll(
    db
      .select({ ...getTableColumns(paymentIntents), clockOffsetMs: selectConsumersOffset(paymentIntents) })
      .from(sql`${eachOf([...new Set(hashes)])} k`)
      .crossJoin(paymentIntents)
      .where(sql`${paymentIntents.intentHash} = k.value`),
  );

/** The facts that find an intent for a payment that names none. `payer`: the payer that the intent must name; null if it must name none. */
export type UnnamedPayment = { readonly terms: string; readonly payer: string | null; readonly minedAt: number };

/** Finds the newest `most` intents of each payment's terms that it can pay. `life`: an offer's life, which bounds how many ended ones are read. */
export const findIntentsOfTerms = (
  db: Database,
  payments: readonly UnnamedPayment[],
  { life, most }: { readonly life: number; readonly most: number },
): Read<Timed<IntentRow>[]> => {
  const wanted = payments.map(({ terms, payer, minedAt }) => [terms, payer, minedAt]);
  const ofTerms = (n: SQL): SQL => sql`${n}.terms = k.value ->> 0 and ${n}.transaction_id is null`;
  const minedAt = sql`k.value ->> 2`;
  // The newest intent has the latest clock. Without its offset, a sandbox whose clock is far ahead would have its whole history scanned.
  const newest = sql`(select ${selectOffset(sql`o`)} from payment_intents o where ${ofTerms(sql`o`)} order by o.created_at desc limit 1)`;
  const payable = sql`select n.intent_id from payment_intents n where ${ofTerms(sql`n`)}
    and n.created_at > ${minedAt} + ${newest} - ${life + BLOCK_CLOCK_SKEW_MS}
    and n.created_at <= ${minedAt} + ${selectOffset(sql`n`)} + ${BLOCK_CLOCK_SKEW_MS}
    and n.expires_at > ${minedAt} + ${selectOffset(sql`n`)} - ${BLOCK_CLOCK_SKEW_MS}
    and n.status in ('OPEN', 'ABANDONED') and n.payer is (k.value ->> 1)
    order by n.created_at desc limit ${most}`;
  const found = sql`select j.value from ${eachOf(wanted)} k
    cross join ${eachOf(sql`(select json_group_array(intent_id) from (${payable}))`)} j`;
  return readAll(
    db
      .select({ ...getTableColumns(paymentIntents), clockOffsetMs: selectConsumersOffset(paymentIntents) })
      .from(paymentIntents)
      .where(sql`${paymentIntents.intentId} in (${found})`),
  );
};

const selectOffset = (of: SQL): SQL => sql`case when ${of}.environment = 'sandbox' then
  coalesce((select p.clock_offset_ms from platforms p where p.platform_id = ${of}.consumer_platform_id), 0) else 0 end`;

/** Finds open intents of a network that a lost payment keeps held, and whose transaction has a known sender. */
export const findIntentsAwaitingLostPayment = (db: Database, network: string): Read<Timed<IntentRow>[]> =>
  readAll(
    db
      .select({ ...getTableColumns(paymentIntents), clockOffsetMs: selectConsumersOffset(paymentIntents) })
      .from(paymentIntents)
      // Literal text, so that SQLite uses the partial index.
      .where(
        sql`lost_until is not null and status = 'OPEN' and ${paymentIntents.network} = ${network} and sent_by is not null`,
      ),
  );
