// The rows of the directory's jobs, and of the job that publishes ratings again, in the table of consequences (table.ts).
import { BY_ITSELF, type Cases, NO_EDIT } from "./words.ts";

export const DIRECTORY_JOBS: Readonly<Record<string, Cases>> = {
  publish_ratings: [
    {
      when: "decay has moved the rating, and its threshold",
      tables: ["agents", "escrows"],
      activity: BY_ITSELF,
      directory: { provider: ["updated"] },
      document: { provider: ["new revision"] },
    },
    { when: "the agent has ended", tables: ["agents"], activity: BY_ITSELF },
    { when: "decay has not moved the rating yet", tables: ["agents"], activity: BY_ITSELF },
  ],

  sign_directory_heads: [{ when: "something has changed", tables: ["directory_heads"], activity: NO_EDIT }],
  index_directory: [{ when: "the terms of an entry are out of date", activity: NO_EDIT }],
  prune_directory: [{ when: "records are older than 30 days", activity: BY_ITSELF }],
};
