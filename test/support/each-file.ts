// Before each file that runs in workerd: empties the storage, installs the newest schema, and forgets the file before. After it: checks the plans of
// its statements and the events that it has written.
import { afterAll } from "vitest";
import { checkEvents } from "./events.ts";
import { takeRecord } from "./issued.ts";
import { beginTraffic, checkNoCallInProgress, checkPlans, traffic } from "./plans.ts";
import { startEmpty } from "./storage.ts";
import "./time-limits.ts";
import { env } from "./world.ts";

await startEmpty();
beginTraffic();

// biome-ignore lint/correctness/noEmptyPattern: vitest refuses another first argument
afterAll(async ({}, { file }) => {
  file.meta.storeFunctions = takeRecord();
  checkNoCallInProgress(traffic);
  await checkPlans(env.DB, traffic);
  await checkEvents(env.DB);
});
