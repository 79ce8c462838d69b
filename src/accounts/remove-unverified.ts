// Removes accounts whose address was never verified (ACC-12), with all their rows, so that their address is free again.
import { BEFORE_FIRST_DUE } from "../core/due.ts";
import { DAY_MS, UNVERIFIED_DAYS } from "../core/limits.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { BulkJob } from "../jobs/job.ts";
import { countUnverified, selectUnverifiedIds } from "./store.ts";
import { deleteUnverified } from "./unverified-store.ts";

const SLICE = 100;

export const removeUnverified: BulkJob = {
  kind: "bulk",
  name: "remove_unverified_accounts",
  here: true,
  slices: 5,
  find: async ({ db, clock }) => {
    const by = clock.now() - UNVERIFIED_DAYS * DAY_MS;
    const { due } = await readBatch(db, { due: countUnverified(db, by, SLICE) });
    if (due.count === 0) return null;
    return {
      oldestDueAt: (due.oldest ?? by) + UNVERIFIED_DAYS * DAY_MS,
      run: async () => {
        const those = selectUnverifiedIds(by, SLICE);
        // The batch reads the ids again, so that it leaves out an account that was verified meanwhile.
        await commit(db, deleteUnverified(db, those));
        return { done: due.count, failed: [], next: due.count === SLICE ? BEFORE_FIRST_DUE : null };
      },
    };
  },
};
