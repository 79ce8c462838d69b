// One atomic batch, and whoever waits for its events is told. The telling is a nudge: what it loses, the minute's job finds.
import type { Deps } from "./context.ts";
import { isAnnouncing } from "./db/announce.ts";
import { commit, type Statement } from "./db/batch.ts";

/** Throws Conflict when a guard or a unique key refused. `background` is given what goes on after an answer. */
export async function commitAll(
  deps: Deps,
  statements: readonly Statement[],
  background?: (work: Promise<unknown>) => void,
): Promise<void> {
  await commit(deps.db, statements);
  if (!isAnnouncing(statements)) return;
  const nudge = deps.env.OUTBOX_QUEUE.send({ kind: "hand_on_events" }).catch(() => undefined);
  if (background) background(nudge);
  else await nudge;
}
