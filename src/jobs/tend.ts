// The jobs that tend what calls have written: events, which they deliver, list and delete (EVT-4, EVT-18, EVT-19); activity logs (EVT-12, EVT-13);
// outcomes of Idempotency-Keys (IDM-2); and operations on the chain.
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
import { deliverSlice, EVENT_SLICE, findOutboxSlice, LAG_SEEN_IN, type Subscriber } from "../journal/events.ts";
import { findMark } from "../journal/log-store.ts";
import { findDueChains } from "../journal/volume-store.ts";
import type { BulkJob, EachJob } from "./job.ts";

/** Delivers events whose notification was lost, each minute (EVT-4). */
export const handOnJob = (subscribers: readonly Subscriber[]): BulkJob => ({
  kind: "bulk",
  name: "hand_on_events",
  here: true,
  slices: 5,
  find: async (deps) => {
    const slice = await findOutboxSlice(deps);
    if (slice === null) return null;
    return {
      oldestDueAt: slice.oldestAt,
      run: async () => {
        const done = await deliverSlice(deps, subscribers, slice);
        // Events are delivered in order, so a failed one stops those after it.
        return { done, failed: [], next: done === EVENT_SLICE ? BEFORE_FIRST_DUE : null };
      },
    };
  },
});

const LISTED_AT_ONCE = 100;

/** Lists new events, up to a number of slices. Slices that another run lists are skipped. Returns false if more may be left. */
export async function listNewEvents(deps: Deps, slices = Number.POSITIVE_INFINITY): Promise<boolean> {
  for (let slice = 0; slice < slices; slice++) if ((await listSlice(deps)) < LISTED_AT_ONCE) return true;
  return false;
}

const listSlice = ({ db }: Deps): Promise<number> =>
  retryConflicts(async () => {
    const { listed, fresh } = await readBatch(db, {
      listed: findMark(db, "listed"),
      fresh: findUnlisted(db, LISTED_AT_ONCE),
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
        return { done, failed: [], next: done === LISTED_AT_ONCE ? BEFORE_FIRST_DUE : null };
      },
    };
  },
};

const EVENTS_PRUNED = 500;

/** Deletes events that are older than 30 days, and notes the age of events each half hour. */
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
      old: findPrunableEvents(db, before, EVENTS_PRUNED),
    });
    if (old.length === 0) return null;
    return {
      oldestDueAt: now,
      run: async () => {
        await commit(db, pruneEvents(db, old, before));
        return { done: old.length, failed: [], next: old.length === EVENTS_PRUNED ? BEFORE_FIRST_DUE : null };
      },
    };
  },
};

/** Checks each log once a day: hashes entries whose message was lost, and signs the head (EVT-12, EVT-13). */
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

const OUTCOMES_PRUNED = 500;

/** Deletes outcomes when their window has ended (IDM-2). */
export const pruneIdempotencyOutcomes: BulkJob = {
  kind: "bulk",
  name: "prune_idempotency_outcomes",
  here: true,
  slices: 5,
  find: async ({ db, clock }) => {
    const now = clock.now();
    const { ended } = await readBatch(db, { ended: countOutcomes(db, now, OUTCOMES_PRUNED) });
    if (ended === null) return null;
    const { count, oldest } = ended;
    return {
      oldestDueAt: oldest,
      run: async () => {
        await commit(db, [pruneOutcomes(db, now, OUTCOMES_PRUNED)]);
        return { done: count, failed: [], next: count === OUTCOMES_PRUNED ? BEFORE_FIRST_DUE : null };
      },
    };
  },
};

/** Builds the job of a kind of operation. `tend` returns false if nothing was left to do. */
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
