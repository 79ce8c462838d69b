// Events whose nudge was lost are handed on by the minute's run.
import { handOnSlice, SLICE, type Subscriber } from "../journal/outbox.ts";
import type { BulkJob } from "./job.ts";

export const handOnJob = (subscribers: readonly Subscriber[]): BulkJob => ({
  kind: "bulk",
  name: "hand_on_events",
  run: async (deps) => {
    const done = await handOnSlice(deps, subscribers);
    return { done, more: done === SLICE };
  },
});
