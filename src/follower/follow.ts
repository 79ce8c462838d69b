// The follower of a network (CHN-24): reads the contract's events after the last booked block, and books what moved a vault once it has the network's
// confirmations and two readings agree. Safe to run twice and concurrently: each batch is guarded by the place that it read from.
import { isFollowerLate } from "../chain/availability.ts";
import { digestEvents } from "../chain/digests.ts";
import type { BlockAt, BlockRef, EventAt, EventsReading } from "../chain/gateway.ts";
import { filterEventsUpTo } from "../chain/logs.ts";
import { type Network, requireNetwork } from "../chain/networks.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { toRealTime } from "../core/clock.ts";
import { Conflict } from "../core/retry.ts";
import { commit, countStatements, readBatch } from "../db/batch.ts";
import type { FollowerRow, SeenRange } from "../db/tables/chain.ts";
import { isMovement, type Movement } from "../escrow/ledger.ts";
import { BLOCK_CLOCK_SKEW_MS } from "../intents/states.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";
import { pickActs } from "./acts.ts";
import { bookReading } from "./book.ts";
import { recordEarlierTurns, recordLag, TURNED_AT_ONCE } from "./escrow-turns.ts";
import type { PaymentAt } from "./payments.ts";
import { pickRefundAddresses, pickRefunds } from "./refunds.ts";
import { rewindToKept } from "./rewind.ts";
import { CHECKED_AT_ONCE, checkSettlements, pickCheckable } from "./settlements.ts";
import { changeTurned, findFollower, findUncheckedSettlements, type RecordedSettlement } from "./store.ts";
import { pickWallets } from "./wallets.ts";

/**
 * `level`: the follower has read to the head. `far`: there is more to read. `full`: there is more to read, but the run has used up its statements.
 * `stuck`: no node answers, or none can be believed.
 */
export type Followed = "level" | "far" | "full" | "stuck";

/** A call begins no further step once it has sent this many statements, because an invocation may send D1 only 1,000 (JOB-12). */
const STATEMENTS_OF_CALL = 600;
/** The number of times that one run reads the same blocks again to confirm them. */
const CONFIRMING_READS = 3;

/**
 * Reads up to the head, or until an instant (epoch milliseconds, real time). A range in which something moved is read a second time at once, and so
 * booked; other ranges wait for the next run, unless `whole`. Blocks that are mined meanwhile are left to the next run.
 */
export async function followNetwork(
  deps: Deps,
  name: string,
  until: number,
  { whole = false, most = STATEMENTS_OF_CALL }: { readonly whole?: boolean; readonly most?: number } = {},
): Promise<Followed> {
  const followed = await runFollower(deps, name, { until, whole, most });
  return followed === "old" ? "level" : followed;
}

/** Reads on like `followNetwork`. Returns true only at a recent head, because a stalled node has not seen what was paid meanwhile. */
export const readToNow = async (deps: Deps, name: string, until: number): Promise<boolean> =>
  (await runFollower(deps, name, { until, whole: false, most: STATEMENTS_OF_CALL })) === "level";

type RunLimits = { readonly until: number; readonly whole: boolean; readonly most: number };

async function runFollower(deps: Deps, name: string, { until, whole, most }: RunLimits): Promise<Followed | "old"> {
  const network = requireNetwork(deps.config.networks, name);
  const { db, sent } = countStatements(deps.db);
  let looks = 0;
  let target: number | null = null;
  for (;;) {
    const { followed, booked, settled, moved } = await followStep({ ...deps, db }, network);
    const isFull = followed === "far" && sent() >= most;
    if (followed === "far" && !isFull && Date.now() < until) continue;
    target ??= moved || whole ? settled : booked;
    if (
      followed !== "far" &&
      followed !== "stuck" &&
      booked < target &&
      Date.now() < until &&
      ++looks <= CONFIRMING_READS
    )
      continue;
    if (followed !== "level") await recordLag(deps, name);
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
const createEmptyStep = (followed: Followed): Step => ({ followed, booked: 0, head: 0, settled: 0, moved: false });

async function followStep(deps: Deps, network: Network): Promise<Step> {
  const { db, chain } = deps;
  const name = network.network;
  const beganAt = Date.now();
  const { known, unchecked } = await readBatch(db, {
    known: findFollower(db, name),
    unchecked: findUncheckedSettlements(db, name, CHECKED_AT_ONCE),
  });
  try {
    if (known && known.turned.length > 0) {
      await recordTurnedEscrows(deps, known);
      return createEmptyStep("far");
    }
    const read = await chain.readEvents(name, toBookedPlace(network, known));
    if (!read.ok && read.error.reason === "contradiction")
      await commit(db, [raiseAlert(db, toContradictingAnswersAlert(name))]);
    if (!read.ok || read.value.state === "behind") return createEmptyStep("stuck");
    if (read.value.state === "read") {
      const recorded = await recordChainReading(deps, network, known, { ...read.value, beganAt });
      if (!(await compareBookedSettlements(deps, network, recorded, unchecked))) return createEmptyStep("far");
      // A reorg may have removed the events of a facilitated settlement whose block is not booked yet.
      const isUnbooked = unchecked.some(
        (one) => one.network === name && one.blockNumber > recorded.booked && one.blockNumber <= recorded.settled,
      );
      return { ...recorded, moved: recorded.moved || isUnbooked };
    }
    return createEmptyStep(known && (await rewindToKept(deps, network, known)) ? "far" : "stuck");
  } catch (thrown) {
    // Another run was faster, or an escrow moved meanwhile: the next step reads what is stored now.
    if (thrown instanceof Conflict) return createEmptyStep("far");
    throw thrown;
  }
}

/** Writes the events of changed escrows that an earlier batch had no room for. */
async function recordTurnedEscrows(deps: Deps, { network, turned }: FollowerRow): Promise<void> {
  const recorded = turned.slice(0, TURNED_AT_ONCE);
  const statements = await recordEarlierTurns(deps, network, recorded);
  await commitAll(deps, [...statements, ...changeTurned(deps.db, network, { recorded })]);
}

/** Compares settlements whose blocks are booked, before the network counts as level. Returns false if there is more to compare or to read again. */
async function compareBookedSettlements(
  deps: Deps,
  network: Network,
  { followed, booked, head }: Step,
  unchecked: readonly RecordedSettlement[],
): Promise<boolean> {
  const place = { booked, head: followed === "level" ? head : null };
  const due = pickCheckable(network, place, unchecked);
  if (due.length === 0) return true;
  const { known } = await readBatch(deps.db, { known: findFollower(deps.db, network.network) });
  const checked = known ? await checkSettlements(deps, network, known, due, place.head) : "stuck";
  return checked === "stuck" || (checked === "checked" && due.length < CHECKED_AT_ONCE);
}

const toContradictingAnswersAlert = (network: string): Alert => ({
  kind: "network",
  subject: `answers of ${network}`,
  message:
    "A node reports different events for a transaction than for its block: nothing is booked until its answers agree.",
});

export const toBookedPlace = ({ first_block }: Network, known: FollowerRow | null) =>
  known
    ? { number: known.bookedBlock, hash: known.bookedHash, seen: known.seen?.number }
    : { number: Math.max(0, first_block - 1), hash: null };

type Read = Extract<EventsReading, { state: "read" }>;

type TokenMovement = Movement & EventAt;

/** Movements of one batch, unless a single block has more. The next step continues with the rest. */
const MOVEMENTS = 200;

export async function recordChainReading(
  deps: Deps,
  network: Network,
  known: FollowerRow | null,
  read: Read & { readonly beganAt: number },
  stored?: Parameters<typeof bookReading>[3],
): Promise<Step> {
  const { from, head, end, settled, events, paused, second, beganAt } = read;
  const token = network.token.toLowerCase();
  const own = events.filter((event): event is TokenMovement => isMovement(event) && event.token === token);
  const alone = network.fallback_rpc_url !== undefined && settled !== null && second === null;
  const found = findConfirmedBlock(known?.seen ?? null, read);
  const held = found && alone ? await checkHeldBalances(deps, network, own, found) : "held";
  if (held === "unread") return createEmptyStep("stuck");
  const confirmed = held === "held" ? found : null;
  const settling = filterEventsUpTo(own, confirmed ?? from) as TokenMovement[];
  const fits = takeFittingMovements(settling);
  const whole = fits.length === settling.length;
  const last = fits.at(-1);
  const to =
    whole || !last ? (confirmed ?? from) : { number: last.blockNumber, hash: last.blockHash, time: last.minedAt };
  const through = whole ? end.number : to.number;
  const level = whole && end.number === head.number;
  const saw = findSeenInstant(network, head.time, beganAt, toRealTime(deps.clock));
  const readThrough = Math.max(known?.readThrough ?? 0, saw.through);
  const contradicted = confirmed === null;
  const began = known ?? { ...UNREAD_FOLLOWER, beganBlock: head.number };
  const reading = {
    before: known,
    after: {
      ...began,
      network: network.network,
      bookedBlock: to.number,
      bookedHash: to.hash,
      bookedAt: to.time,
      paused: paused ?? known?.paused ?? false,
      seen: contradicted && second !== null ? null : toSeenRange(read, to, whole ? settled : confirmed),
    },
    head,
    level: level ? { headBlock: head.number, readThrough, readAt: beganAt } : null,
    movements: fits,
    refunds: pickRefunds(network, events, to.number),
    refundAddresses: pickRefundAddresses(network, events, to.number),
    wallets: pickWallets(network, events, to.number),
    walletsSeen: pickWallets(network, events, through),
    acts: {
      ...{ after: from.number, through, booked: to.number, readAt: end.time },
      events: pickActs(events, began.beganBlock, through),
    },
    payments: own.filter((event) => event.kind === "settled" && event.blockNumber <= through) as PaymentAt[],
    through,
    contradicted,
    future: saw.future,
    alone,
  };
  const complete = await bookReading(deps, network, reading, stored);
  const place = {
    booked: to.number,
    head: head.number,
    settled: settled?.number ?? to.number,
    moved: settled !== null && filterEventsUpTo(events, settled).some(isEventAfter(to)),
  };
  if (!complete && known) return { ...place, followed: "far", booked: from.number };
  if (contradicted) return { followed: "stuck", ...place };
  if (!level || !complete) return { followed: "far", ...place };
  return { followed: isFollowerLate({ readThrough: saw.through }, Date.now()) ? "old" : "level", ...place };
}

const isEventAfter =
  ({ number }: BlockAt) =>
  ({ blockNumber }: EventAt): boolean =>
    blockNumber > number;

const UNREAD_FOLLOWER = {
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
export function findConfirmedBlock(
  seen: SeenRange | null,
  { from, settled, events, seenHash, second }: Read,
): BlockRef | null {
  if (settled === null) return from;
  if (second !== null) return second === "same" ? settled : null;
  if (seen === null || seen.number > settled.number || seen.hash !== seenHash) return from;
  return digestEvents(filterEventsUpTo(events, seen), seen.hash) === seen.digest ? seen : null;
}

/** Checks that vaults hold at a block what their last events up to it say. This is asked if only one of two nodes reports the events. */
async function checkHeldBalances(
  { chain }: Deps,
  { network }: Network,
  own: readonly TokenMovement[],
  at: BlockRef,
): Promise<"held" | "less" | "unread"> {
  const last = new Map(
    (filterEventsUpTo(own, at) as TokenMovement[]).map(
      (event) => [`${event.providerDidHash} ${event.contract}`, event] as const,
    ),
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
function toSeenRange({ events }: Read, booked: BlockAt, to: BlockRef | null): SeenRange | null {
  if (to === null || to.number <= booked.number) return null;
  const behind = filterEventsUpTo(events, to).filter(isEventAfter(booked));
  return { number: to.number, hash: to.hash, time: to.time, digest: digestEvents(behind, to.hash) };
}

/**
 * `through`: the instant up to which every payment was seen. It is the head's time, or the reading's if blocks are mined only for transactions.
 * `future`: no clock of a chain explains the head's time, so the head is believed only up to real time.
 */
function findSeenInstant({ block_seconds }: Network, headTime: number, beganAt: number, now: number) {
  if (block_seconds === 0) return { through: beganAt, future: false };
  const future = headTime > now + BLOCK_CLOCK_SKEW_MS;
  return { through: future ? now : headTime, future };
}

/** Takes as many as fit, and cuts only between blocks: a block that has more of them is taken whole. */
function takeFittingMovements(movements: readonly TokenMovement[]): readonly TokenMovement[] {
  const next = movements[MOVEMENTS];
  if (!next) return movements;
  const before = movements.filter(({ blockNumber }) => blockNumber < next.blockNumber);
  return before.length > 0 ? before : movements.filter(({ blockNumber }) => blockNumber === next.blockNumber);
}
