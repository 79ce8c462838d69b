// Deletes sessions, mailed links, counts of mails and keys that have ended, and devices that were last seen too long ago (CRED-24). None of them
// counts any more: only their room is taken back.
import { FIRST } from "../core/due.ts";
import { DAY_MS, ENDED_KEY_HOURS, HOUR_MS, KNOWN_DEVICE_DAYS } from "../core/limits.ts";
import { commit, readBatch } from "../db/batch.ts";
import { countAllEnded, deleteAllEnded } from "../db/ended.ts";
import type { BulkJob } from "../jobs/job.ts";
import { ENDED_KEYS } from "./key-store.ts";
import { ENDED_LINKS } from "./link-store.ts";
import { ENDED_MAIL_COUNTS } from "./mail-count-store.ts";
import { ENDED_SESSIONS, FORGOTTEN_DEVICES } from "./session-store.ts";

const SLICE = 200;
/** How long each is kept after its end: a rotation is replayed by the key that it ended. */
const KINDS = [
  { ending: ENDED_SESSIONS, keptMs: 0 },
  { ending: ENDED_LINKS, keptMs: 0 },
  { ending: ENDED_MAIL_COUNTS, keptMs: 0 },
  { ending: ENDED_KEYS, keptMs: ENDED_KEY_HOURS * HOUR_MS },
  { ending: FORGOTTEN_DEVICES, keptMs: KNOWN_DEVICE_DAYS * DAY_MS },
];

export const pruneCredentials: BulkJob = {
  kind: "bulk",
  name: "prune_account_credentials",
  slices: 5,
  find: async ({ db, clock }) => {
    const now = clock.now();
    const { ended } = await readBatch(db, { ended: countAllEnded(db, KINDS, now, SLICE) });
    if (ended.count === 0) return null;
    return {
      oldestDueAt: ended.oldest ?? now,
      run: async () => {
        await commit(db, deleteAllEnded(db, KINDS, now, SLICE));
        return { done: ended.count, failed: [], next: ended.count >= SLICE ? FIRST : null };
      },
    };
  },
};
