// Store of spending in each currency (HTTP-6): sums, the ledger of running totals, and the holds of open intents. A window is the difference of two
// running totals, so its cost does not grow with the history (PAY-10). A hold ends at its instant, whether or not a job has recorded it (PAY-11).
import { and, eq, getTableColumns, type Placeholder, type SQL, sql } from "drizzle-orm";
import { DAY_MS } from "../core/limits.ts";
import { type Database, type Read, read } from "../db/batch.ts";
import type { Timed } from "../db/clock.ts";
import { compileOnce, type RowOf } from "../db/compiled.ts";
import { eachOf } from "../db/lists.ts";
import { type AgentRow, agents } from "../db/tables/agents.ts";
import type { IntentRow } from "../db/tables/money.ts";
import { type PrincipalRow, principals } from "../db/tables/principals.ts";
import { spendSums } from "../db/tables/spending.ts";
import { BLOCK_CLOCK_SKEW_MS } from "../intents/states.ts";
import type { SpendSums } from "./spend-policy.ts";

export type SpenderPrincipal = Pick<PrincipalRow, "status" | "attestationExpiresAt" | "accountStopped" | "country">;
export type SpenderRow = Timed<{ agent: AgentRow; principal: SpenderPrincipal; spend: SpendSums }>;

/** An agent's spending in one environment and currency: sandbox spending does not count in production (AGT-34), nor one currency in another. */
export type Purse = { readonly did: SQL; readonly environment: SQL; readonly currency: SQL };
export const matchesPurse = (alias: string, { did, environment, currency }: Purse): SQL =>
  sql`${sql.raw(alias)}.did = ${did} and ${sql.raw(alias)}.environment = ${environment} and ${sql.raw(alias)}.currency = ${currency}`;

export type SpentIn = Pick<IntentRow, "environment" | "currency">;

export const toPurse = (did: string, { environment, currency }: SpentIn): Purse => ({
  did: sql`${did}`,
  environment: sql`${environment}`,
  currency: sql`${currency}`,
});

/** The row of sums in which an intent of the agent counts. */
export const isPurseRow = (did: string, { environment, currency }: SpentIn): SQL | undefined =>
  and(eq(spendSums.did, did), eq(spendSums.environment, environment), eq(spendSums.currency, currency));

/** The running total when a window began. Reads one row, however long the ledger is. */
export const selectSettledBefore = (purse: Purse, windowDays: SQL, now: number | Placeholder): SQL<number> =>
  sql<number>`coalesce((select l.total from spend_ledger l where ${matchesPurse("l", purse)}
      and l.at <= ${now} - ${DAY_MS} * ${windowDays} order by l.at desc limit 1), 0)`;

/** The instant of a call, and how far its clock is ahead of the chains' clock, in milliseconds. */
export type SpendClock = { readonly now: number; readonly ahead: number };
type CompiledClock = { readonly [part in keyof SpendClock]: Placeholder };

/**
 * Holds that have ended: the network was read so far that no payment in time can be missing (PAY-21). The query joins networks first, so that each is
 * one range of the index of holds.
 */
export const selectEndedHolds = (purse: Purse, { ahead }: Pick<SpendClock | CompiledClock, "ahead">): SQL =>
  sql`followers f cross join spend_holds h on ${matchesPurse("h", purse)} and h.network = f.network
      and h.expires_at <= f.read_through + ${ahead} - ${BLOCK_CLOCK_SKEW_MS}`;

export const sumExpiredHolds = (purse: Purse, clock: SpendClock | CompiledClock): SQL<number> =>
  sql<number>`coalesce((select sum(h.amount) from ${selectEndedHolds(purse, clock)}), 0)`;

/** Finds the consumer and its delegators, nearest first, with live scopes, their principals' standing and their windows in a currency. */
export const findSpenders = (
  db: Database,
  consumerDid: string,
  currency: string,
  { now, ahead }: SpendClock,
): Read<SpenderRow[]> =>
  read(selectSpenders(db, { consumerDid, currency, now, ahead }), (rows: RowOf<typeof selectSpenders>[]) =>
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

const selectSpenders = compileOnce((db) => {
  const { placeholder } = sql;
  const [consumerDid, currency] = [placeholder("consumerDid"), placeholder("currency")];
  const clock = { now: placeholder("now"), ahead: placeholder("ahead") };
  const purse = { did: sql`${agents.did}`, environment: sql`${agents.environment}`, currency: sql`${currency}` };
  const windowDays = sql`coalesce(json_extract(${agents.spendingLimit}, '$.window_days'), 0)`;
  return db
    .select({
      agent: getTableColumns(agents),
      status: sql<SpenderPrincipal["status"]>`${principals.status}`.as("p_status"),
      attestationExpiresAt: sql<number>`${principals.attestationExpiresAt}`.as("p_attestation"),
      accountStopped: sql<SpenderPrincipal["accountStopped"]>`${principals.accountStopped}`.as("p_account_stopped"),
      country: sql<string>`${principals.country}`.as("p_country"),
      settled: sql<number>`coalesce(${spendSums.settled}, 0)`.as("settled"),
      open: sql<number>`coalesce(${spendSums.open}, 0)`.as("open"),
      settledBefore: selectSettledBefore(purse, windowDays, clock.now).as("settled_before"),
      expired: sumExpiredHolds(purse, clock).as("expired"),
      depth: sql<number>`chain.depth`.as("depth"),
      // In the sandbox the clock of the consumer's platform rules (ACC-9).
      clockOffsetMs: sql<number>`case when chain.depth = 0 and ${agents.environment} = 'sandbox'
            then (select p.clock_offset_ms from platforms p where p.platform_id = ${agents.platformId}) else 0 end`.as(
        "clock_offset_ms",
      ),
    })
    .from(agents)
    .innerJoin(
      sql`(select ${consumerDid} as did, 0 as depth
             union all select value, key + 1 from ${eachOf(sql`(select delegators from agents where did = ${consumerDid})`)}) as chain`,
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
    );
});
