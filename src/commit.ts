// Commits one atomic batch. If it wrote an event, an activity entry or a record of the directory, it notifies the outbox queue; a job makes up for a
// lost notification (EVT-4, EVT-12).
import type { Deps } from "./context.ts";
import { commit, type Statement } from "./db/batch.ts";

/** Throws Conflict if a guard or a unique key refused. `background` receives the work that continues after the answer. */
export async function commitAll(
  deps: Deps,
  statements: readonly Statement[],
  background?: (work: Promise<unknown>) => void,
): Promise<void> {
  await commit(deps.db, statements);
  const notified = statements.flatMap((one) => ("notifies" in one ? [one.notifies] : []));
  if (notified.length === 0) return;
  const activityOf = [...new Set(notified.flatMap((one) => one.activityOf ?? []))];
  const listedIn = [...new Set(notified.flatMap((one) => one.listedIn ?? []))];
  const message = {
    kind: "hand_on_events",
    ...(activityOf.length > 0 && { activityOf }),
    ...(listedIn.length > 0 && { listedIn }),
  } as const;
  const nudge = deps.env.OUTBOX_QUEUE.send(message).catch(() => undefined);
  if (background) background(nudge);
  else await nudge;
}
