// Opens a new status list when the newest one is three quarters full (IDN-13): places are drawn at random, so some have to be free. A job
// counts the newest list once an hour; meanwhile, a call that draws taken places checks a sample of constant size.
import type { Deps } from "../context.ts";
import { HOUR_MS, SECOND_MS, STATUS_LIST_FULL, STATUS_LIST_SIZE } from "../core/limits.ts";
import { memoizeBy } from "../core/retry.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { BulkJob } from "../jobs/job.ts";
import {
  countNewestList,
  type DrawnPlace,
  findNewestList,
  isCrowded,
  openList,
  PLACES_SAMPLED,
  recordListCount,
  sampleNewestList,
} from "./certificate-store.ts";

/** Counting reads one row for each taken place. */
const COUNTED_EVERY_MS = HOUR_MS;
const SAMPLED_AT_MOST_EVERY_MS = 10 * SECOND_MS;
/** A sample may err, so this share more of it has to be taken. */
const SAMPLING_ERROR = 0.05;

export const openStatusLists: BulkJob = {
  kind: "bulk",
  name: "open_status_lists",
  here: true,
  slices: 1,
  find: async (deps) => {
    const now = Date.now();
    const { newest } = await readBatch(deps.db, { newest: findNewestList(deps.db) });
    if (!newest || now < newest.countedAt + COUNTED_EVERY_MS) return null;
    const { listId, countedAt } = newest;
    return {
      // A list that was never counted is counted in the minute in which it is found.
      oldestDueAt: countedAt === 0 ? now : countedAt + COUNTED_EVERY_MS,
      run: async () => ({ done: await openListWhenFull(deps, listId, now), failed: [], next: null }),
    };
  },
};

async function openListWhenFull({ db }: Deps, listId: number, now: number): Promise<number> {
  await commit(db, [recordListCount(db, listId, now)]);
  const { count } = await readBatch(db, { count: countNewestList(db, now) });
  if (!count || count.taken < STATUS_LIST_FULL * STATUS_LIST_SIZE) return 0;
  await commit(db, [openList(db, count.listId + 1, now)]);
  return 1;
}

/** When this isolate last sampled each list. */
const sampledAt = memoizeBy((_env: Deps["env"]) => new Map<number, number>());

/** Called after a draw. Opens the next list if the draw and a sample say so; `place` null: all drawn places were taken. */
export async function watchCrowding({ db, env }: Deps, place: DrawnPlace | null): Promise<void> {
  if (place !== null && !isCrowded(place)) return;
  const now = Date.now();
  const sampled = sampledAt(env);
  if (place !== null && now < (sampled.get(place.listId) ?? 0) + SAMPLED_AT_MOST_EVERY_MS) return;
  const { sample } = await readBatch(db, { sample: sampleNewestList(db) });
  if (!sample) return;
  const { listId, taken } = sample;
  sampled.set(listId, now);
  if (taken >= (STATUS_LIST_FULL + SAMPLING_ERROR) * PLACES_SAMPLED) await commit(db, [openList(db, listId + 1, now)]);
}
