// Store of the rows that fall due in one platform's sandbox, on its own clock (ACC-28). It has no index of its own, which every purchase would
// have to write: each read uses an index of the platform's lists, or a range that ends at the sandbox clock. Conditions of partial indexes are literal
// text, so that SQLite uses them.
import { type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/clock.ts";
import { CONFIRMATION_WINDOW_HOURS, DAY_MS, HOUR_MS } from "../core/limits.ts";
import { type Database, type Read, read, readAll, readOne } from "../db/batch.ts";
import { eachOf } from "../db/lists.ts";
import { buildAccountRanges } from "../db/parts.ts";
import { platforms } from "../db/tables/accounts.ts";
import { BLOCK_CLOCK_SKEW_MS, LATE_FACILITATION_MS, PAID_INTENT_MS } from "../intents/states.ts";
import { selectReadThrough } from "../intents/store.ts";
import { FARTHEST_NOTICE_DAYS } from "../principals/read.ts";

export type Sandbox = {
  readonly platformId: string;
  /** On the sandbox clock, in epoch milliseconds: now, and the instant up to which everything due is recorded. */
  readonly now: number;
  readonly since: number;
  /** How far that clock is ahead of the chains' time. */
  readonly ahead: number;
};

const selectDue = (db: Database, at: SQL, id: SQL, from: SQL, limit: number): Read<Due[]> =>
  readAll(
    db
      .select({ at: sql<number>`${at}`.as("at"), id: sql<string>`${id}`.as("id") })
      .from(from)
      .limit(limit),
  );

const WINDOW_MS = CONFIRMATION_WINDOW_HOURS * HOUR_MS;

/** Tasks that the platform's agents bought: a window begins with the settlement, by which an account's purchases are indexed. */
export const findDueTasksOf = (db: Database, { platformId, now, since }: Sandbox, limit: number): Read<Due[]> => {
  const bounds = sql`settled_at > ${since - WINDOW_MS} and settled_at <= ${now - WINDOW_MS}`;
  const bought = buildAccountRanges(
    sql`transactions`,
    { platformId, environment: "sandbox" },
    { role: "consumer" },
    bounds,
  ).map((range) => sql`select task_id from ${range}`);
  const from = sql`(${sql.join(bought, sql` union all `)}) x cross join tasks t on t.task_id = x.task_id
    and t.status = ${"open"} and t.confirm_by <= ${now}`;
  return selectDue(db, sql`t.confirm_by`, sql`t.task_id`, from, limit);
};

export const findDueDisputesOf = (db: Database, { platformId, now }: Sandbox, limit: number): Read<Due[]> =>
  selectDue(
    db,
    sql`due_at`,
    sql`dispute_id`,
    sql`(select due_at, dispute_id from disputes indexed by disputes_due_in_sandbox where due_at is not null
      and environment = 'sandbox' and consumer_platform_id = ${platformId} and due_at <= ${now}) ended`,
    limit,
  );

export const findEndedAttestationsOf = (db: Database, { platformId, now }: Sandbox, limit: number): Read<Due[]> =>
  selectDue(
    db,
    sql`attestation_expires_at`,
    sql`principal_id`,
    sql`(select attestation_expires_at, principal_id from principals where tenant = 0 and platform_id = ${platformId}
      and environment = 'sandbox' and status = 'ACTIVE' and attestation_expires_at <= ${now}) ended`,
    limit,
  );

/** A suspended principal gets its notices too (PRN-26). An attestation that has ended gets none. */
export const findDueNoticesOf = (db: Database, { platformId, now }: Sandbox, limit: number): Read<Due[]> =>
  selectDue(
    db,
    sql`expiry_notice_at`,
    sql`principal_id`,
    sql`(select expiry_notice_at, principal_id from principals indexed by principals_by_status where tenant = 0
      and platform_id = ${platformId} and environment = 'sandbox' and status in ('ACTIVE', 'SUSPENDED')
      and attestation_expires_at > ${now} and attestation_expires_at <= ${now + FARTHEST_NOTICE_DAYS * DAY_MS}
      and expiry_notice_at <= ${now}) noticed`,
    limit,
  );

/** Intents that have ended and cannot have been paid in time (PAY-21). The range also holds other platforms' intents while they are open. */
export const findDueIntentsOf = (
  db: Database,
  { platformId, now, since, ahead }: Sandbox,
  limit: number,
): Read<Due[]> =>
  selectDue(
    db,
    sql`expires_at`,
    sql`intent_id`,
    sql`(select expires_at, intent_id from payment_intents indexed by payment_intents_due where status = 'OPEN'
      and expires_at > ${since} and expires_at <= ${now}
      and environment = 'sandbox' and consumer_platform_id = ${platformId}
      and max(expires_at, coalesce(lost_until, 0)) <= ${selectReadThrough(sql`payment_intents.network`)} + ${ahead - BLOCK_CLOCK_SKEW_MS}) ended`,
    limit,
  );

/** Finds the networks with an open intent of the sandbox that ends by an instant of its clock: a fixed one, or one to which its offset is added. */
export const findEndingNetworks = (
  db: Database,
  platformId: string | SQL<string>,
  by: { readonly to: number } | { readonly plusOffset: number },
  networks: readonly string[],
): Read<string[]> => {
  const offset = sql`(select p.clock_offset_ms from platforms p where p.platform_id = ${platformId})`;
  const ending = sql`select 1 from payment_intents i indexed by payment_intents_due where i.status = 'OPEN'
    and i.expires_at <= ${"to" in by ? by.to : sql`${by.plusOffset} + ${offset}`} and i.environment = 'sandbox'
    and i.consumer_platform_id = ${platformId} and i.network = n.value`;
  // A refund made before the move has to be read before it too.
  const awaited = sql`select 1 from disputes d indexed by disputes_due_in_sandbox where d.due_at is not null
    and d.environment = 'sandbox' and d.consumer_platform_id = ${platformId}
    and d.due_at <= ${"to" in by ? by.to : sql`${by.plusOffset} + ${offset}`} and d.refund_from = 'provider' and d.network = n.value`;
  return read(
    db
      .select({ network: sql<string>`n.value`.as("network") })
      .from(sql`${eachOf(networks)} n`)
      .where(sql`exists (${ending}) or exists (${awaited})`),
    (rows: { network: string }[]) => rows.map(({ network }) => network),
  );
};

/** Intents that their own consumer left unpaid, and that no late payment can settle (TSK-11). The range also holds unrated intents of other clocks. */
export const findUnratedIntentsOf = (db: Database, { platformId, now, since }: Sandbox, limit: number): Read<Due[]> =>
  selectDue(
    db,
    sql`expires_at`,
    sql`intent_id`,
    sql`(select expires_at, intent_id from payment_intents indexed by payment_intents_unrated
      where status = 'ABANDONED' and abandon_rated = 0 and opened_by = consumer_did
      and expires_at > ${since - LATE_FACILITATION_MS - DAY_MS} and expires_at <= ${now - LATE_FACILITATION_MS}
      and environment = 'sandbox' and consumer_platform_id = ${platformId}) left_unpaid`,
    limit,
  );

/** Intents that were paid and not facilitated in 30 days (PAY-21): their holds have no end. One range for each followed network. */
export const findUnspentIntentsOf = (db: Database, { platformId, now, since }: Sandbox, limit: number): Read<Due[]> =>
  selectDue(
    db,
    sql`i.paid_at`,
    sql`i.intent_id`,
    sql`followers f cross join payment_intents i indexed by payment_intents_paid on f.network >= '' and i.network = f.network
      and i.status = 'PAID' and i.spent_at is null
      and i.paid_at > ${since - PAID_INTENT_MS - DAY_MS} and i.paid_at <= ${now - PAID_INTENT_MS}
      and i.environment = 'sandbox' and i.consumer_platform_id = ${platformId}`,
    limit,
  );

export type SandboxClock = {
  readonly clockOffsetMs: number;
  readonly clockMovedAt: number | null;
  readonly clockRecordedTo: number | null;
  readonly ratingsDated: boolean;
  /** The instant up to which all followed networks have been read; null if none is followed. */
  readonly readThrough: number | null;
};

export const findSandboxClock = (db: Database, platformId: string | SQL<string>): Read<SandboxClock | null> =>
  readOne(
    db
      .select({
        clockOffsetMs: platforms.clockOffsetMs,
        clockMovedAt: platforms.clockMovedAt,
        clockRecordedTo: platforms.clockRecordedTo,
        ratingsDated: platforms.ratingsDated,
        readThrough: sql<number | null>`(select min(read_through) from followers)`.as("read_through"),
      })
      .from(platforms)
      .where(sql`platform_id = ${platformId}`),
  );

export const findMovedSandboxes = (db: Database, after: string, limit: number): Read<string[]> =>
  read(
    db
      .select({ platformId: platforms.platformId })
      .from(platforms)
      .where(sql`clock_offset_ms > 0 and platform_id > ${after}`)
      .orderBy(sql`platform_id`)
      .limit(limit),
    (rows: { platformId: string }[]) => rows.map(({ platformId }) => platformId),
  );
