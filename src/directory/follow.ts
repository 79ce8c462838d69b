// Runs after the commit of a directory change, apart from it: writes the terms by which entries are found (DIR-9), and the running hash of the
// feed (DIR-13).
import type { Deps } from "../context.ts";
import { Conflict } from "../core/retry.ts";
import type { Environment } from "../core/vocabulary.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { ChangeRow, EntryRow } from "../db/tables/directory.ts";
import { findUnindexed, markIndexed } from "../journal/directory-store.ts";
import { hashLogOrYield, type RunningLog } from "../journal/running-log.ts";
import { toChangeView } from "./list.ts";
import { addTerms, beginFeed, dropTerms, findFeed, findUnhashedChanges, moveFeed, recordHashes } from "./store.ts";
import { listEntryTerms } from "./terms.ts";

export async function followDirectory(deps: Deps, environment: Environment): Promise<void> {
  await hashLogOrYield(deps, buildFeedLog(environment));
  await indexEntries(deps, environment);
}

// ---- The running hash ----------------------------------------------------------------------------------------------------

export const buildFeedLog = (environment: Environment): RunningLog<ChangeRow> => ({
  reached: (db) => findFeed(db, environment),
  unhashed: (db, limit) => findUnhashedChanges(db, environment, limit),
  view: toChangeView,
  store: (db, { begins, from, to }, hashed) => [
    ...(begins ? [beginFeed(db, environment)] : []),
    ...moveFeed(db, environment, from, to),
    ...recordHashes(db, environment, hashed),
  ],
});

// ---- Terms ---------------------------------------------------------------------------------------------------------------

/** Entries per read, and reads per run: an entry takes six statements, and one invocation serves both environments (JOB-12). */
const INDEXED_AT_ONCE = 20;
const SLICES = 2;

/** Writes the terms of entries that have changed. Returns true if more entries are left than one run takes. */
export async function indexEntries(deps: Deps, environment: Environment): Promise<boolean> {
  let after = "";
  for (let slice = 0; slice < SLICES; slice++) {
    const { entries } = await readBatch(deps.db, {
      entries: findUnindexed(deps.db, environment, after, INDEXED_AT_ONCE),
    });
    for (const entry of entries) await indexEntry(deps, entry);
    const last = entries.at(-1);
    if (!last || entries.length < INDEXED_AT_ONCE) return false;
    after = last.did;
  }
  return true;
}

async function indexEntry({ db }: Deps, entry: EntryRow): Promise<void> {
  const { did } = entry;
  const wanted = [...new Set(listEntryTerms(entry))];
  const [now, before] = [new Set(wanted), new Set(entry.terms)];
  const added = wanted.filter((term) => !before.has(term));
  const gone = entry.terms.filter((term) => !now.has(term));
  try {
    await commit(db, [...markIndexed(db, entry, wanted), ...addTerms(db, did, added), ...dropTerms(db, did, gone)]);
  } catch (thrown) {
    // The entry has changed meanwhile, or another run has written its terms: if any are missing, the entry is found again.
    if (!(thrown instanceof Conflict)) throw thrown;
  }
}
