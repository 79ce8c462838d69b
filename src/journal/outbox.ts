// Delivers events to their subscribers after the commit (EVT-4). The outbox is read by number from the last mark, so a lost notification loses
// nothing, and after a crash the same events are delivered again.
import type { Deps } from "../context.ts";
import { retryConflicts } from "../core/retry.ts";
import { commit, readBatch, type Statement } from "../db/batch.ts";
import type { EventRow } from "../db/tables/journal.ts";
import { findMark, findNewEvents, moveMark } from "./outbox-store.ts";

/**
 * Receives events in order, each at least once. An exception stops the delivery, which is retried. The returned statements are committed with the
 * mark, and so exactly once; none of them may refuse the batch.
 */
export type Subscriber = (deps: Deps, events: readonly EventRow[]) => Promise<readonly Statement[]>;

export const EVENT_SLICE = 100;
/** Among this many waiting events, the oldest tells how late they are: a sandbox clock may have dated the first of them ahead. */
export const LAG_SEEN_IN = 20;

export async function deliverNewEvents(deps: Deps, subscribers: readonly Subscriber[]): Promise<number> {
  for (let handedOn = 0; ; ) {
    // If another run has delivered the same events and moved the mark, the rest is read again.
    const slice = await retryConflicts(() => deliverNextSlice(deps, subscribers));
    handedOn += slice;
    if (slice < EVENT_SLICE) return handedOn;
  }
}

export async function deliverNextSlice(deps: Deps, subscribers: readonly Subscriber[]): Promise<number> {
  const slice = await findOutboxSlice(deps);
  return slice === null ? 0 : deliverSlice(deps, subscribers, slice);
}

/** New events in order, and the mark that they follow. */
export type EventSlice = {
  readonly from: number;
  /** When the oldest of them was written. */
  readonly oldestAt: number;
  readonly last: EventRow;
  readonly events: readonly EventRow[];
};

export async function findOutboxSlice({ db }: Deps): Promise<EventSlice | null> {
  const { mark, events } = await readBatch(db, { mark: findMark(db), events: findNewEvents(db, EVENT_SLICE) });
  const last = events.at(-1);
  const oldestAt = Math.min(...events.slice(0, LAG_SEEN_IN).map(({ occurredAt }) => occurredAt));
  return last ? { from: mark?.seq ?? 0, oldestAt, last, events } : null;
}

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
