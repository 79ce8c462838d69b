// Store of the list of an account's tasks (TSK-19): scans the settlements of the account's agents and joins each one's task. A task is shown in its
// state on the clock of its consumer's platform (ACC-9).
import { and, type SQL, sql } from "drizzle-orm";
import type { AskedRows, FoundRows } from "../core/page.ts";
import type { TaskStatus } from "../core/vocabulary.ts";
import { type AccountFilter, buildAccountRanges } from "../db/account-ranges.ts";
import type { Database, Read } from "../db/batch.ts";
import { isBelow, readRanged, selectBareColumns } from "../db/pages.ts";
import { type TaskRow, tasks, transactions } from "../db/tables/money.ts";
import type { Tenant } from "../db/tenant.ts";

/** A row of the scan. The last row of a scan may have no task. */
export type ListedTask = TaskRow & {
  readonly settledAt: number;
  readonly settlementId: string;
  readonly clockOffsetMs: number;
};

export type AccountTaskFilter = AccountFilter & {
  readonly status?: TaskStatus | undefined;
  /** Epoch milliseconds: `since` is inclusive, `until` exclusive. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
};

const [AT, ID] = [sql`settled_at`, sql`transaction_id`];
const settlementColumns = selectBareColumns(transactions);
const RANGE_COLUMNS = {
  transactionId: settlementColumns.transactionId,
  taskId: settlementColumns.taskId,
  environment: settlementColumns.environment,
  consumerPlatformId: settlementColumns.consumerPlatformId,
  settledAt: settlementColumns.settledAt,
};
/** Only a sandbox clock can be moved. */
const OFFSET = sql<number>`case when listed.environment = 'sandbox' then
  coalesce((select p.clock_offset_ms from platforms p where p.platform_id = listed.consumer_platform_id), 0) else 0 end`;
const SHOWN_COLUMNS = {
  ...selectBareColumns(tasks, "t"),
  settledAt: sql<number>`listed.settled_at`.as("listed_at"),
  settlementId: sql<string>`listed.transaction_id`.as("listed_id"),
  clockOffsetMs: OFFSET.as("clock_offset_ms"),
};

/** Lists the newest settlements first. `now`: real time. A page by status scans at most as many settlements as any other page (db/pages.ts). */
export const listAccountTasks = (
  db: Database,
  tenant: Tenant,
  { status, since, until, ...whose }: AccountTaskFilter,
  now: number,
  page: AskedRows,
): Read<FoundRows<ListedTask>> => {
  const by = until === undefined ? undefined : until - 1;
  const bounds = and(since === undefined ? undefined : sql`${AT} >= ${since}`, isBelow(AT, ID, page.after, by));
  const from = buildAccountRanges(sql`transactions`, tenant, whose, bounds);
  const ranges = { columns: RANGE_COLUMNS, from, order: sql`settled_at desc, transaction_id desc` };
  const fits = and(sql`t.task_id is not null`, status === undefined ? undefined : hasEffectiveStatus(status, now));
  const joined = sql`left join tasks t on t.task_id = listed.task_id`;
  return readRanged(db, { ranges, shown: SHOWN_COLUMNS, joined, fits }, page.limit);
};

/** Selects tasks by effective status: an open task past its window counts as auto-confirmed, whether or not a job has recorded it (TSK-3). */
function hasEffectiveStatus(status: TaskStatus, now: number): SQL {
  const over = sql`t.confirm_by <= ${now} + ${OFFSET}`;
  if (status === "open") return sql`(t.status = 'open' and not (${over}))`;
  if (status === "auto_confirmed") return sql`(t.status = 'auto_confirmed' or (t.status = 'open' and ${over}))`;
  return sql`t.status = ${status}`;
}
