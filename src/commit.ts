// One atomic batch. When it wrote an event, the outbox queue is notified; a notification that is lost is made good by the minute's job
// (EVT-4).
import type { Deps } from "./context.ts";
import { commit, type Statement } from "./db/batch.ts";
import { writesEvents } from "./db/event-writers.ts";

/** Throws Conflict when a guard or a unique key refused. `background` receives the work that continues after the answer. */
export async function commitAll(
  deps: Deps,
  statements: readonly Statement[],
  background?: (work: Promise<unknown>) => void,
): Promise<void> {
  await commit(deps.db, statements);
  if (!writesEvents(statements)) return;
  const nudge = deps.env.OUTBOX_QUEUE.send({ kind: "hand_on_events" }).catch(() => undefined);
  if (background) background(nudge);
  else await nudge;
}
