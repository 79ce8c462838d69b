// Follows a network without new events in the minute's trigger itself (CHN-24): books the blocks, compares the next vaults, and writes one row. In
// every other case it changes nothing, and the queue's message does all the work.
import { networkNamed } from "../chain/networks.ts";
import type { Deps } from "../context.ts";
import { Conflict } from "../core/retry.ts";
import { readBatch } from "../db/batch.ts";
import { findWaitingIntents } from "../intents/paid-store.ts";
import { NOTHING_STORED } from "./book.ts";
import { levelUpTo, turnReads } from "./check.ts";
import { findConfirmed, placeOf, record } from "./follow.ts";
import { findFollower, findUnchecked } from "./store.ts";

/** Returns false if there is more to do, or if no node answers credibly. */
export async function followQuiet(deps: Deps, name: string): Promise<boolean> {
  const { db, chain } = deps;
  const network = networkNamed(deps.config.networks, name);
  const beganAt = Date.now();
  const { known, unchecked, waiting, ...turn } = await readBatch(db, {
    known: findFollower(db, name),
    unchecked: findUnchecked(db, name, 1),
    waiting: findWaitingIntents(db, name),
    ...turnReads(deps, name),
  });
  if (!known || known.turned.length + known.bound.length + unchecked.length + waiting.length > 0) return false;
  const read = await chain.readEvents(name, placeOf(network, known));
  if (!read.ok || read.value.state !== "read" || read.value.events.length > 0) return false;
  const to = findConfirmed(known.seen, read.value);
  const checkedDid = to && (await levelUpTo(deps, network, to, turn));
  if (checkedDid === null) return false;
  try {
    const { followed } = await record(deps, network, { ...known, checkedDid }, read.value, beganAt, NOTHING_STORED);
    return followed === "level";
  } catch (thrown) {
    // Another run has booked these blocks.
    if (thrown instanceof Conflict) return false;
    throw thrown;
  }
}
