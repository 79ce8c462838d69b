// Reads the change feed (DIR-11, DIR-12). A reader resumes exactly where it stopped, or has to read the listing again: it never skips a gap. Also the
// jobs that write the terms of entries whose notification was lost (DIR-9), and that prune records older than 30 days (DIR-12).
import { type ManagementCall, readPage } from "../call.ts";
import type { Deps } from "../context.ts";
import { isAfterPosition } from "../core/clock.ts";
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { CHANGE_RETENTION_DAYS, DAY_MS } from "../core/limits.ts";
import { encodeCursor, hashListing, type Position } from "../core/page.ts";
import { ENVIRONMENTS, type Environment, isEnvironment } from "../core/vocabulary.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { ChangeRow } from "../db/tables/directory.ts";
import type { EachJob, Recorded } from "../jobs/job.ts";
import { findUnindexed } from "../journal/directory-store.ts";
import { indexEntries } from "./follow.ts";
import { REAL_TIME, toChangeView } from "./list.ts";
import type { ChangeList } from "./responses.ts";
import type { ChangeQuery } from "./schema.ts";
import {
  findChanges,
  findFeed,
  findLastChange,
  findPrunableRecords,
  findPruned,
  pruneChanges,
  type Start,
} from "./store.ts";

export async function listChanges(call: ManagementCall, query: ChangeQuery): Promise<ChangeList> {
  const { db, environment, deps } = call;
  if (query.since !== undefined && query.cursor !== undefined) await refuseBoth(call);
  const { after, listing, limit } = await readPage(call, query, hashListing("directory changes", [environment], {}));
  const now = deps.clock.now();
  const start = toStart(query.since, after, now);
  const found = await call.read(
    {
      rows: findChanges(db, environment, start, limit),
      last: findLastChange(db, environment),
      prunedTo: findPruned(db, environment, start),
    },
    REAL_TIME,
  );
  const feed = { end: found.last?.seq ?? found.prunedTo, prunedTo: found.prunedTo };
  if (query.since !== undefined) refuseSince(query.since, feed, found.last, now);
  if (after !== null) refuseLost(after, found.rows, feed);
  const rows = (after !== null && found.rows[0]?.seq === after.at ? found.rows.slice(1) : found.rows).slice(0, limit);
  const [first, last] = [rows[0], rows.at(-1)];
  // Older records are gone, or about to be.
  if (first && first.occurredAt < computeOldestKept(now)) throw buildCursorExpiredError();
  return {
    data: rows.map(toChangeView),
    next_cursor: encodeCursor(listing, last ? toFeedPosition(last) : (after ?? toEndPosition(found.last, feed.end))),
    has_more: last !== undefined && last.seq < feed.end,
  };
}

export const computeOldestKept = (now: number): number => now - CHANGE_RETENTION_DAYS * DAY_MS;

/** Where a reader resumes: the number of a record, and its instant, which identifies it. */
const toFeedPosition = ({ seq, occurredAt }: ChangeRow): Position => ({ at: seq, id: String(occurredAt) });
const toEndPosition = (last: ChangeRow | null, end: number): Position =>
  last ? toFeedPosition(last) : { at: end, id: "" };

/** Without a place, a page begins with the oldest record that is kept. */
function toStart(since: ChangeQuery["since"], after: Position | null, now: number): Start {
  if (after !== null) return { read: after.at };
  if (since === undefined) return { after: computeOldestKept(now) - 1 };
  return "seq" in since ? { behind: since.seq } : { after: since.at };
}

// ---- Refusals ------------------------------------------------------------------------------------------------------------

const buildCursorExpiredError = (): ServiceError => new ServiceError("cursor_expired");

/** Refuses only after the credential was checked. */
async function refuseBoth(call: ManagementCall): Promise<never> {
  await call.read({}, REAL_TIME);
  throw toValidationError([toFieldError("since", "invalid_value", "Must not be given together with `cursor`.")]);
}

type Feed = { readonly end: number; readonly prunedTo: number };

function refuseSince(
  since: NonNullable<ChangeQuery["since"]>,
  { end, prunedTo }: Feed,
  last: ChangeRow | null,
  now: number,
) {
  const future = "seq" in since ? since.seq > end : since.at > Math.max(now, last?.occurredAt ?? 0);
  if (future) throw toValidationError([toFieldError("since", "invalid_value", "Must not be in the future.")]);
  if ("seq" in since ? since.seq < prunedTo : since.at < computeOldestKept(now)) throw buildCursorExpiredError();
}

/**
 * The record that was read last must exist and be the same one. Otherwise records after it may be gone: pruned, or lost with a database that was
 * restored to an earlier state.
 */
function refuseLost({ at, id }: Position, rows: readonly ChangeRow[], { end, prunedTo }: Feed): void {
  const [first] = rows;
  if (first?.seq === at) {
    if (id !== "" && id !== String(first.occurredAt)) throw buildCursorExpiredError();
    return;
  }
  if (at !== prunedTo || at > end) throw buildCursorExpiredError();
}

// ---- Jobs ---------------------------------------------------------------------------------------------------------------

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

const PRUNED_AT_ONCE = 1_000;

async function pruneFeed({ db, clock }: Deps, environment: Environment): Promise<Recorded> {
  const { feed, old } = await readBatch(db, {
    feed: findFeed(db, environment),
    old: findPrunableRecords(db, environment, computeOldestKept(clock.now()), PRUNED_AT_ONCE),
  });
  // Records are pruned only when a head covers them.
  if (!feed || !old || old.last > feed.headSeq) return false;
  await commit(db, pruneChanges(db, environment, feed.prunedTo, old.last));
  return old.last === old.first + PRUNED_AT_ONCE - 1 ? "more" : true;
}

function toEnvironmentRecorder(record: (deps: Deps, environment: Environment) => Promise<Recorded>): EachJob["record"] {
  return (deps, id) => (isEnvironment(id) ? record(deps, id) : Promise.resolve(false));
}
