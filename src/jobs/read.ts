// Lists the latest run of each job, for operators (JOB-6, JOB-15).
import type { OperatorCall } from "../call.ts";
import { computeLagSeconds, findClosure } from "../chain/availability.ts";
import { type Followed, findFollowedNetworks } from "../chain/availability-store.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { SECOND_MS } from "../core/limits.ts";
import type { JobRow } from "../db/tables/journal.ts";
import type { FollowedView, JobListView, JobView } from "./responses.ts";
import { findEventLag, listJobs } from "./store.ts";

export async function getJobs({ db, deps, read }: OperatorCall): Promise<JobListView> {
  const names = deps.config.networks.map(({ network }) => network);
  const { rows, followed, lag } = await read({
    rows: listJobs(db),
    followed: findFollowedNetworks(db, names),
    lag: findEventLag(db, deps.clock.now()),
  });
  const oldestAt = lag.oldestAt === null ? null : Math.min(lag.oldestAt, ...findOldestWaiting(rows));
  return {
    data: rows.map(toJobView),
    networks: followed.map((one) => toFollowedView(one, Date.now())),
    events: {
      waiting: lag.waiting,
      oldest_waiting_at: toIsoOrNull(oldestAt),
      lag_seconds: computeSecondsSince(oldestAt, deps.clock.now()),
      oldest_undelivered_at: toIsoOrNull(rows.find(({ name }) => name === DELIVERY_JOB)?.oldestDueAt ?? null),
    },
  };
}

const DELIVERY_JOB = "deliver_webhooks";

const EVENT_JOBS: ReadonlySet<string> = new Set(["hand_on_events", "fan_out_events"]);

/** The oldest waiting rows of running and failed jobs, which look at more than the first event, because a sandbox may date that one ahead. */
const findOldestWaiting = (rows: readonly JobRow[]): number[] =>
  rows
    .filter(({ name, finishedAt, failed }) => EVENT_JOBS.has(name) && (finishedAt === null || failed > 0))
    .flatMap(({ oldestDueAt }) => oldestDueAt ?? []);

const computeSecondsSince = (at: number | null, now: number): number =>
  at === null ? 0 : Math.max(0, Math.floor((now - at) / SECOND_MS));

const toFollowedView = (followed: Followed, now: number): FollowedView => ({
  network: followed.network,
  lag_seconds: computeLagSeconds(followed, now),
  head_block: followed.headBlock || null,
  booked_block: followed.bookedBlock,
  closed: findClosure(followed, now),
});

const toJobView = (row: JobRow): JobView => ({
  name: row.name,
  started_at: toIso(row.startedAt),
  finished_at: toIsoOrNull(row.finishedAt),
  lag_seconds: computeLateSeconds(row),
  found: row.found,
  done: row.done,
  failed: row.failed,
  pending: row.pending,
  last_error:
    row.lastError === null || row.lastErrorAt === null ? null : { at: toIso(row.lastErrorAt), message: row.lastError },
});

export const computeLateSeconds = ({ oldestDueAt, startedAt }: Pick<JobRow, "oldestDueAt" | "startedAt">): number =>
  oldestDueAt === null ? 0 : Math.max(0, Math.floor((startedAt - oldestDueAt) / SECOND_MS));
