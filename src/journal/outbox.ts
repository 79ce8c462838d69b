// Delivers events to their subscribers after the commit (EVT-4). The outbox is read by number from the last mark, so a lost notification
// loses nothing, and a crash in between delivers the same events again.
import type { Deps } from "../context.ts";
import { retryConflicts } from "../core/retry.ts";
import { commit, readBatch, type Statement } from "../db/batch.ts";
import type { EventRow } from "../db/tables/journal.ts";
import { findMark, findNewEvents, moveMark } from "./outbox-store.ts";

/**
 * Receives events in their order, each at least once. An exception stops the delivery, which is tried again. What it returns is committed with
 * the mark, and so exactly once; none of it may refuse the batch.
 */
export type Subscriber = (deps: Deps, events: readonly EventRow[]) => Promise<readonly Statement[]>;

export const SLICE = 100;
/** Of so many waiting events the oldest tells how late they are: the clock of a sandbox may have dated the first of them ahead. */
export const LAG_SEEN_IN = 20;

/** Delivers all new events. */
export async function handOnEvents(deps: Deps, subscribers: readonly Subscriber[]): Promise<number> {
  for (let handedOn = 0; ; ) {
    // Another run that delivered the same events has moved the mark: what is left is read again.
    const slice = await retryConflicts(() => handOnSlice(deps, subscribers));
    handedOn += slice;
    if (slice < SLICE) return handedOn;
  }
}

/** Delivers one slice and returns its size. */
export async function handOnSlice(deps: Deps, subscribers: readonly Subscriber[]): Promise<number> {
  const slice = await findSlice(deps);
  return slice === null ? 0 : deliverSlice(deps, subscribers, slice);
}

/** New events in their order, and the mark after which they come. */
export type EventSlice = {
  readonly from: number;
  /** When the oldest of them was written. */
  readonly oldestAt: number;
  readonly last: EventRow;
  readonly events: readonly EventRow[];
};

export async function findSlice({ db }: Deps): Promise<EventSlice | null> {
  const { mark, events } = await readBatch(db, { mark: findMark(db), events: findNewEvents(db, SLICE) });
  const last = events.at(-1);
  const oldestAt = Math.min(...events.slice(0, LAG_SEEN_IN).map(({ occurredAt }) => occurredAt));
  return last ? { from: mark?.seq ?? 0, oldestAt, last, events } : null;
}

/** Delivers a slice and returns its size. */
export async function deliverSlice(
  deps: Deps,
  subscribers: readonly Subscriber[],
  { from, last, events }: EventSlice,
): Promise<number> {
  const statements: Statement[] = [];
  for (const subscriber of subscribers) statements.push(...(await subscriber(deps, events)));
  await commit(deps.db, [...moveMark(deps.db, from, last.seq), ...statements]);
  return events.length;
}
