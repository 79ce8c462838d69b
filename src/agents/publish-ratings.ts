// Publishes ratings that decay has moved by a hundredth since they were last published (TSK-23): the row, the document, the thresholds and the
// directory, as a signal does. Each publication schedules the next one, so no job has to scan all agents.

import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/due.ts";
import { isFinal } from "../core/vocabulary.ts";
import { commit, readBatch } from "../db/batch.ts";
import { findEscrows, findMarkets, findTimedAgent, selectAgentEnvironment } from "../identity/store.ts";
import type { EachJob } from "../jobs/job.ts";
import { findDecayedAgents } from "./find-store.ts";
import { publishDecay } from "./rate.ts";
import { scheduleRating } from "./store.ts";

/** The clock of all platforms that have never moved theirs. */
const REAL_TIME = "";

export const publishRatings: EachJob = {
  kind: "each",
  name: "publish_ratings",
  find: async ({ db, clock }, after, limit) => {
    const { due } = await readBatch(db, {
      due: findDecayedAgents(db, REAL_TIME, clock.now(), after ?? BEFORE_FIRST_DUE, limit),
    });
    return due;
  },
  record: publishRating,
};

async function publishRating(deps: Deps, did: string): Promise<boolean> {
  const { db, clock } = deps;
  const environment = selectAgentEnvironment(did);
  const { found, markets, escrows } = await readBatch(db, {
    found: findTimedAgent(db, did),
    markets: findMarkets(db, did, environment),
    escrows: findEscrows(db, did, environment),
  });
  if (!found) return false;
  const { agent, principal, clockOffsetMs } = found;
  const now = clock.now() + clockOffsetMs;
  if (agent.republishAt === null || agent.republishAt > now) return false;
  // A final agent sells nothing any more, so its published rating stays.
  if (isFinal(agent.status)) {
    await commit(db, scheduleRating(db, agent, null));
    return true;
  }
  await commitAll(deps, publishDecay(deps, { agent, principal, markets, escrows }, now));
  return true;
}
