// Plays of the job that lists events. event-list.test.ts covers the job that prunes them, because no other code ever deletes one.
import { listEventsJob } from "../../../src/jobs/tend.ts";
import { ofNobody, type Plays } from "./stage.ts";

export const EVENT_PLAYS: Plays = {
  list_events: {
    "there are new events to list": ofNobody(
      (world) => world.consumer(),
      (world) => world.run(listEventsJob),
    ),
  },
};
