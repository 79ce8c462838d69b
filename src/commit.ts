// Commits one atomic batch. If it wrote an event, an activity entry or a record of the directory, it notifies the outbox queue; a job makes up for a
// lost notification (EVT-4, EVT-12).
import type { Deps } from "./context.ts";
import { listActivityPlatforms } from "./db/activity-writers.ts";
import { commit, type Statement } from "./db/batch.ts";
import { listDirectoryEnvironments } from "./db/directory-writers.ts";
import { writesEvents } from "./db/event-writers.ts";

/** Throws Conflict if a guard or a unique key refused. `background` receives the work that continues after the answer. */
export async function commitAll(
  deps: Deps,
  statements: readonly Statement[],
  background?: (work: Promise<unknown>) => void,
): Promise<void> {
  await commit(deps.db, statements);
  const activityOf = listActivityPlatforms(statements);
  const listedIn = listDirectoryEnvironments(statements);
  if (activityOf.length + listedIn.length === 0 && !writesEvents(statements)) return;
  const message = {
    kind: "hand_on_events",
    ...(activityOf.length > 0 && { activityOf }),
    ...(listedIn.length > 0 && { listedIn }),
  } as const;
  const nudge = deps.env.OUTBOX_QUEUE.send(message).catch(() => undefined);
  if (background) background(nudge);
  else await nudge;
}
