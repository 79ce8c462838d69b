// Store of an intent's holds (PAY-11): they end with the intent, have no end once its payment was seen, turn into spending, and come back with a
// reorg.
import { and, eq, gte, type SQL, sql } from "drizzle-orm";
import { PROVIDER_INTENTS_MAX } from "../core/limits.ts";
import { BASE_UNITS_MAX, floorAmount } from "../core/text.ts";
import { CHANGED_ROWS, type Database, mustChange, type Read, read, type Statement } from "../db/batch.ts";
import { eachOf, isOneOf, selectFields } from "../db/lists.ts";
import { type AgentRow, agents } from "../db/tables/agents.ts";
import type { IntentRow } from "../db/tables/money.ts";
import { spendHolds, spendLedger, spendSums } from "../db/tables/spending.ts";
import { BLOCK_CLOCK_SKEW_MS, computeHoldEnd } from "../intents/states.ts";
import { isPrincipalActive } from "../principals/store.ts";
import {
  isPurseRow,
  matchesPurse,
  type SpendClock,
  type SpenderRow,
  type SpentIn,
  selectEndedHolds,
  selectSettledBefore,
  sumExpiredHolds,
  toPurse,
} from "./spend-store.ts";

/** The end that is stored for a hold without one. */
export const ENDLESS_HOLD = Number.MAX_SAFE_INTEGER;

const toStoredHoldEnd = (intent: IntentRow): number =>
  intent.status === "PAID" ? ENDLESS_HOLD : computeHoldEnd(intent);

const isHoldOf = (did: string, intent: IntentRow): SQL | undefined =>
  and(
    eq(spendHolds.did, did),
    eq(spendHolds.environment, intent.environment),
    // An intent that ended with one of its agents kept its hold, which ends no earlier than the intent (AGT-31).
    (intent.abandonRated ? gte : eq)(spendHolds.expiresAt, toStoredHoldEnd(intent)),
    eq(spendHolds.intentId, intent.intentId),
  );

/** Removes the end of the hold when a payment was seen. A hold that was released before is held again (PAY-21). */
export const removeHoldEnd = (db: Database, intent: IntentRow): Statement[] =>
  intent.spenders.flatMap((did) => [
    db.update(spendHolds).set({ expiresAt: ENDLESS_HOLD }).where(isHoldOf(did, intent)),
    db.insert(spendHolds).select(
      sql`select ${did}, ${intent.environment}, ${ENDLESS_HOLD}, ${intent.intentId}, ${intent.amount}, ${intent.network}, ${intent.currency}
          where ${CHANGED_ROWS} = 0`,
    ),
    db
      .update(spendSums)
      .set({ open: sql`${spendSums.open} + ${intent.amount}` })
      .where(and(isPurseRow(did, intent), sql`${CHANGED_ROWS} = 1`)),
  ]);

/** Moves the end of the hold to that of the intent as `after` has it: its offer ended, or a reorg removed its payment. */
export const moveHolds = (db: Database, before: IntentRow, after: IntentRow): Statement[] =>
  before.spenders.map((did) =>
    db
      .update(spendHolds)
      .set({ expiresAt: toStoredHoldEnd(after) })
      .where(isHoldOf(did, before)),
  );

/** Turns an intent's hold into spending (FAC-11). One statement for each spender, because D1 also counts the rows of a JSON list. */
export const turnHoldsIntoSpending = (db: Database, intent: IntentRow, now: number): Statement[] =>
  intent.spenders.flatMap((did) => [
    db.delete(spendHolds).where(isHoldOf(did, intent)),
    // If the hold was released before, no row was deleted, and the open sum stays as it is.
    db
      .update(spendSums)
      .set({
        settled: sql`${spendSums.settled} + ${intent.amount}`,
        open: sql`${spendSums.open} - ${intent.amount} * ${CHANGED_ROWS}`,
      })
      .where(isPurseRow(did, intent)),
    // Each settlement has a row at an instant of its own, so that totals and instants have the same order.
    db.insert(spendLedger).values({
      did,
      environment: intent.environment,
      currency: intent.currency,
      at: sql`max(${now}, 1 + coalesce((select max(l.at) from spend_ledger l where ${matchesPurse("l", toPurse(did, intent))}), 0))`,
      total: sql`(select s.settled from spend_sums s where ${matchesPurse("s", toPurse(did, intent))})`,
      intentId: intent.intentId,
    }),
  ]);

/**
 * Takes back the spending of an intent that was reopened, and holds its amount again (FAC-18). All later totals are lowered, so that every window
 * counts as if it had never been spent. `since`: an instant no later than the spending.
 */
export const takeBackSpending = (db: Database, intent: IntentRow, since: number): Statement[] =>
  intent.spenders.flatMap((did) => {
    const { environment, currency, intentId, amount, network } = intent;
    const expiresAt = toStoredHoldEnd(intent);
    const spent = sql`(select l.at from spend_ledger l where ${matchesPurse("l", toPurse(did, intent))}
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
        .where(isPurseRow(did, intent)),
      db.insert(spendHolds).values({ did, environment, expiresAt, intentId, amount, network, currency }),
    ];
  });

/** Up to this many holds are released one by one, which reads less; more are released together, which sends less. */
const ONE_BY_ONE_MAX = 10;

/** Releases the holds of intents that ended unpaid. */
export function releaseHolds(db: Database, intents: readonly IntentRow[]): Statement[] {
  const holds = intents.flatMap((intent) => intent.spenders.map((did) => ({ did, intent })));
  if (holds.length <= ONE_BY_ONE_MAX) return holds.flatMap(({ did, intent }) => releaseHold(db, did, intent));
  const keys = holds.map(({ did, intent }) => [did, intent.environment, toStoredHoldEnd(intent), intent.intentId]);
  const released = sql`(select h.did, h.environment, h.currency, sum(h.amount) as amount from ${eachOf(keys)} k
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
          (select ${selectFields(4)} from ${eachOf(keys)})`,
    ),
  ];
}

const releaseHold = (db: Database, did: string, intent: IntentRow): Statement[] => [
  db
    .delete(spendHolds)
    .where(
      and(
        eq(spendHolds.did, did),
        eq(spendHolds.environment, intent.environment),
        eq(spendHolds.expiresAt, toStoredHoldEnd(intent)),
        eq(spendHolds.intentId, intent.intentId),
      ),
    ),
  db
    .update(spendSums)
    .set({ open: sql`${spendSums.open} - ${intent.amount}` })
    .where(and(isPurseRow(did, intent), sql`${CHANGED_ROWS} = 1`)),
];

// ---- Holding --------------------------------------------------------------------------------------------------------------

/** The provider or one of its delegators: the version that was judged, and the instant of the judgement on their platform's clock. */
export type Seller = Pick<AgentRow, "did" | "version"> & { readonly now: number };

/** Holds the amount on the windows of the intent's spenders. The batch fails if a judged fact has changed (PAY-12). */
export function holdAmount(
  db: Database,
  intent: IntentRow,
  spenders: readonly SpenderRow[],
  sellers: readonly Seller[],
  { decimals, clock }: { readonly decimals: number; readonly clock: SpendClock },
): Statement[] {
  const { now } = clock;
  const { environment, currency } = intent;
  const [consumer, ...delegators] = spenders;
  const also = sql`${isProviderUnchanged(intent, sellers)} and ${isWithinProviderShare(intent, now)}`;
  return [
    ...(spenders.some(({ spend }) => spend.expired > 0) ? releaseExpiredHolds(db, intent.spenders, intent, clock) : []),
    ...(consumer ? reserveSpend(db, consumer, intent, { decimals, now }, also) : []),
    ...delegators.flatMap((delegator) => reserveSpend(db, delegator, intent, { decimals, now })),
    db.insert(spendHolds).select(
      sql`select value, ${environment}, ${intent.expiresAt}, ${intent.intentId}, ${intent.amount}, ${intent.network}, ${currency}
            from ${eachOf(intent.spenders)}`,
    ),
  ];
}

/** Removes expired holds whenever the next intent of their currency is opened, so that the sum over them stays short. */
function releaseExpiredHolds(
  db: Database,
  dids: readonly string[],
  { environment, currency }: SpentIn,
  clock: SpendClock,
): Statement[] {
  const purse = { did: sql`${spendSums.did}`, environment: sql`${environment}`, currency: sql`${currency}` };
  const own = (table: typeof spendSums | typeof spendHolds) =>
    and(isOneOf(table.did, dids), eq(table.environment, environment), eq(table.currency, currency));
  return [
    db
      .update(spendSums)
      .set({ open: sql`${spendSums.open} - ${sumExpiredHolds(purse, clock)}` })
      .where(and(own(spendSums), sql`exists (select 1 from ${selectEndedHolds(purse, clock)})`)),
    db
      .delete(spendHolds)
      .where(
        and(
          own(spendHolds),
          sql`expires_at <= (select f.read_through from followers f where f.network = spend_holds.network) + ${clock.ahead} - ${BLOCK_CLOCK_SKEW_MS}`,
        ),
      ),
  ];
}

/** Reserves on condition: of two intents that fit alone but not together, the database accepts one (PAY-10). */
function reserveSpend(
  db: Database,
  { agent }: SpenderRow,
  { currency, amount: units }: Pick<IntentRow, "currency" | "amount">,
  { decimals, now }: { readonly decimals: number; readonly now: number },
  also: SQL = sql`true`,
): Statement[] {
  const { did, environment, version, spendingLimit: limit } = agent;
  const purse = toPurse(did, { environment, currency });
  const sums = (what: "settled" | "open" | "both"): SQL => {
    const column = { settled: sql`s.settled`, open: sql`s.open`, both: sql`s.settled + s.open` }[what];
    return sql`coalesce((select ${column} from spend_sums s where ${matchesPurse("s", purse)}), 0)`;
  };
  const before = selectSettledBefore(purse, sql`${limit?.window_days ?? 0}`, now);
  const fits =
    limit === null ? sql`true` : sql`${sums("both")} - ${before} + ${units} <= ${floorAmount(limit.amount, decimals)}`;
  return mustChange(
    db,
    db
      .insert(spendSums)
      .select(
        // Requires the judged scope and an active principal at the instant of the write.
        sql`select q.did, q.environment, ${currency}, 0, ${units} from agents q where q.did = ${did} and q.version = ${version} and q.status = 'ACTIVE'
            and ${isPrincipalActive(sql`q.principal_id`, now)}
            and ${sums("both")} + ${units} <= ${BASE_UNITS_MAX} and ${fits} and ${also}`,
      )
      .onConflictDoUpdate({
        target: [spendSums.did, spendSums.environment, spendSums.currency],
        set: { open: sql`${spendSums.open} + ${units}` },
      }),
  );
}

const isProviderUnchanged = ({ providerDid, environment, network }: IntentRow, sellers: readonly Seller[]): SQL =>
  sql`${sql.join(
    sellers.map(
      (seller) => sql`exists (select 1 from agents r where r.did = ${seller.did} and r.version = ${seller.version}
          and r.status = 'ACTIVE' and ${isPrincipalActive(sql`r.principal_id`, seller.now)})`,
    ),
    sql` and `,
  )}
      and not exists (select 1 from escrows e where e.did = ${providerDid} and e.environment = ${environment}
          and e.network = ${network} and e.state = 'CONSTRAINED')`;

/** Bounds a provider's own intents for one consumer, because they hold that consumer's window (PAY-6). */
const isWithinProviderShare = ({ providerDid, consumerDid, openedBy }: IntentRow, now: number): SQL =>
  openedBy === providerDid
    ? sql`${selectOpenedByProvider(providerDid, consumerDid, now)} < ${PROVIDER_INTENTS_MAX}`
    : sql`true`;

const selectOpenedByProvider = (providerDid: string, consumerDid: string, now: number): SQL<number> =>
  // Literal text, so that SQLite uses the partial index.
  sql<number>`(select count(*) from payment_intents i where i.provider_did = ${providerDid}
      and i.consumer_did = ${consumerDid} and i.status in ('OPEN', 'PAID') and i.spent_at is null and i.status = 'OPEN' and i.opened_by = ${providerDid}
      and i.expires_at > ${now - BLOCK_CLOCK_SKEW_MS} and (i.expires_at > ${now} or i.cancelled_at is not null))`;

/**
 * The number of open intents that the provider itself opened for the consumer. A cancelled one counts for 30 seconds more, as long as its hold, so
 * that a provider cannot fill a window by opening and cancelling.
 */
export const countOpenedByProvider = (
  db: Database,
  providerDid: string,
  consumerDid: string,
  now: number,
): Read<number> =>
  read(
    db
      .select({ count: selectOpenedByProvider(providerDid, consumerDid, now).as("count") })
      .from(agents)
      .where(eq(agents.did, providerDid)),
    (rows) => rows[0]?.count ?? 0,
  );
