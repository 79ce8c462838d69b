// Each minute's sweep of the sandboxes whose clock was moved (ACC-28), because the minute's jobs use real time.
import { recordRatingsDated, recordSandboxProgress } from "../accounts/store.ts";
import { dateRatings } from "../agents/store.ts";
import type { Deps } from "../context.ts";
import { measureAhead } from "../core/clock.ts";
import { HOUR_MS, MINUTE_MS } from "../core/limits.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { EachJob } from "../jobs/job.ts";
import { findMovedSandboxes, findSandboxClock, type SandboxClock } from "./due-store.ts";
import { recordDue } from "./record-due.ts";

export const sweepSandboxes: EachJob = {
  kind: "each",
  name: "sweep_sandboxes",
  find: async ({ db, clock }, after, limit) => {
    const now = clock.now();
    const { moved } = await readBatch(db, { moved: findMovedSandboxes(db, after?.id ?? "", limit) });
    return moved.map((id) => ({ at: now, id }));
  },
  record: sweepSandbox,
};

async function sweepSandbox(deps: Deps, platformId: string): Promise<boolean> {
  const { db, clock } = deps;
  const now = clock.now();
  const { known } = await readBatch(db, { known: findSandboxClock(db, platformId) });
  if (!known || known.clockOffsetMs === 0) return false;
  const { clockOffsetMs: offset, clockRecordedTo } = known;
  const ahead = measureAhead(clock) + offset;
  const since = clockRecordedTo ?? now;
  // Done once: afterwards the sandbox's ratings are found by its own clock (TSK-23). A sandbox may have many, so no call waits for it.
  if (!known.ratingsDated) await commit(db, [dateRatings(db, platformId), recordRatingsDated(db, platformId)]);
  const left = await recordDue(deps, { platformId, now: now + offset, since, ahead });
  const reached = computeRecordableTo(known, now, ahead);
  if (left === 0 && reached !== null && reached >= since + HOUR_MS) {
    await commit(db, [recordSandboxProgress(db, platformId, offset, reached)]);
  }
  return true;
}

/**
 * The instant up to which nothing more can fall due: calls that began earlier have been answered, and rows that wait for a chain to be read are due
 * later. Null in the minute after a move.
 */
function computeRecordableTo(
  { clockOffsetMs, clockMovedAt, readThrough }: SandboxClock,
  now: number,
  ahead: number,
): number | null {
  if (clockMovedAt !== null && now < clockMovedAt + MINUTE_MS) return null;
  return (
    Math.min(now + clockOffsetMs, readThrough === null ? Number.POSITIVE_INFINITY : readThrough + ahead) - MINUTE_MS
  );
}
