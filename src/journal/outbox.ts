// What has happened is handed on once it is committed. The outbox is read by its number, from where the last reading ended: a nudge that was
// lost loses nothing, and a crash in between hands the same events on again.
import type { Deps } from "../context.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { EventRow } from "../db/tables/journal.ts";
import { findEventsAfter, findMark, moveMark } from "./outbox-store.ts";

/** Is handed events in their order, each at least once. What it throws stops the handing on; it is tried again. */
export type Subscriber = (deps: Deps, events: readonly EventRow[]) => Promise<void>;

export const SLICE = 100;

/** Hands on what is new, to the end. */
export async function handOnEvents(deps: Deps, subscribers: readonly Subscriber[]): Promise<number> {
  for (let handedOn = 0; ; ) {
    const slice = await handOnSlice(deps, subscribers);
    handedOn += slice;
    if (slice < SLICE) return handedOn;
  }
}

/** One slice of them. Returns how many. */
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
