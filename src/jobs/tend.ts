// Lists events after their commit, and deletes events that are older than 30 days, in slices (EVT-18, EVT-19).
import { findDueOperations } from "../chain/store.ts";
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/clock.ts";
import { HOUR_MS } from "../core/limits.ts";
import { retryConflicts } from "../core/retry.ts";
import type { OperationKind } from "../core/vocabulary.ts";
import { commit, readBatch, toWriteRead } from "../db/batch.ts";
import { countOutcomes, pruneOutcomes } from "../db/outcomes.ts";
import { checkChain } from "../journal/activity-heads.ts";
import {
  findPrunableEvents,
  findUnlisted,
  markEventsListed,
  pruneEvents,
  recordAge,
} from "../journal/event-log-store.ts";
import { computeOldestListed } from "../journal/event-read.ts";
import { LAG_SEEN_IN } from "../journal/events.ts";
import { findMark } from "../journal/log-store.ts";
import { findDueChains } from "../journal/volume-store.ts";
import type { BulkJob, EachJob } from "./job.ts";

const EVENTS_SLICE = 100;
const PRUNED = 500;

/** Lists new events, up to a number of slices. Slices that another run lists are skipped. Returns false if more may be left. */
export async function listNewEvents(deps: Deps, slices = Number.POSITIVE_INFINITY): Promise<boolean> {
  for (let slice = 0; slice < slices; slice++) if ((await listSlice(deps)) < EVENTS_SLICE) return true;
  return false;
}

const listSlice = ({ db }: Deps): Promise<number> =>
  retryConflicts(async () => {
    const { listed, fresh } = await readBatch(db, {
      listed: findMark(db, "listed"),
      fresh: findUnlisted(db, EVENTS_SLICE),
    });
    const last = fresh.at(-1);
    if (last) await commit(db, markEventsListed(db, listed?.seq ?? 0, last.seq));
    return fresh.length;
  });

export const listEventsJob: BulkJob = {
  kind: "bulk",
  name: "list_events",
  here: true,
  slices: 5,
  find: async (deps) => {
    const { first } = await readBatch(deps.db, { first: findUnlisted(deps.db, LAG_SEEN_IN) });
    if (first.length === 0) return null;
    return {
      oldestDueAt: Math.min(...first.map(({ occurredAt }) => occurredAt)),
      run: async () => {
        const done = await listSlice(deps);
        return { done, failed: [], next: done === EVENTS_SLICE ? BEFORE_FIRST_DUE : null };
      },
    };
  },
};

export const pruneEventsJob: BulkJob = {
  kind: "bulk",
  name: "prune_events",
  here: true,
  slices: 5,
  find: async ({ db, clock }) => {
    const now = clock.now();
    const before = computeOldestListed(now);
    const { old } = await readBatch(db, {
      noted: toWriteRead(recordAge(db, now, now - HOUR_MS / 2)),
      old: findPrunableEvents(db, before, PRUNED),
    });
    if (old.length === 0) return null;
    return {
      oldestDueAt: now,
      run: async () => {
        await commit(db, pruneEvents(db, old, before));
        return { done: old.length, failed: [], next: old.length === PRUNED ? BEFORE_FIRST_DUE : null };
      },
    };
  },
};

// Makes the job of a kind of chain operation: it finds those that are due, and hands each to the queue or does what is due.

/** `tend` returns false if nothing was left to do. */
export const tendOperations = (
  name: string,
  kind: OperationKind,
  tend: (deps: Deps, network: string, subject: string) => Promise<unknown>,
): EachJob => ({
  kind: "each",
  name,
  find: async ({ db }, after, limit) => {
    const { due } = await readBatch(db, {
      due: findDueOperations(db, kind, Date.now(), after ?? BEFORE_FIRST_DUE, limit),
    });
    return due;
  },
  record: async (deps, id) => {
    const [network = "", subject = ""] = id.split(" ");
    return (await tend(deps, network, subject)) !== false;
  },
});

// Deletes outcomes of Idempotency-Keys when their window has ended (IDM-2).

const OUTCOMES_SLICE = 500;

export const pruneIdempotencyOutcomes: BulkJob = {
  kind: "bulk",
  name: "prune_idempotency_outcomes",
  here: true,
  slices: 5,
  find: async ({ db, clock }) => {
    const now = clock.now();
    const { ended } = await readBatch(db, { ended: countOutcomes(db, now, OUTCOMES_SLICE) });
    if (ended === null) return null;
    const { count, oldest } = ended;
    return {
      oldestDueAt: oldest,
      run: async () => {
        await commit(db, [pruneOutcomes(db, now, OUTCOMES_SLICE)]);
        return { done: count, failed: [], next: count === OUTCOMES_SLICE ? BEFORE_FIRST_DUE : null };
      },
    };
  },
};

// Checks each activity log once a day: hashes entries whose message was lost, and signs the head (EVT-12, EVT-13).

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
