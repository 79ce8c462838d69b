// Deletes ended sessions, mailed links, counts of mails and keys, and devices that were last seen too long ago (CRED-24). They no longer count;
// deleting them only frees space.
import { BEFORE_FIRST_DUE } from "../core/due.ts";
import { DAY_MS, ENDED_KEY_HOURS, HOUR_MS, KNOWN_DEVICE_DAYS } from "../core/limits.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { BulkJob } from "../jobs/job.ts";
import { countEndedKeys, deleteEndedKeys } from "./key-store.ts";
import { countEndedLinks, deleteEndedLinks } from "./link-store.ts";
import { countEndedCounts, deleteEndedCounts } from "./mail-count-store.ts";
import {
  countEndedSessions,
  countForgottenDevices,
  deleteEndedSessions,
  deleteForgottenDevices,
} from "./session-store.ts";

const SLICE = 200;
/** How long each is kept after its end: the key that a rotation ended may still replay it. */
const PRUNED_KINDS = [
  { count: countEndedSessions, remove: deleteEndedSessions, keptMs: 0 },
  { count: countEndedLinks, remove: deleteEndedLinks, keptMs: 0 },
  { count: countEndedCounts, remove: deleteEndedCounts, keptMs: 0 },
  { count: countEndedKeys, remove: deleteEndedKeys, keptMs: ENDED_KEY_HOURS * HOUR_MS },
  { count: countForgottenDevices, remove: deleteForgottenDevices, keptMs: KNOWN_DEVICE_DAYS * DAY_MS },
];

export const pruneCredentials: BulkJob = {
  kind: "bulk",
  name: "prune_account_credentials",
  here: true,
  slices: 5,
  find: async ({ db, clock }) => {
    const now = clock.now();
    const reads = PRUNED_KINDS.map(({ count, keptMs }) => count(db, now - keptMs, SLICE));
    const counts = Object.values(await readBatch(db, Object.fromEntries(reads.entries())));
    const done = counts.reduce((sum, { count }) => sum + count, 0);
    if (done === 0) return null;
    return {
      oldestDueAt: Math.min(...counts.map(({ oldest }, kind) => (oldest ?? now) + (PRUNED_KINDS[kind]?.keptMs ?? 0))),
      run: async () => {
        await commit(
          db,
          PRUNED_KINDS.map(({ remove, keptMs }) => remove(db, now - keptMs, SLICE)),
        );
        return { done, failed: [], next: counts.some(({ count }) => count === SLICE) ? BEFORE_FIRST_DUE : null };
      },
    };
  },
};
