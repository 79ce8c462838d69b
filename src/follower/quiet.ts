// Follows a network without new events in the minute's trigger itself (CHN-24): books the blocks, compares the next vaults, and writes one row. In
// every other case it changes nothing, and the queue's message does all the work.
import { requireNetwork } from "../chain/networks.ts";
import type { Deps } from "../context.ts";
import { Conflict } from "../core/retry.ts";
import { readBatch } from "../db/batch.ts";
import { findIntentsAwaitingLostPayment } from "../intents/paid-store.ts";
import { NOTHING_STORED } from "./book.ts";
import { buildTurnReads, findLevelTurnEnd } from "./check.ts";
import { findConfirmedBlock, recordChainReading, toBookedPlace } from "./follow.ts";
import { findFollower, findUncheckedSettlements } from "./store.ts";

/** Returns false if there is more to do, or if no node answers credibly. */
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
    const { followed } = await recordChainReading(
      deps,
      network,
      { ...known, checkedDid },
      read.value,
      beganAt,
      NOTHING_STORED,
    );
    return followed === "level";
  } catch (thrown) {
    // Another run has booked these blocks.
    if (thrown instanceof Conflict) return false;
    throw thrown;
  }
}
