// A commit that wrote an event tells the queue once, by itself. It is a nudge: what it loses, the minute's sweep finds.
import type { Deps } from "../context.ts";
import type { Statement } from "../db/batch.ts";
import { writesEvents } from "./events.ts";

export function nudgeOutbox(
  deps: Deps,
  statements: readonly Statement[],
  background: (work: Promise<unknown>) => void,
): void {
  if (!writesEvents(statements)) return;
  background(deps.env.OUTBOX_QUEUE.send({ kind: "hand_on_events" }).catch(() => undefined));
}
