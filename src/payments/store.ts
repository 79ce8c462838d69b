// Payment intents and what they hold of their spenders' windows, as stored. Two platforms share an intent, so a read takes
// no Scope: who asks is checked as a party. The window is a difference of running totals, so it costs the same however long
// the history is; what has expired lets go at its instant, whether or not the cron came by.
import { and, asc, desc, eq, getTableColumns, gt, inArray, lte, or, type SQL, sql } from "drizzle-orm";
import { type AgentRow, environmentOf } from "../agents/store.ts";
import { DAY_MS, SECOND_MS } from "../core/limits.ts";
import { type Move, move } from "../core/machine.ts";
import { BASE_UNITS_MAX } from "../core/money.ts";
import { type Database, guard, mustChange, type Read, read, readAll, readOne, type Statement } from "../db/batch.ts";
import { agentMarkets, agents, paymentIntents, principals, spendHolds, spendLedger } from "../db/tables.ts";
import { EVERYWHERE, marketCode, REGIONS } from "../markets/jurisdictions.ts";
import { principalStands } from "../principals/store.ts";
import { ceilingUnits, type SpendSums } from "./spend-policy.ts";
import { type IntentStatus, intentMachine, LATE_MS } from "./states.ts";

export type IntentRow = typeof paymentIntents.$inferSelect;
export type PrincipalStandingRow = Pick<typeof principals.$inferSelect, "status" | "attestationExpiresAt" | "country">;
export type SpenderRow = { agent: AgentRow; principal: PrincipalStandingRow; spend: SpendSums };
export type Offer = { market: string; network: string };

/** How far a block's clock and ours may be apart. */
const BLOCK_CLOCK_SKEW_MS = 30 * SECOND_MS;
/** Intents are stored without their hash: the one that a payment names is looked for among so many of its pair and amount. */
const NAMED_AMONG = 50;

export const findIntent = (db: Database, intentId: string): Read<IntentRow | null> =>
  readOne(db.select().from(paymentIntents).where(eq(paymentIntents.intentId, intentId)));

type OfPair = { consumerDid: string; providerDid: string; network: string; amount: number; minedAt?: number };

const payableOf = (by: OfPair): SQL | undefined =>
  and(
    eq(paymentIntents.consumerDid, by.consumerDid),
    eq(paymentIntents.providerDid, by.providerDid),
    eq(paymentIntents.network, by.network),
    eq(paymentIntents.amount, by.amount),
    // Literal, as the partial index says it.
    sql`status in ('OPEN', 'ABANDONED')`,
    by.minedAt === undefined ? undefined : lte(paymentIntents.createdAt, by.minedAt + BLOCK_CLOCK_SKEW_MS),
  );

/**
 * The newest intent that a payment can settle where the caller names none (the client form of facilitation): open, or ended
 * less than 24 hours ago. With `minedAt`, only one that was there and had not ended when the payment was mined, so that a
 * late payment does not take the place of one for a newer intent.
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

/** The same, where the payment names one that is not the newest. */
export const findNamedIntentOf = (
  db: Database,
  by: OfPair & { minedAt: number },
  isNamed: (intentId: string) => boolean,
  now: number,
): Read<IntentRow | null> =>
  read(
    db.select().from(paymentIntents).where(payableOf(by)).orderBy(desc(paymentIntents.createdAt)).limit(NAMED_AMONG),
    (rows) => rows.find((row) => row.expiresAt > Math.max(now - LATE_MS, by.minedAt) && isNamed(row.intentId)) ?? null,
  );

/** Intents that have ended and are still stored as OPEN, those longest over first. */
export const findDueIntents = (db: Database, now: number, slice: number): Read<IntentRow[]> =>
  readAll(
    db
      .select()
      .from(paymentIntents)
      .where(and(sql`status = 'OPEN'`, lte(paymentIntents.expiresAt, now)))
      .orderBy(asc(paymentIntents.expiresAt))
      .limit(slice),
  );

/** The running total as the agent's window begins: one row, whatever the ledger's length. */
const settledBefore = (windowDays: SQL, now: number): SQL<number> =>
  sql<number>`coalesce((select l.total from spend_ledger l where l.did = ${agents.did}
      and l.at <= ${now} - ${DAY_MS} * ${windowDays} order by l.at desc limit 1), 0)`;

const expiredHolds = (now: number): SQL<number> =>
  sql<number>`coalesce((select sum(h.amount) from spend_holds h where h.did = ${agents.did} and h.expires_at <= ${now}), 0)`;

/** The consumer and its delegators, nearest first: live scopes, their principals' standing, and their windows. */
export const findSpenders = (db: Database, consumerDid: string, now: number): Read<SpenderRow[]> => {
  const windowDays = sql`coalesce(json_extract(${agents.spendingLimit}, '$.window_days'), 0)`;
  return read(
    db
      .select({
        agent: getTableColumns(agents),
        status: sql<string>`${principals.status}`.as("p_status"),
        attestationExpiresAt: sql<number>`${principals.attestationExpiresAt}`.as("p_attestation"),
        country: sql<string>`${principals.country}`.as("p_country"),
        settledBefore: settledBefore(windowDays, now).as("settled_before"),
        expired: expiredHolds(now).as("expired"),
      })
      .from(agents)
      .innerJoin(
        sql`(with recursive chain(did, depth) as (
              select ${consumerDid}, 0
              union all
              select a.delegated_by, chain.depth + 1 from agents a join chain on a.did = chain.did
              where a.delegated_by is not null and chain.depth < 10
            ) select did, depth from chain) as chain`,
        sql`chain.did = ${agents.did}`,
      )
      .innerJoin(principals, eq(principals.principalId, agents.principalId))
      .orderBy(sql`chain.depth`),
    (rows) =>
      rows.map(({ agent, expired, settledBefore: before, ...principal }) => ({
        agent,
        principal,
        spend: { settled: agent.spendSettled, settledBefore: before, open: agent.spendOpen, expired },
      })),
  );
};

/** The provider's working markets that may cover the consumer: its country's, a region's or the world's. */
export const findOffers = (
  db: Database,
  providerDid: string,
  consumerDid: string,
  currencies: readonly string[],
): Read<Offer[]> => {
  const wide = [...Object.keys(REGIONS), EVERYWHERE];
  const codes = currencies.flatMap((currency) => wide.map((jurisdiction) => marketCode(jurisdiction, currency)));
  const country = sql`(select p.country from agents b join principals p on p.principal_id = b.principal_id where b.did = ${consumerDid})`;
  return readAll(
    db
      .select({ market: agentMarkets.market, network: agentMarkets.network })
      .from(agentMarkets)
      .where(
        and(
          eq(agentMarkets.did, providerDid),
          eq(agentMarkets.environment, environmentOf(providerDid)),
          or(
            inArray(agentMarkets.market, codes),
            ...currencies.map((currency) => eq(agentMarkets.market, sql`${country} || ${`-${currency}`}`)),
          ),
          eq(agentMarkets.status, "ACTIVE"),
        ),
      ),
  );
};

/** `sellers`: the provider and its delegators, as they were judged. */
export type ProviderStanding = {
  did: string;
  sellers: readonly { did: string; version: number }[];
  environment: string;
  network: string;
};

/** The intent, and its hold on every spender's window; the batch fails when what it was decided on is no more. */
export function openIntentStatements(
  db: Database,
  intent: IntentRow,
  spenders: readonly SpenderRow[],
  provider: ProviderStanding,
  decimals: number,
  now: number,
): Statement[] {
  const dids = JSON.stringify(intent.spenders);
  const [consumer, ...delegators] = spenders;
  return [
    ...(spenders.some(({ spend }) => spend.expired > 0) ? letGoExpired(db, dids, now) : []),
    ...(consumer ? holdSpend(db, consumer, intent.amount, decimals, now, providerStands(provider, now)) : []),
    ...delegators.flatMap((delegator) => holdSpend(db, delegator, intent.amount, decimals, now)),
    db.insert(paymentIntents).values(intent),
    db
      .insert(spendHolds)
      .select(sql`select value, ${intent.expiresAt}, ${intent.intentId}, ${intent.amount} from json_each(${dids})`),
  ];
}

/** What has ended holds nothing: written down with the next intent, so that no sum over it grows. */
const letGoExpired = (db: Database, dids: string, now: number): Statement[] => [
  db
    .update(agents)
    .set({ spendOpen: sql`${agents.spendOpen} - ${expiredHolds(now)}` })
    .where(
      sql`${agents.did} in (select value from json_each(${dids}))
          and exists (select 1 from spend_holds h where h.did = ${agents.did} and h.expires_at <= ${now})`,
    ),
  db
    .delete(spendHolds)
    .where(and(sql`${spendHolds.did} in (select value from json_each(${dids}))`, lte(spendHolds.expiresAt, now))),
];

/** The conditional reservation: of two intents that fit alone but not together, the database takes one. */
function holdSpend(
  db: Database,
  spender: SpenderRow,
  units: number,
  decimals: number,
  now: number,
  also?: SQL,
): Statement[] {
  const { did, version, spendingLimit } = spender.agent;
  const held = sql`${agents.spendOpen} + ${units}`;
  const days = sql`${spendingLimit?.window_days ?? 0}`;
  return mustChange(
    db,
    db
      .update(agents)
      .set({ spendOpen: held })
      .where(
        and(
          eq(agents.did, did),
          // The scope that was judged, and an owner in good standing, still at this instant.
          eq(agents.version, version),
          eq(agents.status, "ACTIVE"),
          principalStands(sql`${agents.principalId}`, now),
          sql`${agents.spendSettled} + ${held} <= ${BASE_UNITS_MAX}`,
          spendingLimit === null
            ? undefined
            : sql`${agents.spendSettled} - ${settledBefore(days, now)} + ${held} <= ${ceilingUnits(spendingLimit.amount, decimals)}`,
          also,
        ),
      ),
  );
}

const providerStands = ({ did, sellers, environment, network }: ProviderStanding, now: number): SQL =>
  sql`${sql.join(
    sellers.map(
      (seller) => sql`exists (select 1 from agents q where q.did = ${seller.did} and q.version = ${seller.version}
          and q.status = 'ACTIVE' and ${principalStands(sql`q.principal_id`, now)})`,
    ),
    sql` and `,
  )}
      and not exists (select 1 from escrows e where e.did = ${did} and e.environment = ${environment}
          and e.network = ${network} and e.state = 'CONSTRAINED')`;

/**
 * Settles the intent: its status, what it held, and what its spenders have spent. Refuses (Conflict) when the status is no
 * longer the one that was read; whether the payment counts at all is judged by `judgeSettlement`.
 */
export function settleIntentStatements(db: Database, intent: IntentRow, now: number): Statement[] {
  const settled = move(
    intentMachine,
    intent.status as IntentStatus,
    intent.status === "OPEN" ? "settle" : "settle_late",
  );
  // By name, not through json_each: D1 counts its rows too, and this is in the budget of a facilitation.
  const isSpender = inArray(agents.did, intent.spenders);
  const held = sql`coalesce((select h.amount from spend_holds h where h.did = ${agents.did}
      and h.expires_at = ${intent.expiresAt} and h.intent_id = ${intent.intentId}), 0)`;
  return [
    ...mustChange(
      db,
      db
        .update(paymentIntents)
        .set({ status: settled.to })
        .where(and(eq(paymentIntents.intentId, intent.intentId), eq(paymentIntents.status, settled.from))),
    ),
    db
      .update(agents)
      .set({
        spendSettled: sql`${agents.spendSettled} + ${intent.amount}`,
        spendOpen: sql`${agents.spendOpen} - ${held}`,
      })
      .where(isSpender),
    db
      .delete(spendHolds)
      .where(
        and(
          inArray(spendHolds.did, intent.spenders),
          eq(spendHolds.expiresAt, intent.expiresAt),
          eq(spendHolds.intentId, intent.intentId),
        ),
      ),
    // One row a settlement, at an instant of its own: the order of totals is the order of instants.
    db.insert(spendLedger).select(
      sql`select ${agents.did}, max(${now}, 1 + coalesce((select max(l.at) from spend_ledger l where l.did = ${agents.did}), 0)),
          ${agents.spendSettled} from ${agents} where ${isSpender}`,
    ),
  ];
}

/** Ends intents that nobody paid in time, and lets go what they still hold. Refuses (Conflict) when one was settled. */
export function abandonIntentStatements(db: Database, intents: readonly IntentRow[]): Statement[] {
  const holds = holdKeys(intents);
  const released = sql`(select h.did, sum(h.amount) as amount from json_each(${holds}) k
      join spend_holds h on h.did = k.value ->> 0 and h.expires_at = k.value ->> 1 and h.intent_id = k.value ->> 2
      group by h.did) as released`;
  return [
    ...moveIntents(
      db,
      intents.map(({ intentId }) => intentId),
      move(intentMachine, "OPEN", "expire"),
    ),
    db
      .update(agents)
      .set({ spendOpen: sql`${agents.spendOpen} - released.amount` })
      .from(released)
      .where(sql`${agents.did} = released.did`),
    ...dropHolds(db, intents),
  ];
}

/** All of them or nothing. */
const moveIntents = (db: Database, intentIds: readonly string[], { from, to }: Move<IntentStatus>): Statement[] => [
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

const holdKeys = (intents: readonly IntentRow[]): string =>
  JSON.stringify(
    intents.flatMap(({ spenders, expiresAt, intentId }) => spenders.map((did) => [did, expiresAt, intentId])),
  );

const dropHolds = (db: Database, intents: readonly IntentRow[]): Statement[] => [
  db
    .delete(spendHolds)
    .where(
      sql`(did, expires_at, intent_id) in (select value ->> 0, value ->> 1, value ->> 2 from json_each(${holdKeys(intents)}))`,
    ),
];

/** Intents that their own consumer opened and left, and that can no longer be settled late; those longest over first. */
export const findUnratedIntents = (db: Database, endedBefore: number, slice: number): Read<IntentRow[]> =>
  readAll(
    db
      .select()
      .from(paymentIntents)
      .where(
        and(
          // Literal, as the partial index says it.
          sql`status = 'ABANDONED' and abandon_rated = 0 and opened_by = consumer_did`,
          lte(paymentIntents.expiresAt, endedBefore),
        ),
      )
      .orderBy(asc(paymentIntents.expiresAt))
      .limit(slice),
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
