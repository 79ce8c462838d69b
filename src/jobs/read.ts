// Lists the latest run of each job, for operators (JOB-6).
import type { OperatorCall } from "../call.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { SECOND_MS } from "../core/limits.ts";
import type { JobRow } from "../db/tables/journal.ts";
import type { JobView } from "./schema.ts";
import { listJobs } from "./store.ts";

export async function getJobs(call: OperatorCall): Promise<{ data: JobView[] }> {
  const { rows } = await call.read({ rows: listJobs(call.db) });
  return { data: rows.map(toView) };
}

const toView = (row: JobRow): JobView => ({
  name: row.name,
  started_at: toIso(row.startedAt),
  finished_at: toIsoOrNull(row.finishedAt),
  lag_seconds: lagSeconds(row),
  found: row.found,
  done: row.done,
  failed: row.failed,
  pending: row.pending,
  last_error:
    row.lastError === null || row.lastErrorAt === null ? null : { at: toIso(row.lastErrorAt), message: row.lastError },
});

/** How long the oldest found row had been due when the run began. */
export const lagSeconds = ({ oldestDueAt, startedAt }: Pick<JobRow, "oldestDueAt" | "startedAt">): number =>
  oldestDueAt === null ? 0 : Math.max(0, Math.floor((startedAt - oldestDueAt) / SECOND_MS));
