// Plays of the jobs that list and prune events.
import { handOnJob } from "../../../src/jobs/hand-on-events.ts";
import { listEventsJob, pruneEventsJob } from "../../../src/jobs/tend-events.ts";
import { DAY, ofNobody, type Plays } from "./stage.ts";

export const EVENT_PLAYS: Plays = {
  list_events: {
    "there are new events to list": ofNobody(
      (world) => world.consumer(),
      (world) => world.run(listEventsJob),
    ),
  },
  prune_events: {
    "events are older than 30 days": ofNobody(
      async (world) => {
        await world.consumer();
        await world.run(listEventsJob);
        await world.run(handOnJob([]));
        await world.run(pruneEventsJob);
        world.advance(31 * DAY);
      },
      (world) => world.run(pruneEventsJob),
    ),
  },
};
