// Runs the follower each minute on every network (CHN-24): reads to the head, and compares the next vaults with their lines. The trigger itself does
// this if nothing has happened, otherwise a queue message does.
import { requireNetwork } from "../chain/networks.ts";
import type { Deps } from "../context.ts";
import { Conflict } from "../core/retry.ts";
import { readBatch } from "../db/batch.ts";
import { findIntentsAwaitingLostPayment } from "../intents/find-store.ts";
import type { EachJob } from "../jobs/job.ts";
import { NOTHING_STORED } from "./book.ts";
import { buildTurnReads, checkNextVaults, findLevelTurnEnd } from "./check.ts";
import { findConfirmedBlock, followNetwork, recordChainReading, toBookedPlace } from "./follow.ts";
import { findFollower, findUncheckedSettlements } from "./store.ts";

export const followChains: EachJob = {
  kind: "each",
  name: "follow_chains",
  here: true,
  find: async ({ config }, after) =>
    after === null ? config.networks.map(({ network }) => ({ at: Date.now(), id: network })) : [],
  record: async (deps, network) => {
    let isQuiet = false;
    try {
      isQuiet = await followQuiet(deps, network);
      return !isQuiet;
    } finally {
      // A failed look needs the message too.
      if (!isQuiet) await deps.env.CHAIN_QUEUE.send({ kind: "follow_chain", network });
    }
  },
};

/**
 * Follows a network without new events in the minute's trigger itself: books the blocks, compares the next vaults, and writes one row. Changes
 * nothing and returns false if there is more to do, or if no node answers credibly.
 */
export async function followQuiet(deps: Deps, name: string): Promise<boolean> {
  const { db, chain } = deps;
  const network = requireNetwork(deps.config.networks, name);
  const beganAt = Date.now();
  const { known, unchecked, waiting, ...turn } = await readBatch(db, {
    known: findFollower(db, name),
    unchecked: findUncheckedSettlements(db, name, 1),
    waiting: findIntentsAwaitingLostPayment(db, name),
    ...buildTurnReads(deps, name),
  });
  if (!known || known.turned.length + known.bound.length + unchecked.length + waiting.length > 0) return false;
  const read = await chain.readEvents(name, toBookedPlace(network, known));
  if (!read.ok || read.value.state !== "read" || read.value.events.length > 0) return false;
  const to = findConfirmedBlock(known.seen, read.value);
  const checkedDid = to && (await findLevelTurnEnd(deps, network, to, turn));
  if (checkedDid === null) return false;
  try {
    const now = { ...known, checkedDid };
    const { followed } = await recordChainReading(deps, network, now, { ...read.value, beganAt }, NOTHING_STORED);
    return followed === "level";
  } catch (thrown) {
    // Another run has booked these blocks.
    if (thrown instanceof Conflict) return false;
    throw thrown;
  }
}

/** A message begins no further step once it has sent this many statements, because one invocation runs several messages (JOB-12). */
const STATEMENTS_OF_MESSAGE = 150;

/** Returns false if no node answered or the time was over: the message of the next minute continues. A full run sends its next message itself. */
export async function followChain(deps: Deps, network: string, until: number): Promise<boolean> {
  const followed = await followNetwork(deps, network, until, { most: STATEMENTS_OF_MESSAGE });
  if (followed === "full") await deps.env.CHAIN_QUEUE.send({ kind: "follow_chain", network });
  if (followed !== "level") return followed === "full";
  await checkNextVaults(deps, network);
  return true;
}
