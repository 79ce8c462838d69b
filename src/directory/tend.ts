// The directory's other jobs: write the terms of entries whose notification was lost (DIR-9), and prune records older than 30 days (DIR-12).
import type { Deps } from "../context.ts";
import { isAfterPosition } from "../core/due.ts";
import { ENVIRONMENTS, type Environment, isEnvironment } from "../core/vocabulary.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { EachJob, Recorded } from "../jobs/job.ts";
import { findUnindexed } from "../journal/directory-store.ts";
import { computeOldestKept } from "./changes.ts";
import { indexEntries } from "./follow.ts";
import { findFeed, findPrunableRecords, pruneChanges } from "./head-store.ts";

const toEnvironmentRecorder =
  (record: (deps: Deps, environment: Environment) => Promise<Recorded>): EachJob["record"] =>
  (deps, id) =>
    isEnvironment(id) ? record(deps, id) : Promise.resolve(false);

export const indexDirectory: EachJob = {
  kind: "each",
  name: "index_directory",
  part: 1,
  find: async ({ db }, after) => {
    const { sandbox, production } = await readBatch(db, {
      sandbox: findUnindexed(db, "sandbox", "", 1),
      production: findUnindexed(db, "production", "", 1),
    });
    const first = { sandbox: sandbox[0], production: production[0] };
    return ENVIRONMENTS.flatMap((id) => (first[id] === undefined ? [] : [{ at: first[id].updatedAt, id }])).filter(
      isAfterPosition(after),
    );
  },
  record: toEnvironmentRecorder(async (deps, environment) => ((await indexEntries(deps, environment)) ? "more" : true)),
};

/** Records per batch. */
const SLICE = 1_000;

export const pruneDirectory: EachJob = {
  kind: "each",
  name: "prune_directory",
  part: 1,
  find: async ({ db, clock }, after) => {
    const before = computeOldestKept(clock.now());
    const { sandbox, production } = await readBatch(db, {
      sandbox: findPrunableRecords(db, "sandbox", before, 1),
      production: findPrunableRecords(db, "production", before, 1),
    });
    const first = { sandbox, production };
    return ENVIRONMENTS.flatMap((id) => (first[id] === null ? [] : [{ at: first[id].oldest, id }])).filter(
      isAfterPosition(after),
    );
  },
  record: toEnvironmentRecorder(pruneFeed),
};

async function pruneFeed({ db, clock }: Deps, environment: Environment): Promise<Recorded> {
  const { feed, old } = await readBatch(db, {
    feed: findFeed(db, environment),
    old: findPrunableRecords(db, environment, computeOldestKept(clock.now()), SLICE),
  });
  // Records are pruned only when a head covers them.
  if (!feed || !old || old.last > feed.headSeq) return false;
  await commit(db, pruneChanges(db, environment, feed.prunedTo, old.last));
  return old.last === old.first + SLICE - 1 ? "more" : true;
}
