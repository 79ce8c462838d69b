// Delivers events whose notification was lost, each minute (EVT-4).
import { BEFORE_FIRST_DUE } from "../core/due.ts";
import { deliverSlice, EVENT_SLICE, findOutboxSlice, type Subscriber } from "../journal/outbox.ts";
import type { BulkJob } from "./job.ts";

export const handOnJob = (subscribers: readonly Subscriber[]): BulkJob => ({
  kind: "bulk",
  name: "hand_on_events",
  here: true,
  slices: 5,
  find: async (deps) => {
    const slice = await findOutboxSlice(deps);
    if (slice === null) return null;
    return {
      oldestDueAt: slice.oldestAt,
      run: async () => {
        const done = await deliverSlice(deps, subscribers, slice);
        // Events are delivered in order, so a failed one stops those after it.
        return { done, failed: [], next: done === EVENT_SLICE ? BEFORE_FIRST_DUE : null };
      },
    };
  },
});
