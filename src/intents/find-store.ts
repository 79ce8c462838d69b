// Reads of intents by the facts that a payment, a job or a call has.
import { and, asc, desc, eq, getTableColumns, gt, lte, type Placeholder, type SQL, sql } from "drizzle-orm";
import { encodeStoredHash, type Hash, hashDid, hashTerms } from "../chain/hashes.ts";
import type { Due } from "../core/due.ts";
import { type Database, type Read, readAll, readOne } from "../db/batch.ts";
import type { WithProviderOffset } from "../db/clock.ts";
import { selectProvidersOffset } from "../db/clock.ts";
import { isOneOf } from "../db/lists.ts";
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
