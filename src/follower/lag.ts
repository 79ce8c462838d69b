// Records that a run of the follower did not reach a head of this minute. After a while the network takes no new intents (PAY-24), and an operator
// gets an alert (JOB-9).
import { closureOf, isLate, lagSeconds, type NetworkStanding } from "../chain/standing.ts";
import { findStandings, noteBehind } from "../chain/standing-store.ts";
import type { Deps } from "../context.ts";
import { commit, readBatch } from "../db/batch.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";

export async function noteLag({ db }: Deps, network: string): Promise<void> {
  const { standings } = await readBatch(db, { standings: findStandings(db, [network]) });
  const [standing] = standings;
  const now = Date.now();
  if (!standing || !isLate(standing, now)) return;
  await commit(db, [
    noteBehind(db, network, now),
    ...(closureOf(standing, now) === "lag" ? [raiseAlert(db, lost(standing, now))] : []),
  ]);
}

function lost(standing: NetworkStanding, now: number): Alert {
  const { network } = standing;
  const seconds = lagSeconds(standing, now);
  const since = seconds === null ? "was never read to its head" : `was last read to its head ${seconds} seconds ago`;
  return { kind: "follower_lag", subject: network, message: `The network ${since}: it takes no new payment intents.` };
}
