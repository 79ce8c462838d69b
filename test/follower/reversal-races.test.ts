// A reversal that dies between any two trips, or is concurrent with the confirmation of its task, ends in one of two ways: the task is void and rates
// no agent, or it is closed and its signals are taken back (FAC-18). Only this file uses the network `lab-raced`.
import { afterEach, describe, expect, it } from "vitest";
import { confirm, type Pair } from "../facilitation/support.ts";
import { buyer, dailyLimit, spendState } from "../payments/support.ts";
import type { Reply, World } from "../support/world.ts";
import {
  eventsOf,
  intentOf,
  type Reversals,
  ratingOf,
  type Settled,
  sumsOf,
  taskOf,
  transactionOf,
  UNIT,
  useReversals,
} from "./reversals.ts";
import { escrowOf, followMessages, linesOf } from "./support.ts";

const LAB = "lab-raced";
/** The trips of a run of the follower that undoes a block and reverses its settlement, and some more. */
const TRIPS = Array.from({ length: 14 }, (_, n) => n + 1);

let chain: Reversals;
let world: World;
useReversals(LAB, (opened) => {
  chain = opened;
  world = opened.world;
});
const forget = () => world.meter.beforeBatch(Number.POSITIVE_INFINITY, async () => undefined);
afterEach(forget);

/** A facilitated settlement that the follower has booked, and whose block is gone. */
async function gone(): Promise<Settled> {
  const purchase = await chain.facilitated(await chain.pairOf(await buyer(world, dailyLimit("10.00"))));
  await chain.followed();
  await chain.takeAway(purchase);
  return purchase;
}

/** Expects that all of its effects are undone, once. */
async function expectReversed({ id, task, ...purchase }: Settled, status: "void" | "confirmed"): Promise<void> {
  const { consumer, provider } = purchase;
  expect((await transactionOf(id)).reversed_at).toEqual(expect.any(Number));
  expect(await eventsOf("transaction.reversed", id)).toHaveLength(1);
  expect(await eventsOf("task.closed", id)).toEqual([expect.objectContaining({ status })]);
  expect((await taskOf(task)).status).toBe(status);
  expect(await intentOf(purchase)).toMatchObject({ status: "OPEN", transaction_id: null });
  expect(await linesOf(provider.did)).toEqual([]);
  expect(await escrowOf(provider.did)).toMatchObject({ balance: 0, contributed: 0, threshold: 15 * UNIT });
  expect(await spendState(world, consumer.did)).toMatchObject([{ settled: 0, open: 10 * UNIT, ledger: [] }]);
  for (const { did } of [consumer, provider]) {
    expect(await ratingOf(did)).toMatchObject({ rating_weight: 0, rating_interactions: 0, agent_rating: null });
    expect(await sumsOf(did)).toEqual([]);
  }
}

const outcome = ({ status, body }: Reply) => (status === 200 ? [200] : [status, body.code, body.detail]);
const VOID = [409, "invalid_status", { status: "void" }];

describe("twenty settlements that one reorg removes", () => {
  it("are reversed in several runs, each with few statements (JOB-12)", async () => {
    const consumer = await world.consumer();
    const pairs: Pair[] = [];
    for (let n = 0; n < 20; n++) pairs.push(await chain.pairOf(consumer));
    const purchases: Settled[] = [];
    for (const pair of pairs) purchases.push(await chain.facilitated(pair));
    await chain.followed();
    await chain.takeAway(purchases[0] as Settled);
    const statements = [...(await followMessages(world, LAB)), ...(await followMessages(world, LAB))];
    expect(statements.filter((count) => count >= 400)).toEqual([]);
    const reversed = await Promise.all(purchases.map(async ({ id }) => (await transactionOf(id)).reversed_at));
    expect(reversed).toEqual(purchases.map(() => expect.any(Number)));
  });
});

describe("a reversal", () => {
  it.each(TRIPS)("is made by the next run, once, if it dies before its trip %i", async (trip) => {
    const purchase = await gone();
    world.meter.beforeBatch(trip, () => Promise.reject(new Error("the Worker died")));
    await chain.followed().catch(() => false);
    forget();
    await chain.followed();
    await chain.followed();
    await expectReversed(purchase, "void");
  });

  it.each(TRIPS)(
    "takes the signals back or has made the task void if the task is confirmed before its trip %i",
    async (trip) => {
      const purchase = await gone();
      const replies: Reply[] = [];
      world.meter.beforeBatch(
        trip,
        async () => void replies.push(await confirm(world, purchase.consumer, purchase.task)),
      );
      await chain.followed();
      forget();
      await chain.followed();
      const [reply = await confirm(world, purchase.consumer, purchase.task)] = replies;
      const confirmed = reply.status === 200;
      expect(outcome(reply)).toEqual(confirmed ? [200] : VOID);
      await expectReversed(purchase, confirmed ? "confirmed" : "void");
    },
  );
});

describe("a confirmation", () => {
  it.each([1, 2])("is refused and rates no agent if its task is reversed before its trip %i", async (trip) => {
    const purchase = await gone();
    world.meter.beforeBatch(trip, () => chain.followed());
    expect(outcome(await confirm(world, purchase.consumer, purchase.task))).toEqual(VOID);
    await chain.followed();
    await expectReversed(purchase, "void");
  });

  it("is counted and taken back, or refused, if several runs reverse its task meanwhile", async () => {
    for (let round = 0; round < 3; round++) {
      const purchase = await gone();
      const [reply] = await Promise.all([
        confirm(world, purchase.consumer, purchase.task),
        chain.followed(),
        chain.followed(),
      ]);
      await chain.followed();
      const confirmed = reply.status === 200;
      expect(outcome(reply)).toEqual(confirmed ? [200] : VOID);
      await expectReversed(purchase, confirmed ? "confirmed" : "void");
    }
  });
});
