// Delivers events whose notification was lost, each minute (EVT-4).
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
