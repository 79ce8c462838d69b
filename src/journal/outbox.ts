// Delivers events to their subscribers after the commit (EVT-4). The outbox is read by number from the last mark, so a lost notification
// loses nothing, and a crash in between delivers the same events again.
import type { Deps } from "../context.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { EventRow } from "../db/tables/journal.ts";
import { findEventsAfter, findMark, moveMark } from "./outbox-store.ts";

/** Receives events in their order, each at least once. An exception stops the delivery, which is tried again. */
export type Subscriber = (deps: Deps, events: readonly EventRow[]) => Promise<void>;

export const SLICE = 100;

/** Delivers all new events. */
export async function handOnEvents(deps: Deps, subscribers: readonly Subscriber[]): Promise<number> {
  for (let handedOn = 0; ; ) {
    const slice = await handOnSlice(deps, subscribers);
    handedOn += slice;
    if (slice < SLICE) return handedOn;
  }
}

/** Delivers one slice and returns its size. */
export async function handOnSlice(deps: Deps, subscribers: readonly Subscriber[]): Promise<number> {
  const { db } = deps;
  const { mark } = await readBatch(db, { mark: findMark(db) });
  const from = mark?.seq ?? 0;
  const { fresh } = await readBatch(db, { fresh: findEventsAfter(db, from, SLICE) });
  const last = fresh.at(-1);
  if (!last) return 0;
  for (const subscriber of subscribers) await subscriber(deps, fresh);
  await commit(db, moveMark(db, from, last.seq));
  return fresh.length;
}
