// A new status list begins when the newest one is three quarters full: places are drawn blindly, and most of them have to be free.
import type { Deps } from "../context.ts";
import { HOUR_MS, SECOND_MS, STATUS_LIST_FULL, STATUS_LIST_SIZE } from "../core/limits.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { BulkJob } from "../jobs/job.ts";
import {
  countNewestList,
  type DrawnPlace,
  findNewestList,
  isCrowded,
  noteCount,
  openList,
} from "./status-list-store.ts";

/** Counting reads a row for each place that is taken, so it is done now and then, and when draws say that it is time. */
const COUNTED_EVERY_MS = HOUR_MS;
const COUNTED_AT_MOST_EVERY_MS = 10 * SECOND_MS;

export const openStatusLists: BulkJob = {
  kind: "bulk",
  name: "open_status_lists",
  run: async (deps) => ({ done: await openWhenFull(deps, COUNTED_EVERY_MS), more: false }),
};

/** After a draw that found places taken, for whoever works after the answer. */
export async function watchCrowding(deps: Deps, place: DrawnPlace): Promise<void> {
  if (isCrowded(place)) await openWhenFull(deps, COUNTED_AT_MOST_EVERY_MS);
}

async function openWhenFull({ db }: Deps, countedEveryMs: number): Promise<number> {
  const now = Date.now();
  const { newest } = await readBatch(db, { newest: findNewestList(db) });
  if (!newest || now < newest.countedAt + countedEveryMs) return 0;
  await commit(db, [noteCount(db, newest.listId, now)]);
  const { count } = await readBatch(db, { count: countNewestList(db, now) });
  if (!count || count.taken < STATUS_LIST_FULL * STATUS_LIST_SIZE) return 0;
  await commit(db, [openList(db, count.listId + 1, now)]);
  return 1;
}
