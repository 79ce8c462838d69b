// Store of spending: sums, the ledger of running totals, and the holds of open intents, of each currency by itself (HTTP-6). A window is a
// difference of running totals, so it costs the same however long the history is (PAY-10). A hold ends at its instant, whether or not a job
// has recorded it (PAY-11).
import { and, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import { DAY_MS, PROVIDER_INTENTS_MAX } from "../core/limits.ts";
import { BASE_UNITS_MAX, floorAmount } from "../core/money.ts";
import { type Database, mustChange, type Read, read, type Statement } from "../db/batch.ts";
import type { Timed } from "../db/clock.ts";
import { type AgentRow, agents } from "../db/tables/agents.ts";
import type { IntentRow } from "../db/tables/money.ts";
import { type PrincipalRow, principals } from "../db/tables/principals.ts";
import { spendHolds, spendSums } from "../db/tables/spending.ts";
import { BLOCK_CLOCK_SKEW_MS } from "../intents/states.ts";
import { principalStands } from "../principals/store.ts";
import type { SpendSums } from "./spend-policy.ts";

export type SpenderStanding = Pick<PrincipalRow, "status" | "attestationExpiresAt" | "accountStopped" | "country">;
export type SpenderRow = Timed<{ agent: AgentRow; principal: SpenderStanding; spend: SpendSums }>;

/**
 * An agent, the environment that it spends in and the currency: what it spent in the sandbox is not counted in production (AGT-34), and no
 * currency in another.
 */
export type Purse = { readonly did: SQL; readonly environment: SQL; readonly currency: SQL };
export const ofPurse = (alias: string, { did, environment, currency }: Purse): SQL =>
  sql`${sql.raw(alias)}.did = ${did} and ${sql.raw(alias)}.environment = ${environment} and ${sql.raw(alias)}.currency = ${currency}`;

type Spent = Pick<IntentRow, "environment" | "currency">;

export const purseOf = (did: string, { environment, currency }: Spent): Purse => ({
  did: sql`${did}`,
  environment: sql`${environment}`,
  currency: sql`${currency}`,
});

/** The sums that an intent of the agent counts in. */
export const isPurse = (did: string, { environment, currency }: Spent): SQL | undefined =>
  and(eq(spendSums.did, did), eq(spendSums.environment, environment), eq(spendSums.currency, currency));

/** The running total when a window began: one row, whatever the ledger's length. */
const settledBefore = (purse: Purse, windowDays: SQL, now: number): SQL<number> =>
  sql<number>`coalesce((select l.total from spend_ledger l where ${ofPurse("l", purse)}
      and l.at <= ${now} - ${DAY_MS} * ${windowDays} order by l.at desc limit 1), 0)`;

/** The instant of a call, and by how much its clock is ahead of the chains'. Milliseconds. */
export type SpendClock = { readonly now: number; readonly ahead: number };

/**
 * Holds that have ended: their network has been read so far that nothing can have been paid in time (PAY-21). The sums join networks first, so
 * that each is a range of the holds.
 */
const ended = (purse: Purse, { ahead }: SpendClock): SQL =>
  sql`followers f cross join spend_holds h on ${ofPurse("h", purse)} and h.network = f.network
      and h.expires_at <= f.read_through + ${ahead} - ${BLOCK_CLOCK_SKEW_MS}`;

const expiredHolds = (purse: Purse, clock: SpendClock): SQL<number> =>
  sql<number>`coalesce((select sum(h.amount) from ${ended(purse, clock)}), 0)`;

/** The consumer and its delegators, nearest first, with live scopes, their principals' standing and their windows of a currency. */
export const findSpenders = (
  db: Database,
  consumerDid: string,
  currency: string,
  clock: SpendClock,
): Read<SpenderRow[]> => {
  const { now } = clock;
  const purse = { did: sql`${agents.did}`, environment: sql`${agents.environment}`, currency: sql`${currency}` };
  const windowDays = sql`coalesce(json_extract(${agents.spendingLimit}, '$.window_days'), 0)`;
  return read(
    db
      .select({
        agent: getTableColumns(agents),
        status: sql<SpenderStanding["status"]>`${principals.status}`.as("p_status"),
        attestationExpiresAt: sql<number>`${principals.attestationExpiresAt}`.as("p_attestation"),
        accountStopped: sql<SpenderStanding["accountStopped"]>`${principals.accountStopped}`.as("p_account_stopped"),
        country: sql<string>`${principals.country}`.as("p_country"),
        settled: sql<number>`coalesce(${spendSums.settled}, 0)`.as("settled"),
        open: sql<number>`coalesce(${spendSums.open}, 0)`.as("open"),
        settledBefore: settledBefore(purse, windowDays, now).as("settled_before"),
        expired: expiredHolds(purse, clock).as("expired"),
        depth: sql<number>`chain.depth`.as("depth"),
        // The clock of the consumer's platform rules (ACC-9), in the sandbox.
        clockOffsetMs: sql<number>`case when chain.depth = 0 and ${agents.environment} = 'sandbox'
            then (select p.clock_offset_ms from platforms p where p.platform_id = ${agents.platformId}) else 0 end`.as(
          "clock_offset_ms",
        ),
      })
      .from(agents)
      .innerJoin(
        sql`(select ${consumerDid} as did, 0 as depth
             union all select value, key + 1 from json_each((select delegators from agents where did = ${consumerDid}))) as chain`,
        sql`chain.did = ${agents.did}`,
      )
      .innerJoin(principals, eq(principals.principalId, agents.principalId))
      .leftJoin(
        spendSums,
        and(
          eq(spendSums.did, agents.did),
          eq(spendSums.environment, agents.environment),
          eq(spendSums.currency, currency),
        ),
      ),
    (rows) =>
      rows
        .sort((a, b) => a.depth - b.depth)
        .map(({ agent, status, attestationExpiresAt, accountStopped, country, clockOffsetMs, ...spend }) => ({
          agent,
          principal: { status, attestationExpiresAt, accountStopped, country },
          clockOffsetMs,
          spend: {
            settled: spend.settled,
            settledBefore: spend.settledBefore,
            open: spend.open,
            expired: spend.expired,
          },
        })),
  );
};

/** The provider or one of its delegators, in the version that was judged, and the instant of the judgement on their platform's clock. */
export type Seller = Pick<AgentRow, "did" | "version"> & { readonly now: number };

/** The holds of an intent on its spenders' windows. The batch fails when a judged fact has changed (PAY-12). */
export function holdStatements(
  db: Database,
  intent: IntentRow,
  spenders: readonly SpenderRow[],
  sellers: readonly Seller[],
  decimals: number,
  clock: SpendClock,
): Statement[] {
  const { now } = clock;
  const { environment, currency } = intent;
  const dids = JSON.stringify(intent.spenders);
  const [consumer, ...delegators] = spenders;
  const also = sql`${providerStands(intent, sellers)} and ${withinProvidersShare(intent, now)}`;
  return [
    ...(spenders.some(({ spend }) => spend.expired > 0) ? releaseExpiredHolds(db, dids, intent, clock) : []),
    ...(consumer ? holdSpend(db, consumer, intent, decimals, now, also) : []),
    ...delegators.flatMap((delegator) => holdSpend(db, delegator, intent, decimals, now)),
    db.insert(spendHolds).select(
      sql`select value, ${environment}, ${intent.expiresAt}, ${intent.intentId}, ${intent.amount}, ${intent.network}, ${currency}
            from json_each(${dids})`,
    ),
  ];
}

/** Removes expired holds together with the next intent of their currency, so that no sum over them grows. */
function releaseExpiredHolds(
  db: Database,
  dids: string,
  { environment, currency }: Spent,
  clock: SpendClock,
): Statement[] {
  const purse = { did: sql`${spendSums.did}`, environment: sql`${environment}`, currency: sql`${currency}` };
  const own = (table: typeof spendSums | typeof spendHolds) =>
    and(
      sql`${table.did} in (select value from json_each(${dids}))`,
      eq(table.environment, environment),
      eq(table.currency, currency),
    );
  return [
    db
      .update(spendSums)
      .set({ open: sql`${spendSums.open} - ${expiredHolds(purse, clock)}` })
      .where(and(own(spendSums), sql`exists (select 1 from ${ended(purse, clock)})`)),
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

/** The conditional reservation: of two intents that fit alone but not together, the database accepts one (PAY-10). */
function holdSpend(
  db: Database,
  { agent }: SpenderRow,
  { currency, amount: units }: Pick<IntentRow, "currency" | "amount">,
  decimals: number,
  now: number,
  also: SQL = sql`true`,
): Statement[] {
  const { did, environment, version, spendingLimit: limit } = agent;
  const purse = purseOf(did, { environment, currency });
  const sums = (what: "settled" | "open" | "both"): SQL => {
    const column = { settled: sql`s.settled`, open: sql`s.open`, both: sql`s.settled + s.open` }[what];
    return sql`coalesce((select ${column} from spend_sums s where ${ofPurse("s", purse)}), 0)`;
  };
  const before = settledBefore(purse, sql`${limit?.window_days ?? 0}`, now);
  const fits =
    limit === null ? sql`true` : sql`${sums("both")} - ${before} + ${units} <= ${floorAmount(limit.amount, decimals)}`;
  return mustChange(
    db,
    db
      .insert(spendSums)
      .select(
        // The judged scope and an owner in good standing, at the instant of the write.
        sql`select q.did, q.environment, ${currency}, 0, ${units} from agents q where q.did = ${did} and q.version = ${version} and q.status = 'ACTIVE'
            and ${principalStands(sql`q.principal_id`, now)}
            and ${sums("both")} + ${units} <= ${BASE_UNITS_MAX} and ${fits} and ${also}`,
      )
      .onConflictDoUpdate({
        target: [spendSums.did, spendSums.environment, spendSums.currency],
        set: { open: sql`${spendSums.open} + ${units}` },
      }),
  );
}

const providerStands = ({ providerDid, environment, network }: IntentRow, sellers: readonly Seller[]): SQL =>
  sql`${sql.join(
    sellers.map(
      (seller) => sql`exists (select 1 from agents r where r.did = ${seller.did} and r.version = ${seller.version}
          and r.status = 'ACTIVE' and ${principalStands(sql`r.principal_id`, seller.now)})`,
    ),
    sql` and `,
  )}
      and not exists (select 1 from escrows e where e.did = ${providerDid} and e.environment = ${environment}
          and e.network = ${network} and e.state = 'CONSTRAINED')`;

/** Bounds a provider's own intents for one consumer, whose window they hold (PAY-6). */
const withinProvidersShare = ({ providerDid, consumerDid, openedBy }: IntentRow, now: number): SQL =>
  openedBy === providerDid
    ? sql`${openedByProvider(providerDid, consumerDid, now)} < ${PROVIDER_INTENTS_MAX}`
    : sql`true`;

const openedByProvider = (providerDid: string, consumerDid: string, now: number): SQL<number> =>
  // Literal text, so that SQLite uses the partial index.
  sql<number>`(select count(*) from payment_intents i where i.provider_did = ${providerDid}
      and i.consumer_did = ${consumerDid} and i.status in ('OPEN', 'PAID') and i.spent_at is null and i.status = 'OPEN' and i.opened_by = ${providerDid}
      and i.expires_at > ${now - BLOCK_CLOCK_SKEW_MS} and (i.expires_at > ${now} or i.cancelled_at is not null))`;

/**
 * The number of open intents that the provider opened itself for the consumer. One that was cancelled counts for 30 seconds more, because its
 * hold does: nobody fills a window by opening and cancelling.
 */
export const countOpenedByProvider = (
  db: Database,
  providerDid: string,
  consumerDid: string,
  now: number,
): Read<number> =>
  read(
    db
      .select({ count: openedByProvider(providerDid, consumerDid, now).as("count") })
      .from(agents)
      .where(eq(agents.did, providerDid)),
    (rows) => rows[0]?.count ?? 0,
  );
