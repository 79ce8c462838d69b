// What the jobs of the directory leave behind, and the one that publishes ratings anew.
import { BY_ITSELF, type Cases, NO_EDIT, NO_NOTICE, NONE, UNSEEN } from "./words.ts";

export const DIRECTORY_JOBS: Readonly<Record<string, Cases>> = {
  publish_ratings: [
    {
      when: "decay has moved the rating, and its threshold",
      states: [],
      tables: ["agents", "escrows"],
      activity: BY_ITSELF,
      events: NONE,
      directory: { provider: ["updated"] },
      document: { provider: ["new revision"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    { when: "the agent has ended", states: [], tables: ["agents"], activity: BY_ITSELF, ...UNSEEN },
    { when: "it has not moved it yet", states: [], tables: ["agents"], activity: BY_ITSELF, ...UNSEEN },
  ],

  sign_directory_heads: [
    { when: "something has changed", states: [], tables: ["directory_heads"], activity: NO_EDIT, ...UNSEEN },
  ],

  index_directory: [{ when: "the terms of an entry wait", states: [], tables: [], activity: NO_EDIT, ...UNSEEN }],

  prune_directory: [{ when: "records are older than 30 days", states: [], tables: [], activity: BY_ITSELF, ...UNSEEN }],
};
