// Erases the personal data of an account, DOCUMENT_RETENTION_YEARS after its closing (ACC-23): its documents' files and names, its profile, and
// the events that repeat the profile. The company's name and country stay, because the settled history shows them, and so does the log. Also
// deletes ended credentials (CRED-24).
import { commitAll } from "../commit.ts";
import type { Deps, Env } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/clock.ts";
import { DAY_MS, ENDED_KEY_HOURS, HOUR_MS, KNOWN_DEVICE_DAYS, RETENTION_YEAR_DAYS } from "../core/limits.ts";
import { memoizeBy } from "../core/retry.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { BulkJob, EachJob, Recorded } from "../jobs/job.ts";
import { deleteEvents, findEventsOf } from "../journal/log-store.ts";
import {
  countEndedCounts,
  countEndedLinks,
  deleteEndedCounts,
  deleteEndedLinks,
  deleteLinks,
  deletePassword,
} from "./credential-store.ts";
import { eraseFileNames } from "./document-store.ts";
import { deleteFiles, FILES_SLICE, listFiles } from "./documents.ts";
import { countEndedKeys, deleteEndedKeys } from "./key-store.ts";
import {
  countEndedSessions,
  countForgottenDevices,
  deleteDevices,
  deleteEndedSessions,
  deleteForgottenDevices,
  deleteSessions,
} from "./session-store.ts";
import { findAccountsToErase, findPlatform, updatePlatform } from "./store.ts";

const EVENTS_SLICE = 1_000;

export const retentionYears = memoizeBy((env: Env): number => {
  const years = Number(env.DOCUMENT_RETENTION_YEARS);
  if (!Number.isSafeInteger(years) || years < 1) throw new Error("DOCUMENT_RETENTION_YEARS must be a number of years");
  return years;
});

export const computeRetentionMs = (env: Env): number => retentionYears(env) * RETENTION_YEAR_DAYS * DAY_MS;

export const eraseClosedAccounts: EachJob = {
  kind: "each",
  name: "erase_closed_accounts",
  // An account is due from the end of its retention.
  find: async ({ db, env, clock }, after, limit) => {
    const kept = computeRetentionMs(env);
    const closed = after === null ? BEFORE_FIRST_DUE : { at: after.at - kept, id: after.id };
    const { due } = await readBatch(db, { due: findAccountsToErase(db, clock.now() - kept, closed, limit) });
    return due.map(({ at, id }) => ({ at: at + kept, id }));
  },
  record: eraseAccount,
};

/** Deletes one slice of files at a time; when no file is left, one batch erases the rest. */
async function eraseAccount(deps: Deps, platformId: string): Promise<Recorded> {
  const { db, env, clock, slices } = deps;
  const now = clock.now();
  const { platform, events } = await readBatch(db, {
    platform: findPlatform(db, platformId),
    events: findEventsOf(db, platformId, EVENTS_SLICE),
  });
  if (platform?.status !== "CLOSED" || platform.erasedAt !== null || platform.closedAt === null) return false;
  if (platform.closedAt + computeRetentionMs(env) > now) return false;
  const { files, more } = await listFiles(env, { platformId }, slices?.files ?? FILES_SLICE);
  await deleteFiles(env, files);
  if (more) return "more";
  // An event shows its resource as it was, including the profile.
  if (events.length === EVENTS_SLICE) {
    await commitAll(deps, [deleteEvents(db, events)]);
    return "more";
  }
  await commitAll(deps, [
    ...updatePlatform(db, platform, { ...NOTHING_PERSONAL, erasedAt: now }, now),
    eraseFileNames(db, platformId),
    deleteEvents(db, events),
    deletePassword(db, platformId),
    deleteSessions(db, platformId),
    deleteDevices(db, platformId),
    deleteLinks(db, platformId),
  ]);
  return true;
}

const NOTHING_PERSONAL = {
  email: "",
  emailFolded: "",
  tradingName: null,
  adminContactEmail: null,
  pendingContactEmail: null,
  pendingProfile: null,
  registrationNumber: null,
  registeredAddress: null,
  website: null,
  decisionReason: null,
  suspensionReason: null,
  documents: {},
  reviewed: null,
} as const;

// ---- Ended credentials (CRED-24) -----------------------------------------------------------------------------------------

const PRUNED_SLICE = 200;
/** How long each is kept after its end: the key that a rotation ended may still replay it. */
const PRUNED_KINDS = [
  { count: countEndedSessions, remove: deleteEndedSessions, keptMs: 0 },
  { count: countEndedLinks, remove: deleteEndedLinks, keptMs: 0 },
  { count: countEndedCounts, remove: deleteEndedCounts, keptMs: 0 },
  { count: countEndedKeys, remove: deleteEndedKeys, keptMs: ENDED_KEY_HOURS * HOUR_MS },
  { count: countForgottenDevices, remove: deleteForgottenDevices, keptMs: KNOWN_DEVICE_DAYS * DAY_MS },
];

/** They no longer count; deleting them only frees space. */
export const pruneCredentials: BulkJob = {
  kind: "bulk",
  name: "prune_account_credentials",
  here: true,
  slices: 5,
  find: async ({ db, clock }) => {
    const now = clock.now();
    const reads = PRUNED_KINDS.map(({ count, keptMs }) => count(db, now - keptMs, PRUNED_SLICE));
    const counts = Object.values(await readBatch(db, Object.fromEntries(reads.entries())));
    const done = counts.reduce((sum, { count }) => sum + count, 0);
    if (done === 0) return null;
    return {
      oldestDueAt: Math.min(...counts.map(({ oldest }, kind) => (oldest ?? now) + (PRUNED_KINDS[kind]?.keptMs ?? 0))),
      run: async () => {
        await commit(
          db,
          PRUNED_KINDS.map(({ remove, keptMs }) => remove(db, now - keptMs, PRUNED_SLICE)),
        );
        return { done, failed: [], next: counts.some(({ count }) => count === PRUNED_SLICE) ? BEFORE_FIRST_DUE : null };
      },
    };
  },
};
