// Opens a new status list when the newest one is three quarters full (IDN-13): places are drawn at random, so some have to be free.
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
} from "./certificate-store.ts";

/** Counting reads a row for each taken place, so it runs hourly, and earlier when draws met taken places. */
const COUNTED_EVERY_MS = HOUR_MS;
const COUNTED_AT_MOST_EVERY_MS = 10 * SECOND_MS;

export const openStatusLists: BulkJob = {
  kind: "bulk",
  name: "open_status_lists",
  slices: 1,
  find: async (deps) => {
    const now = Date.now();
    const newest = await findCountable(deps, COUNTED_EVERY_MS, now);
    if (newest === null) return null;
    const { listId, countedAt } = newest;
    return {
      // A list that was never counted is counted in the minute that finds it.
      oldestDueAt: countedAt === 0 ? now : countedAt + COUNTED_EVERY_MS,
      run: async () => ({ done: await openWhenFull(deps, listId, now), failed: [], next: null }),
    };
  },
};

/** Counts after a draw that met taken places; null: it met nothing else. */
export async function watchCrowding(deps: Deps, place: DrawnPlace | null): Promise<void> {
  if (place !== null && !isCrowded(place)) return;
  const now = Date.now();
  const newest = await findCountable(deps, COUNTED_AT_MOST_EVERY_MS, now);
  if (newest) await openWhenFull(deps, newest.listId, now);
}

/** The newest list, unless it was counted within `countedEveryMs`. */
async function findCountable({ db }: Deps, countedEveryMs: number, now: number) {
  const { newest } = await readBatch(db, { newest: findNewestList(db) });
  return newest && now >= newest.countedAt + countedEveryMs ? newest : null;
}

async function openWhenFull({ db }: Deps, listId: number, now: number): Promise<number> {
  await commit(db, [noteCount(db, listId, now)]);
  const { count } = await readBatch(db, { count: countNewestList(db, now) });
  if (!count || count.taken < STATUS_LIST_FULL * STATUS_LIST_SIZE) return 0;
  await commit(db, [openList(db, count.listId + 1, now)]);
  return 1;
}
