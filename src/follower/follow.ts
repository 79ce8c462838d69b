// The follower of a network (CHN-24): reads the contract's events after the last booked block, and books what moved a vault once it has the network's
// confirmations and two readings agree. Safe to run twice and concurrently: each batch is guarded by the place that it read from.
import { digestOfEvents } from "../chain/digests.ts";
import type { BlockAt, BlockRef, EventAt, EventsReading } from "../chain/gateway.ts";
import { eventsUpTo } from "../chain/logs.ts";
import { type Network, networkNamed } from "../chain/networks.ts";
import { isLate } from "../chain/standing.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { realTimeOf } from "../core/clock.ts";
import { Conflict } from "../core/retry.ts";
import { commit, counted, readBatch } from "../db/batch.ts";
import type { FollowerRow, SeenRange } from "../db/tables/chain.ts";
import { isMovement, type Movement } from "../escrow/ledger.ts";
import { BLOCK_CLOCK_SKEW_MS } from "../intents/states.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";
import { actsIn } from "./acts.ts";
import { book } from "./book.ts";
import { noteLag } from "./lag.ts";
import type { PaymentAt } from "./payments.ts";
import { refundAddressesIn, refundsIn } from "./refunds.ts";
import { rewind } from "./rewind.ts";
import { CHECKED_AT_ONCE, checkable, checkSettlements } from "./settlements.ts";
import { findFollower, findUnchecked, noteTurned, type Recorded } from "./store.ts";
import { TURNED_AT_ONCE, turnedBefore } from "./turn.ts";
import { walletsIn } from "./wallets.ts";

/**
 * `level`: the follower has read to the head. `far`: there is more to read. `full`: there is more to read, but the run has used up its statements.
 * `stuck`: no node answers, or none can be believed.
 */
export type Followed = "level" | "far" | "full" | "stuck";

/** A call begins no further step once it has sent this many statements, because an invocation may send D1 only 1,000 (JOB-12). */
const STATEMENTS = 600;
/** The number of times that one run reads the same blocks again to confirm them. */
const SECOND_LOOKS = 3;

/**
 * Reads up to the head, or until an instant (epoch milliseconds, real time). A range in which something moved is read a second time at once, and so
 * booked; other ranges wait for the next run, unless `whole`. Blocks that are mined meanwhile are left to the next run.
 */
export async function followNetwork(
  deps: Deps,
  name: string,
  until: number,
  { whole = false, most = STATEMENTS }: { readonly whole?: boolean; readonly most?: number } = {},
): Promise<Followed> {
  const followed = await readOn(deps, name, { until, whole, most });
  return followed === "old" ? "level" : followed;
}

/** Reads on like `followNetwork`. Returns true only at a recent head, because a stalled node has not seen what was paid meanwhile. */
export const readToNow = async (deps: Deps, name: string, until: number): Promise<boolean> =>
  (await readOn(deps, name, { until, whole: false, most: STATEMENTS })) === "level";

type How = { readonly until: number; readonly whole: boolean; readonly most: number };

async function readOn(deps: Deps, name: string, { until, whole, most }: How): Promise<Followed | "old"> {
  const network = networkNamed(deps.config.networks, name);
  const { db, sent } = counted(deps.db);
  let looks = 0;
  let target: number | null = null;
  for (;;) {
    const { followed, booked, settled, moved } = await step({ ...deps, db }, network);
    const isFull = followed === "far" && sent() >= most;
    if (followed === "far" && !isFull && Date.now() < until) continue;
    target ??= moved || whole ? settled : booked;
    if (followed !== "far" && followed !== "stuck" && booked < target && Date.now() < until && ++looks <= SECOND_LOOKS)
      continue;
    if (followed !== "level") await noteLag(deps, name);
    if (isFull) return "full";
    if (whole && booked < target) return "stuck";
    return followed;
  }
}

type Step = {
  /** `old`: level with a head whose block is so old that the node may have stalled. */
  readonly followed: Followed | "old";
  readonly booked: number;
  readonly head: number;
  /** The last block with the network's confirmations. `moved`: something has moved between the booked block and this one. */
  readonly settled: number;
  readonly moved: boolean;
};
const without = (followed: Followed): Step => ({ followed, booked: 0, head: 0, settled: 0, moved: false });

async function step(deps: Deps, network: Network): Promise<Step> {
  const { db, chain } = deps;
  const name = network.network;
  const beganAt = Date.now();
  const { known, unchecked } = await readBatch(db, {
    known: findFollower(db, name),
    unchecked: findUnchecked(db, name, CHECKED_AT_ONCE),
  });
  try {
    if (known && known.turned.length > 0) {
      await recordTurned(deps, known);
      return without("far");
    }
    const read = await chain.readEvents(name, placeOf(network, known));
    if (!read.ok && read.error.reason === "contradiction") await commit(db, [raiseAlert(db, contradicting(name))]);
    if (!read.ok || read.value.state === "behind") return without("stuck");
    if (read.value.state === "read") {
      const recorded = await record(deps, network, known, read.value, beganAt);
      if (!(await compareBooked(deps, network, recorded, unchecked))) return without("far");
      // A reorg may have removed the events of a facilitated settlement whose block is not booked yet.
      const isUnbooked = unchecked.some(
        (one) => one.network === name && one.blockNumber > recorded.booked && one.blockNumber <= recorded.settled,
      );
      return { ...recorded, moved: recorded.moved || isUnbooked };
    }
    return without(known && (await rewind(deps, network, known)) ? "far" : "stuck");
  } catch (thrown) {
    // Another run was faster, or an escrow moved meanwhile: the next step reads what is stored now.
    if (thrown instanceof Conflict) return without("far");
    throw thrown;
  }
}

/** Writes the events of changed escrows that an earlier batch had no room for. */
async function recordTurned(deps: Deps, { network, turned }: FollowerRow): Promise<void> {
  const recorded = turned.slice(0, TURNED_AT_ONCE);
  const statements = await turnedBefore(deps, network, recorded);
  await commitAll(deps, [...statements, ...noteTurned(deps.db, network, { recorded })]);
}

/** Compares settlements whose blocks are booked, before the network counts as level. Returns false if there is more to compare or to read again. */
async function compareBooked(
  deps: Deps,
  network: Network,
  { followed, booked, head }: Step,
  unchecked: readonly Recorded[],
): Promise<boolean> {
  const place = { booked, head: followed === "level" ? head : null };
  const due = checkable(network, place, unchecked);
  if (due.length === 0) return true;
  const { known } = await readBatch(deps.db, { known: findFollower(deps.db, network.network) });
  const checked = known ? await checkSettlements(deps, network, known, due, place.head) : "stuck";
  return checked === "stuck" || (checked === "checked" && due.length < CHECKED_AT_ONCE);
}

const contradicting = (network: string): Alert => ({
  kind: "network",
  subject: `answers of ${network}`,
  message:
    "A node reports different events for a transaction than for its block: nothing is booked until its answers agree.",
});

export const placeOf = ({ first_block }: Network, known: FollowerRow | null) =>
  known
    ? { number: known.bookedBlock, hash: known.bookedHash, seen: known.seen?.number }
    : { number: Math.max(0, first_block - 1), hash: null };

type Read = Extract<EventsReading, { state: "read" }>;

type Own = Movement & EventAt;

/** Movements of one batch, unless a single block has more. The next step continues with the rest. */
const MOVEMENTS = 200;

export async function record(
  deps: Deps,
  network: Network,
  known: FollowerRow | null,
  read: Read,
  beganAt: number,
  stored?: Parameters<typeof book>[3],
): Promise<Step> {
  const { from, head, end, settled, events, paused, second } = read;
  const token = network.token.toLowerCase();
  const own = events.filter((event): event is Own => isMovement(event) && event.token === token);
  const alone = network.fallback_rpc_url !== undefined && settled !== null && second === null;
  const found = findConfirmed(known?.seen ?? null, read);
  const held = found && alone ? await areHeld(deps, network, own, found) : "held";
  if (held === "unread") return without("stuck");
  const confirmed = held === "held" ? found : null;
  const settling = eventsUpTo(own, confirmed ?? from) as Own[];
  const fits = partOf(settling);
  const whole = fits.length === settling.length;
  const last = fits.at(-1);
  const to =
    whole || !last ? (confirmed ?? from) : { number: last.blockNumber, hash: last.blockHash, time: last.minedAt };
  const through = whole ? end.number : to.number;
  const level = whole && end.number === head.number;
  const saw = sawThrough(network, head.time, beganAt, realTimeOf(deps.clock));
  const readThrough = Math.max(known?.readThrough ?? 0, saw.through);
  const contradicted = confirmed === null;
  const began = known ?? { ...UNREAD, beganBlock: head.number };
  const reading = {
    before: known,
    after: {
      ...began,
      network: network.network,
      bookedBlock: to.number,
      bookedHash: to.hash,
      bookedAt: to.time,
      paused: paused ?? known?.paused ?? false,
      seen: contradicted && second !== null ? null : describeSeen(read, to, whole ? settled : confirmed),
    },
    head,
    level: level ? { headBlock: head.number, readThrough, readAt: beganAt } : null,
    movements: fits,
    refunds: refundsIn(network, events, to.number),
    refundAddresses: refundAddressesIn(network, events, to.number),
    wallets: walletsIn(network, events, to.number),
    walletsSeen: walletsIn(network, events, through),
    acts: {
      ...{ after: from.number, through, booked: to.number, readAt: end.time },
      events: actsIn(events, began.beganBlock, through),
    },
    payments: own.filter((event) => event.kind === "settled" && event.blockNumber <= through) as PaymentAt[],
    through,
    contradicted,
    future: saw.future,
    alone,
  };
  const complete = await book(deps, network, reading, stored);
  const place = {
    booked: to.number,
    head: head.number,
    settled: settled?.number ?? to.number,
    moved: settled !== null && eventsUpTo(events, settled).some(isBehind(to)),
  };
  if (!complete && known) return { ...place, followed: "far", booked: from.number };
  if (contradicted) return { followed: "stuck", ...place };
  if (!level || !complete) return { followed: "far", ...place };
  return { followed: isLate({ readThrough: saw.through }, Date.now()) ? "old" : "level", ...place };
}

const isBehind =
  ({ number }: BlockAt) =>
  ({ blockNumber }: EventAt): boolean =>
    blockNumber > number;

const UNREAD = {
  headBlock: 0,
  readThrough: 0,
  readAt: 0,
  checkedDid: "",
  checkedReceipt: 0,
  bound: [],
  rereadFor: null,
  turned: [],
};

/**
 * Returns the last block up to which two readings agree: those of both nodes if the second one answers, otherwise this one and the one before it.
 * Returns `from` if there is no earlier reading to compare with, and null if the two contradict each other and no reorg explains it.
 */
export function findConfirmed(
  seen: SeenRange | null,
  { from, settled, events, seenHash, second }: Read,
): BlockRef | null {
  if (settled === null) return from;
  if (second !== null) return second === "same" ? settled : null;
  if (seen === null || seen.number > settled.number || seen.hash !== seenHash) return from;
  return digestOfEvents(eventsUpTo(events, seen), seen.hash) === seen.digest ? seen : null;
}

/** Checks that vaults hold at a block what their last events up to it say. This is asked if only one of two nodes reports the events. */
async function areHeld(
  { chain }: Deps,
  { network }: Network,
  own: readonly Own[],
  at: BlockRef,
): Promise<"held" | "less" | "unread"> {
  const last = new Map(
    (eventsUpTo(own, at) as Own[]).map((event) => [`${event.providerDidHash} ${event.contract}`, event] as const),
  );
  const moved = [...last.values()];
  for (let n = 0; n < moved.length; n += HELD_AT_ONCE) {
    const part = moved.slice(n, n + HELD_AT_ONCE);
    const read = await chain.readVaults(network, at, part);
    if (!read.ok || read.value.state !== "read") return "unread";
    const { balances } = read.value;
    if (part.some(({ vaultBalance }, place) => (balances[place] ?? 0n) < vaultBalance)) return "less";
  }
  return "held";
}
const HELD_AT_ONCE = 50;

/** Describes what this reading has found after the booked block, so that the next one can be compared with it. */
function describeSeen({ events }: Read, booked: BlockAt, to: BlockRef | null): SeenRange | null {
  if (to === null || to.number <= booked.number) return null;
  const behind = eventsUpTo(events, to).filter(isBehind(booked));
  return { number: to.number, hash: to.hash, time: to.time, digest: digestOfEvents(behind, to.hash) };
}

/**
 * `through`: the instant up to which every payment was seen. It is the head's time, or the reading's if blocks are mined only for transactions.
 * `future`: no clock of a chain explains the head's time, so the head is believed only up to real time.
 */
function sawThrough({ block_seconds }: Network, headTime: number, beganAt: number, now: number) {
  if (block_seconds === 0) return { through: beganAt, future: false };
  const future = headTime > now + BLOCK_CLOCK_SKEW_MS;
  return { through: future ? now : headTime, future };
}

/** Takes as many as fit, and cuts only between blocks: a block that has more of them is taken whole. */
function partOf(movements: readonly Own[]): readonly Own[] {
  const next = movements[MOVEMENTS];
  if (!next) return movements;
  const before = movements.filter(({ blockNumber }) => blockNumber < next.blockNumber);
  return before.length > 0 ? before : movements.filter(({ blockNumber }) => blockNumber === next.blockNumber);
}
