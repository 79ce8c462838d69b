// Lists events after their commit, and deletes events that are older than 30 days, in slices (EVT-18, EVT-19).
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/due.ts";
import { HOUR_MS } from "../core/limits.ts";
import { retryConflicts } from "../core/retry.ts";
import { commit, readBatch, toWriteRead } from "../db/batch.ts";
import {
  findPrunableEvents,
  findUnlisted,
  markEventsListed,
  pruneEvents,
  recordAge,
} from "../journal/event-tending-store.ts";
import { computeOldestListed } from "../journal/event-views.ts";
import { LAG_SEEN_IN } from "../journal/outbox.ts";
import { findMark } from "../journal/outbox-store.ts";
import type { BulkJob } from "./job.ts";

const SLICE = 100;
const PRUNED = 500;

/** Lists new events, up to a number of slices. Slices that another run lists are skipped. Returns false if more may be left. */
export async function listNewEvents(deps: Deps, slices = Number.POSITIVE_INFINITY): Promise<boolean> {
  for (let slice = 0; slice < slices; slice++) if ((await listSlice(deps)) < SLICE) return true;
  return false;
}

const listSlice = ({ db }: Deps): Promise<number> =>
  retryConflicts(async () => {
    const { listed, fresh } = await readBatch(db, { listed: findMark(db, "listed"), fresh: findUnlisted(db, SLICE) });
    const last = fresh.at(-1);
    if (last) await commit(db, markEventsListed(db, listed?.seq ?? 0, last.seq));
    return fresh.length;
  });

export const listEventsJob: BulkJob = {
  kind: "bulk",
  name: "list_events",
  here: true,
  slices: 5,
  find: async (deps) => {
    const { first } = await readBatch(deps.db, { first: findUnlisted(deps.db, LAG_SEEN_IN) });
    if (first.length === 0) return null;
    return {
      oldestDueAt: Math.min(...first.map(({ occurredAt }) => occurredAt)),
      run: async () => {
        const done = await listSlice(deps);
        return { done, failed: [], next: done === SLICE ? BEFORE_FIRST_DUE : null };
      },
    };
  },
};

export const pruneEventsJob: BulkJob = {
  kind: "bulk",
  name: "prune_events",
  here: true,
  slices: 5,
  find: async ({ db, clock }) => {
    const now = clock.now();
    const before = computeOldestListed(now);
    const { old } = await readBatch(db, {
      noted: toWriteRead(recordAge(db, now, now - HOUR_MS / 2)),
      old: findPrunableEvents(db, before, PRUNED),
    });
    if (old.length === 0) return null;
    return {
      oldestDueAt: now,
      run: async () => {
        await commit(db, pruneEvents(db, old, before));
        return { done: old.length, failed: [], next: old.length === PRUNED ? BEFORE_FIRST_DUE : null };
      },
    };
  },
};
