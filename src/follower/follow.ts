// The follower of a network (CHN-24): reads the contract's events behind the last booked block, books what moved a vault once it has the
// network's confirmations, and notes how far it has read. Safe to run twice and at once: the place that it read from is part of its batch.
import { findUnhashed } from "../agents/hash-store.ts";
import { putDidHash } from "../agents/store.ts";
import type { EventAt, EventsReading } from "../chain/gateway.ts";
import { didHash, shortHash } from "../chain/hashes.ts";
import { type Network, networkNamed } from "../chain/networks.ts";
import { isLate } from "../chain/standing.ts";
import type { Deps } from "../context.ts";
import { Conflict } from "../core/retry.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { FollowerRow } from "../db/tables/chain.ts";
import { isMovement, type Movement } from "../escrow/ledger.ts";
import { book } from "./book.ts";
import { noteLag } from "./lag.ts";
import type { PaymentAt } from "./payments.ts";
import { refundsIn } from "./refunds.ts";
import { rewind } from "./rewind.ts";
import { CHECKED_AT_ONCE, checkable, checkSettlements } from "./settlements.ts";
import { findFollower, findUnchecked } from "./store.ts";
import { walletsIn } from "./wallets.ts";

/** `level`: read to the head; `far`: there is more to read; `stuck`: no node answered, or none can be believed. */
export type Followed = "level" | "far" | "stuck";

/** Reads on until the head or an instant (epoch milliseconds, real time). */
export async function followNetwork(deps: Deps, name: string, until: number): Promise<Followed> {
  const followed = await readOn(deps, name, until);
  return followed === "old" ? "level" : followed;
}

/** Reads on likewise. True at a head that is recent: a node that stands still has not seen what is paid meanwhile. */
export const readToNow = async (deps: Deps, name: string, until: number): Promise<boolean> =>
  (await readOn(deps, name, until)) === "level";

async function readOn(deps: Deps, name: string, until: number): Promise<Followed | "old"> {
  const network = networkNamed(deps.config.networks, name);
  for (;;) {
    const followed = await step(deps, network);
    if (followed === "far" && Date.now() < until) continue;
    if (followed !== "level") await noteLag(deps, name);
    return followed;
  }
}

/** `old`: level with a head whose block is so old that the node may stand still. */
async function step(deps: Deps, network: Network): Promise<Followed | "old"> {
  const { db, chain } = deps;
  const name = network.network;
  const beganAt = Date.now();
  const { known, unchecked } = await readBatch(db, {
    known: findFollower(db, name),
    unchecked: findUnchecked(db, name, CHECKED_AT_ONCE),
  });
  if (!known) await nameProviders(deps);
  try {
    const due = known ? checkable(network, known.bookedBlock, unchecked) : [];
    const checked = known && due.length > 0 ? await checkSettlements(deps, network, known, due) : "none";
    if (checked === "checked") return "far";
    const read = await chain.readEvents(name, placeOf(network, known));
    if (!read.ok || read.value.state === "behind") return "stuck";
    if (read.value.state === "read") {
      const recorded = await record(deps, network, known, read.value, beganAt);
      if (recorded !== "level" || checked !== "none") return recorded;
      // What it has booked now is compared before the network is level.
      return checkable(network, read.value.settled?.number ?? 0, unchecked).length > 0 ? "far" : "level";
    }
    return known && (await rewind(deps, network, known)) ? "far" : "stuck";
  } catch (thrown) {
    // Another run was faster, or an escrow moved meanwhile: what is stored now decides.
    if (thrown instanceof Conflict) return "far";
    throw thrown;
  }
}

/** Before the first reading: agents that are older than the follower are found by their hashes from now on. */
async function nameProviders({ db }: Deps): Promise<void> {
  for (let after = ""; ; ) {
    const { unhashed } = await readBatch(db, { unhashed: findUnhashed(db, after, NAMED_AT_ONCE) });
    await commit(
      db,
      unhashed.map(({ did }) => putDidHash(db, did, shortHash(didHash(did)))),
    );
    const last = unhashed.at(-1);
    if (!last || unhashed.length < NAMED_AT_ONCE) return;
    after = last.did;
  }
}
const NAMED_AT_ONCE = 50;

const placeOf = ({ first_block }: Network, known: FollowerRow | null) =>
  known ? { number: known.bookedBlock, hash: known.bookedHash } : { number: Math.max(0, first_block - 1), hash: null };

type Read = Extract<EventsReading, { state: "read" }>;

type Own = Movement & EventAt;

/** Movements of one batch. What does not fit stands behind a block that the next step begins with. */
const MOVEMENTS = 200;

async function record(
  deps: Deps,
  network: Network,
  known: FollowerRow | null,
  { from, head, end, settled, events, paused }: Read,
  beganAt: number,
): Promise<Followed | "old"> {
  const token = network.token.toLowerCase();
  const own = events.filter((event): event is Own => isMovement(event) && event.token === token);
  const confirmed = settled ?? from;
  const settling = own.filter(({ blockNumber }) => blockNumber <= confirmed.number);
  const fits = partOf(settling);
  const whole = fits.length === settling.length;
  const last = fits.at(-1);
  const to = whole || !last ? confirmed : { number: last.blockNumber, hash: last.blockHash, time: last.minedAt };
  const through = whole ? end.number : to.number;
  const level = whole && end.number === head.number;
  const readThrough = Math.max(known?.readThrough ?? 0, sawThrough(network, head.time, beganAt));
  const complete = await book(deps, network, {
    before: known,
    after: {
      ...(known ?? UNREAD),
      network: network.network,
      bookedBlock: to.number,
      bookedHash: to.hash,
      bookedAt: to.time,
      paused: paused ?? known?.paused ?? false,
    },
    head,
    level: level ? { headBlock: head.number, readThrough, readAt: beganAt } : null,
    movements: fits,
    refunds: refundsIn(network, events, to.number),
    wallets: walletsIn(network, events, to.number),
    payments: own.filter((event) => event.kind === "settled" && event.blockNumber <= through) as PaymentAt[],
    through,
  });
  if (!level || !complete) return "far";
  return isLate({ readThrough }, Date.now()) ? "old" : "level";
}

const UNREAD = { headBlock: 0, readThrough: 0, readAt: 0, checkedDid: "", checkedReceipt: 0, bound: [] };

/** Up to which instant every payment was seen: the head's, or the reading's where a block is mined for a transaction alone. */
const sawThrough = ({ block_seconds }: Network, headTime: number, beganAt: number): number =>
  block_seconds === 0 ? beganAt : headTime;

/** As many as fit, cut between two blocks; a block that has more of them is taken whole. */
function partOf(movements: readonly Own[]): readonly Own[] {
  const next = movements[MOVEMENTS];
  if (!next) return movements;
  const before = movements.filter(({ blockNumber }) => blockNumber < next.blockNumber);
  return before.length > 0 ? before : movements.filter(({ blockNumber }) => blockNumber === next.blockNumber);
}
