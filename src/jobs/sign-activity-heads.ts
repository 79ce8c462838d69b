// Checks each activity log once a day: hashes entries whose message was lost, and signs the head (EVT-12, EVT-13).
import { BEFORE_FIRST_DUE } from "../core/due.ts";
import { readBatch } from "../db/batch.ts";
import { checkChain } from "../journal/activity-heads.ts";
import { findDueChains } from "../journal/chain-store.ts";
import type { EachJob } from "./job.ts";

export const signActivityHeads: EachJob = {
  kind: "each",
  name: "sign_activity_heads",
  // A log that is not hashed yet takes about forty statements (JOB-12).
  part: 10,
  find: async ({ db, clock }, after, limit) => {
    const { due } = await readBatch(db, { due: findDueChains(db, clock.now(), after ?? BEFORE_FIRST_DUE, limit) });
    return due;
  },
  record: checkChain,
};
