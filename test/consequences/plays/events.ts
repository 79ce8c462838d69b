// Plays of the job that lists events. What the one that prunes them leaves, event-list.test.ts shows: nothing else ever deletes one.
import { listEventsJob } from "../../../src/jobs/tend-events.ts";
import { ofNobody, type Plays } from "./stage.ts";

export const EVENT_PLAYS: Plays = {
  list_events: {
    "there are new events to list": ofNobody(
      (world) => world.consumer(),
      (world) => world.run(listEventsJob),
    ),
  },
};
