// Records the end of intents that nobody paid, with their events (PAY-13).
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { move } from "../core/machine.ts";
import { retryConflicts } from "../core/retry.ts";
import { readBatch } from "../db/batch.ts";
import type { BulkJob } from "../jobs/job.ts";
import { recordEventForParties } from "../journal/events.ts";
import { releaseStatements } from "./spend-store.ts";
import { intentMachine } from "./states.ts";
import { findDueIntents, moveIntents } from "./store.ts";
import { toIntentView } from "./views.ts";

/** Each intent writes up to two events. */
const SLICE = 100;

export const abandonIntents: BulkJob = {
  kind: "bulk",
  name: "abandon_intents",
  run: async (deps) => {
    const done = await abandonSlice(deps, SLICE);
    return { done, more: done === SLICE };
  },
};

/** Ends a slice of intents in one batch and returns its size. */
export async function abandonSlice(deps: Deps, slice: number): Promise<number> {
  const { db, config } = deps;
  const now = deps.clock.now();
  // One of them may be settled meanwhile: the slice is read again.
  return retryConflicts(async () => {
    const { due } = await readBatch(db, { due: findDueIntents(db, now, slice) });
    if (due.length === 0) return 0;
    const ids = due.map(({ intentId }) => intentId);
    const events = due.flatMap((intent) =>
      recordEventForParties(db, [intent.consumerPlatformId, intent.providerPlatformId], intent.environment, now, {
        type: "intent.abandoned",
        object: toIntentView(config, intent, now),
      }),
    );
    const ended = moveIntents(db, ids, move(intentMachine, "OPEN", "expire"));
    await commitAll(deps, [...ended, ...releaseStatements(db, due), ...events]);
    return due.length;
  });
}
