// Deletes outcomes of Idempotency-Keys when their window has ended (IDM-2).
import { commit, readBatch } from "../db/batch.ts";
import { countOutcomes, pruneOutcomes } from "../db/outcomes.ts";
import type { BulkJob } from "./job.ts";

const SLICE = 500;

export const pruneIdempotencyOutcomes: BulkJob = {
  kind: "bulk",
  name: "prune_idempotency_outcomes",
  run: async ({ db, clock }) => {
    const now = clock.now();
    const { due } = await readBatch(db, { due: countOutcomes(db, now, SLICE) });
    if (due > 0) await commit(db, [pruneOutcomes(db, now, SLICE)]);
    return { done: due, more: due === SLICE };
  },
};
