// Deletes outcomes of Idempotency-Keys when their window has ended (IDM-2).
import { BEFORE_FIRST_DUE } from "../core/due.ts";
import { commit, readBatch } from "../db/batch.ts";
import { countOutcomes, pruneOutcomes } from "../db/outcomes.ts";
import type { BulkJob } from "./job.ts";

const SLICE = 500;

export const pruneIdempotencyOutcomes: BulkJob = {
  kind: "bulk",
  name: "prune_idempotency_outcomes",
  here: true,
  slices: 5,
  find: async ({ db, clock }) => {
    const now = clock.now();
    const { ended } = await readBatch(db, { ended: countOutcomes(db, now, SLICE) });
    if (ended === null) return null;
    const { count, oldest } = ended;
    return {
      oldestDueAt: oldest,
      run: async () => {
        await commit(db, [pruneOutcomes(db, now, SLICE)]);
        return { done: count, failed: [], next: count === SLICE ? BEFORE_FIRST_DUE : null };
      },
    };
  },
};
