// Store of what becomes of an intent's holds (PAY-11): they end with it, have no end once its payment was seen, turn into spending, and come
// back with a reorganisation.
import { and, eq, gte, type SQL, sql } from "drizzle-orm";
import type { Database, Statement } from "../db/batch.ts";
import type { IntentRow } from "../db/tables/money.ts";
import { spendHolds, spendLedger, spendSums } from "../db/tables/spending.ts";
import { holdEndOf } from "../intents/states.ts";
import { isPurse, ofPurse, purseOf } from "./spend-store.ts";

/** The end of a hold that has none. */
export const ENDLESS = Number.MAX_SAFE_INTEGER;

const endOf = (intent: IntentRow): number => (intent.status === "PAID" ? ENDLESS : holdEndOf(intent));

const holdOf = (did: string, intent: IntentRow): SQL | undefined =>
  and(
    eq(spendHolds.did, did),
    eq(spendHolds.environment, intent.environment),
    // One that ended with an agent has left its hold with the end that it had before (AGT-31).
    (intent.abandonRated ? gte : eq)(spendHolds.expiresAt, endOf(intent)),
    eq(spendHolds.intentId, intent.intentId),
  );

/** The hold of an intent whose payment was seen has no end; one that was released before holds again (PAY-21). */
export const holdForever = (db: Database, intent: IntentRow): Statement[] =>
  intent.spenders.flatMap((did) => [
    db.update(spendHolds).set({ expiresAt: ENDLESS }).where(holdOf(did, intent)),
    db.insert(spendHolds).select(
      sql`select ${did}, ${intent.environment}, ${ENDLESS}, ${intent.intentId}, ${intent.amount}, ${intent.network}, ${intent.currency}
          where changes() = 0`,
    ),
    db
      .update(spendSums)
      .set({ open: sql`${spendSums.open} + ${intent.amount}` })
      .where(and(isPurse(did, intent), sql`changes() = 1`)),
  ]);

/** The hold ends as the intent does that `after` is: its offer has ended, or a reorganisation has taken its payment away. */
export const moveHolds = (db: Database, before: IntentRow, after: IntentRow): Statement[] =>
  before.spenders.map((did) =>
    db
      .update(spendHolds)
      .set({ expiresAt: endOf(after) })
      .where(holdOf(did, before)),
  );

/** Turns the hold of an intent into spending (FAC-11). A statement for each spender, because D1 also counts the rows of a list. */
export const spendStatements = (db: Database, intent: IntentRow, now: number): Statement[] =>
  intent.spenders.flatMap((did) => [
    db.delete(spendHolds).where(holdOf(did, intent)),
    // Each hold of an intent is of its amount; where it was released before, there is none to take back.
    db
      .update(spendSums)
      .set({
        settled: sql`${spendSums.settled} + ${intent.amount}`,
        open: sql`${spendSums.open} - ${intent.amount} * changes()`,
      })
      .where(isPurse(did, intent)),
    // One row a settlement, at an instant of its own: the order of totals is the order of instants.
    db.insert(spendLedger).values({
      did,
      environment: intent.environment,
      currency: intent.currency,
      at: sql`max(${now}, 1 + coalesce((select max(l.at) from spend_ledger l where ${ofPurse("l", purseOf(did, intent))}), 0))`,
      total: sql`(select s.settled from spend_sums s where ${ofPurse("s", purseOf(did, intent))})`,
      intentId: intent.intentId,
    }),
  ]);

/**
 * Takes the spending of an intent back, which is open again, and holds it as that (FAC-18). The totals behind it are lowered with it, so that
 * every window counts as if it had never been spent. `since`: when it was spent, or before.
 */
export const unspendStatements = (db: Database, intent: IntentRow, since: number): Statement[] =>
  intent.spenders.flatMap((did) => {
    const { environment, currency, intentId, amount, network } = intent;
    const expiresAt = endOf(intent);
    const spent = sql`(select l.at from spend_ledger l where ${ofPurse("l", purseOf(did, intent))}
      and l.at >= ${since} and l.intent_id = ${intentId} limit 1)`;
    const own = (at: SQL) =>
      and(eq(spendLedger.did, did), eq(spendLedger.environment, environment), eq(spendLedger.currency, currency), at);
    return [
      db
        .update(spendLedger)
        .set({ total: sql`${spendLedger.total} - ${amount}` })
        .where(own(sql`${spendLedger.at} > ${spent}`)),
      db.delete(spendLedger).where(own(sql`${spendLedger.at} = ${spent}`)),
      db
        .update(spendSums)
        .set({ settled: sql`${spendSums.settled} - ${amount}`, open: sql`${spendSums.open} + ${amount}` })
        .where(isPurse(did, intent)),
      db.insert(spendHolds).values({ did, environment, expiresAt, intentId, amount, network, currency }),
    ];
  });

/** So many holds are released one by one, which reads less; more of them together, which sends less. */
const ONE_BY_ONE = 10;

/** Releases the holds of intents that ended unpaid. */
export function releaseStatements(db: Database, intents: readonly IntentRow[]): Statement[] {
  const holds = intents.flatMap((intent) => intent.spenders.map((did) => ({ did, intent })));
  if (holds.length <= ONE_BY_ONE) return holds.flatMap(({ did, intent }) => releaseOne(db, did, intent));
  const keys = JSON.stringify(
    holds.map(({ did, intent }) => [did, intent.environment, endOf(intent), intent.intentId]),
  );
  const released = sql`(select h.did, h.environment, h.currency, sum(h.amount) as amount from json_each(${keys}) k
      join spend_holds h on h.did = k.value ->> 0 and h.environment = k.value ->> 1 and h.expires_at = k.value ->> 2
        and h.intent_id = k.value ->> 3
      group by h.did, h.environment, h.currency) as released`;
  return [
    db
      .update(spendSums)
      .set({ open: sql`${spendSums.open} - released.amount` })
      .from(released)
      .where(
        sql`${spendSums.did} = released.did and ${spendSums.environment} = released.environment
            and ${spendSums.currency} = released.currency`,
      ),
    db.delete(spendHolds).where(
      sql`(did, environment, expires_at, intent_id) in
          (select value ->> 0, value ->> 1, value ->> 2, value ->> 3 from json_each(${keys}))`,
    ),
  ];
}

const releaseOne = (db: Database, did: string, intent: IntentRow): Statement[] => [
  db
    .delete(spendHolds)
    .where(
      and(
        eq(spendHolds.did, did),
        eq(spendHolds.environment, intent.environment),
        eq(spendHolds.expiresAt, endOf(intent)),
        eq(spendHolds.intentId, intent.intentId),
      ),
    ),
  db
    .update(spendSums)
    .set({ open: sql`${spendSums.open} - ${intent.amount}` })
    .where(and(isPurse(did, intent), sql`changes() = 1`)),
];
