// Records that a run of the follower did not reach a head of this minute. After a while the network takes no new intents (PAY-24), and an operator
// gets an alert (JOB-9).
import { computeLagSeconds, findClosure, isFollowerLate, type NetworkAvailability } from "../chain/availability.ts";
import { findAvailabilities, recordFollowerBehind } from "../chain/availability-store.ts";
import type { Deps } from "../context.ts";
import { commit, readBatch } from "../db/batch.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";

export async function recordLag({ db }: Deps, network: string): Promise<void> {
  const { standings } = await readBatch(db, { standings: findAvailabilities(db, [network]) });
  const [standing] = standings;
  const now = Date.now();
  if (!standing || !isFollowerLate(standing, now)) return;
  await commit(db, [
    recordFollowerBehind(db, network, now),
    ...(findClosure(standing, now) === "lag" ? [raiseAlert(db, toLagAlert(standing, now))] : []),
  ]);
}

function toLagAlert(standing: NetworkAvailability, now: number): Alert {
  const { network } = standing;
  const seconds = computeLagSeconds(standing, now);
  const since = seconds === null ? "was never read to its head" : `was last read to its head ${seconds} seconds ago`;
  return { kind: "follower_lag", subject: network, message: `The network ${since}: it takes no new payment intents.` };
}
