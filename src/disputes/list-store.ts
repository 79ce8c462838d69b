// Store of the lists of disputes (DSP-9): an agent's, those of all agents of an account, and all of them for operators. Status filters compare the
// status on the clock that rules each dispute.
import { and, type SQL, sql } from "drizzle-orm";
import type { AskedRows, FoundRows, Position } from "../core/page.ts";
import type { DisputeStatus, Environment } from "../core/vocabulary.ts";
import type { Database, Read } from "../db/batch.ts";
import { isBelow, type Ranges, readRanged, selectBareColumns } from "../db/pages.ts";
import { type AccountFilter, buildAccountRanges, buildAgentRanges } from "../db/parts.ts";
import type { Tenant } from "../db/statement.ts";
import { type DisputeRow, disputes } from "../db/tables/disputes.ts";
import { selectPaidOut } from "./store.ts";

export type ListedDispute = DisputeRow & { readonly clockOffsetMs: number };

export const toDisputePosition = ({ filedAt, disputeId }: ListedDispute): Position => ({ at: filedAt, id: disputeId });

export type DisputeFilter = AccountFilter & {
  readonly status?: DisputeStatus | undefined;
  /** Epoch milliseconds: `since` is included, `until` is not. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
};

const [AT, ID] = [sql`filed_at`, sql`dispute_id`];
const LISTED_COLUMNS = selectBareColumns(disputes);
/** Production has no offset: its clock cannot be moved. */
const OFFSET = sql<number>`case when environment = 'sandbox' then
  coalesce((select p.clock_offset_ms from platforms p where p.platform_id = listed.consumer_platform_id), 0) else 0 end`;

const toFilingBounds = ({ since, until }: DisputeFilter, after: Position | null): SQL | undefined => {
  const by = until === undefined ? undefined : until - 1;
  return and(since === undefined ? undefined : sql`${AT} >= ${since}`, isBelow(AT, ID, after, by));
};

const SHOWN_COLUMNS = {
  ...LISTED_COLUMNS,
  paidOut: selectPaidOut("listed"),
  clockOffsetMs: sql<number>`${OFFSET}`.as("clock_offset_ms"),
};

type FoundDisputes = Read<FoundRows<ListedDispute>>;
const listDisputes = (db: Database, ranges: Ranges, fits: SQL | undefined, limit: number): FoundDisputes =>
  readRanged(db, { ranges, shown: SHOWN_COLUMNS, fits }, limit);

const toFilingRanges = (from: readonly SQL[]): Ranges => ({
  columns: LISTED_COLUMNS,
  from,
  order: sql`filed_at desc, dispute_id desc`,
});

/** From the end of the parties' days a dispute is in arbitration, whether or not a job has recorded it (DSP-7). `now`: real time. */
function hasEffectiveStatus(status: DisputeStatus | undefined, now: number): SQL | undefined {
  if (status === undefined) return undefined;
  const over = sql`answers_until <= ${now} + ${OFFSET}`;
  if (status === "pre_arbitration") return sql`(status = 'pre_arbitration' and not (${over}))`;
  if (status === "arbitration") return sql`(status = 'arbitration' or (status = 'pre_arbitration' and ${over}))`;
  return sql`status = ${status}`;
}

export const listAccountDisputes = (
  db: Database,
  tenant: Tenant,
  { status, did, role, ...between }: DisputeFilter,
  now: number,
  page: AskedRows,
): FoundDisputes => {
  const from = buildAccountRanges(sql`disputes`, tenant, { did, role }, toFilingBounds(between, page.after));
  return listDisputes(db, toFilingRanges(from), hasEffectiveStatus(status, now), page.limit);
};

/** Lists an agent's disputes in its present environment. */
export const listOwnDisputes = (
  db: Database,
  did: string,
  { status, role, ...between }: DisputeFilter,
  now: number,
  page: AskedRows,
): FoundDisputes => {
  const environment = sql<Environment>`(select a.environment from agents a where a.did = ${did})`;
  const sides = role === undefined ? (["provider", "consumer"] as const) : [role];
  const from = buildAgentRanges({ table: sql`disputes`, environment }, did, sides, toFilingBounds(between, page.after));
  return listDisputes(db, toFilingRanges(from), hasEffectiveStatus(status, now), page.limit);
};

const AFTER_ALL_IDS = "dsp`";

type OperatorDisputeFilter = {
  readonly status?: DisputeStatus | undefined;
  readonly platformId?: string | undefined;
  readonly environment?: Environment | undefined;
};

/** Lists newest first: by id, which carries the time of filing, or, for one account in one environment, by its indexed ranges. */
export const listAllDisputes = (
  db: Database,
  asked: OperatorDisputeFilter,
  now: number,
  page: AskedRows,
): FoundDisputes => {
  const { status, platformId, environment } = asked;
  const ranged = platformId !== undefined && environment !== undefined;
  const before = sql`dispute_id < ${page.after?.id ?? AFTER_ALL_IDS}`;
  const from = ranged
    ? buildAccountRanges(sql`disputes`, { platformId, environment }, {}, isBelow(AT, ID, page.after))
    : [sql`disputes where ${before}`];
  const order = ranged ? sql`filed_at desc, dispute_id desc` : sql`dispute_id desc`;
  const fits = and(
    hasEffectiveStatus(status, now),
    environment === undefined || ranged ? undefined : sql`environment = ${environment}`,
    platformId === undefined || ranged ? undefined : sql`${platformId} in (provider_platform_id, consumer_platform_id)`,
  );
  return listDisputes(db, { columns: LISTED_COLUMNS, from, order }, fits, page.limit);
};
