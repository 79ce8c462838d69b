// Store of the reads of intents: by the facts that a call or a job has, and by the payments that they are for (PAY-21).
import { and, asc, desc, eq, getTableColumns, gt, lte, or, type Placeholder, type SQL, sql } from "drizzle-orm";
import { encodeStoredHash, type Hash, hashDid, hashTerms } from "../chain/hashes.ts";
import type { Due } from "../core/clock.ts";
import { type Database, type Read, readAll, readOne } from "../db/batch.ts";
import { selectConsumersOffset, selectProvidersOffset, type Timed, type WithProviderOffset } from "../db/clock.ts";
import { compileOnce } from "../db/compiled.ts";
import { eachOf, isOneOf } from "../db/lists.ts";
import { type IntentRow, paymentIntents } from "../db/tables/money.ts";
import { BLOCK_CLOCK_SKEW_MS, LATE_FACILITATION_MS } from "./states.ts";

/** An intent for settlement, with the clock of its provider's platform and the last booked block of its network; null before the first. */
export type PaidIntent = IntentRow & WithProviderOffset & { readonly bookedBlock: number | null };
const bookedBlockColumn = sql<
  number | null
>`(select booked_block from followers f where f.network = payment_intents.network)`;
export const paidIntentColumns = {
  ...getTableColumns(paymentIntents),
  providerOffsetMs: selectProvidersOffset(paymentIntents),
  bookedBlock: bookedBlockColumn.as("booked_block"),
};

type PairPayment = {
  consumerDid: string;
  providerDid: string;
  network: string;
  amount: number;
  minedAt?: number;
  payer?: string;
};

const isPayableBy = (by: PairPayment): SQL | undefined =>
  and(
    eq(
      paymentIntents.terms,
      hashTerms(by.network, hashDid(by.providerDid), hashDid(by.consumerDid), BigInt(by.amount)),
    ),
    // Literal text, so that SQLite uses the partial index.
    sql`transaction_id is null`,
    // An intent that is bound to another payment is not paid twice.
    sql`status <> 'PAID'`,
    by.minedAt === undefined ? undefined : lte(paymentIntents.createdAt, by.minedAt + BLOCK_CLOCK_SKEW_MS),
    by.payer === undefined ? undefined : sql`(payer is null or payer = ${by.payer})`,
  );

/** The newest payable intent if the caller names none (FAC-8). It took payments at `minedAt`: a late payment must not settle a newer intent. */
export const findOpenIntentOf = (db: Database, by: PairPayment, now: number): Read<PaidIntent | null> =>
  readOne(
    db
      .select(paidIntentColumns)
      .from(paymentIntents)
      .where(
        and(
          isPayableBy(by),
          gt(paymentIntents.expiresAt, now - LATE_FACILITATION_MS),
          by.minedAt === undefined ? undefined : gt(paymentIntents.expiresAt, by.minedAt - BLOCK_CLOCK_SKEW_MS),
        ),
      )
      .orderBy(desc(paymentIntents.createdAt))
      .limit(1),
  );

export const findNamedIntent = (db: Database, hash: Hash): Read<PaidIntent | null> =>
  readOne(
    db
      .select(paidIntentColumns)
      .from(paymentIntents)
      .where(eq(paymentIntents.intentHash, encodeStoredHash(hash))),
  );

/** Finds intents that their own consumer opened and left unpaid, and that no late payment can settle any more; the earliest end first (TSK-11). */
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

/** The parties and the network of an intent as SQL expressions, for reads in the trip that finds the intent. */
export const selectFromIntent = (intentId: string | Placeholder) => ({
  providerDid: sql<string>`(select provider_did from payment_intents where intent_id = ${intentId})`,
  consumerDid: sql<string>`(select consumer_did from payment_intents where intent_id = ${intentId})`,
  network: sql<string>`(select network from payment_intents where intent_id = ${intentId})`,
  /** The consumer, the environment that it is rated in, and the principal that it left waiting. */
  ratedPair: sql`(select consumer_did, environment, provider_principal_id from payment_intents where intent_id = ${intentId})`,
  ratedConsumer: sql`(select consumer_did, environment from payment_intents where intent_id = ${intentId})`,
});

/** The consumers of intents and the principals that they left unpaid: a subquery of `did`, `environment`, `principal_id`. `intentIds`: JSON. */
export const selectRatedConsumers = (intentIds: SQL<string>): SQL =>
  sql`(select consumer_did as did, environment, provider_principal_id as principal_id from payment_intents
    where ${isOneOf(sql`intent_id`, intentIds)})`;

// ---- By payments -----------------------------------------------------------------------------------------------------------

/** The intents that payments of a transaction are bound to, or were bound to until a reorg removed them. */
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

const timedIntentColumns = {
  ...getTableColumns(paymentIntents),
  clockOffsetMs: selectConsumersOffset(paymentIntents),
};

/** Finds the intents that lost one of these payments to a reorg. */
export const findIntentsWithLostPayments = (
  db: Database,
  network: string,
  payments: readonly { readonly txHash: string; readonly logIndex: number }[],
): Read<Timed<IntentRow>[]> => {
  const wanted = payments.map(({ txHash, logIndex }) => [txHash, logIndex]);
  return readAll(
    db
      .select(timedIntentColumns)
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
      .select(timedIntentColumns)
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
      .select(timedIntentColumns)
      .from(sql`followers f`)
      .crossJoin(sql`${eachOf(sql`f.bound`)} b`)
      .crossJoin(paymentIntents)
      .where(sql`f.network = ${network} and ${paymentIntents.intentId} = b.value`),
  );

export const findIntentsByHash = (db: Database, hashes: readonly string[]): Read<Timed<IntentRow>[]> =>
  readAll(
    db
      .select(timedIntentColumns)
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
    db.select(timedIntentColumns).from(paymentIntents).where(sql`${paymentIntents.intentId} in (${found})`),
  );
};

const selectOffset = (of: SQL): SQL => sql`case when ${of}.environment = 'sandbox' then
  coalesce((select p.clock_offset_ms from platforms p where p.platform_id = ${of}.consumer_platform_id), 0) else 0 end`;

/** Finds open intents of a network that a lost payment keeps held, and whose transaction has a known sender. */
export const findIntentsAwaitingLostPayment = (db: Database, network: string): Read<Timed<IntentRow>[]> =>
  readAll(
    db
      .select(timedIntentColumns)
      .from(paymentIntents)
      // Literal text, so that SQLite uses the partial index.
      .where(
        sql`lost_until is not null and status = 'OPEN' and ${paymentIntents.network} = ${network} and sent_by is not null`,
      ),
  );
