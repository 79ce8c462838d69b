// A reorg that removes a settlement ends its dispute, even if it had ended before: nothing is owed or awaited any longer, neither side wins, and no
// arbiter decides it (DSP-11, FAC-18).
import { beforeAll, describe, expect, it } from "vitest";
import { endPaidRefunds } from "../../src/chain/store.ts";
import { asConsumer, confirm, facilitated, type Pair, pairOf } from "../facilitation/support.ts";
import { ratingOf, sumsOf, taskOf } from "../follower/reversals.ts";
import { follow, heldBy, takenAway } from "../follower/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import {
  act,
  arbitrated,
  type Bought,
  countsOf,
  type Disputed,
  disputed,
  endDays,
  escrowOf,
  eventsAbout,
  file,
  pass,
  payOut,
  read,
  recordDays,
  resolve,
} from "./support.ts";

let world: World;
/** The agents with which every pair has traded before. */
let others: Pair;
beforeAll(async () => {
  world = await createWorld();
  others = await pairOf(world);
  await follow(world);
});

const DAYS = 8;
const answer = { message: "It was delivered.", offer_amount: "4" };
const awarded =
  (resolution: string) =>
  async (one: Disputed): Promise<void> => {
    await arbitrated(world, one);
    const part = resolution === "partially_upheld" && { refund_amount: "4" };
    expectStatus(await resolve(world, one.id, { resolution, ...part }), 200);
  };

const ENDS: Readonly<Record<string, (one: Disputed) => Promise<void>>> = {
  "left open": async () => undefined,
  conceded: async ({ provider, id }) => void expectStatus(await act(world, provider, id, "concede"), 200),
  accepted: async ({ provider, consumer, id }) => {
    expectStatus(await act(world, provider, id, "respond", answer), 200);
    expectStatus(await act(world, consumer, id, "accept"), 200);
  },
  upheld: awarded("upheld"),
  "upheld in part": awarded("partially_upheld"),
  rejected: awarded("rejected"),
};

const storedOf = async (id: string): Promise<Json> =>
  (await rows("select * from disputes where dispute_id = ?", id))[0] as Json;
const operationsOf = ({ id, fac }: Disputed): Promise<Json[]> =>
  rows(
    `select kind, status from chain_operations where (kind = 'payout' and subject = ?)
      or (kind = 'refund' and subject = (select settlement_key from transactions where transaction_id = ?))`,
    id,
    fac.transaction_id,
  );
const ratingsOf = ({ provider, consumer }: Pair): Promise<Json[]> =>
  Promise.all([provider, consumer].flatMap(({ did }) => [ratingOf(did), sumsOf(did)]));
/** Rounds away the float noise that a subtraction leaves, and drops `rating_heaviest`, which a reversal may not restore. */
const near = (rated: readonly Json[]): string[] =>
  rated.map(({ rating_heaviest: _, ...row }) =>
    JSON.stringify(row).replace(/\d+\.\d+/g, (number) => Number(number).toPrecision(9)),
  );
const NOBODYS = { open: 0, won: 0, lost: 0 };

/** A pair whose agents have traded with others before. */
async function known(): Promise<Pair> {
  const pair = await pairOf(world);
  for (const other of [
    { ...pair, consumer: others.consumer },
    { ...pair, provider: others.provider },
  ]) {
    const { task, consumer } = await facilitated(world, other, "100.00");
    expectStatus(await confirm(world, consumer, task), 200);
  }
  return pair;
}

async function expectEnded(one: Disputed): Promise<void> {
  expect(await read(world, one.consumer, one.id)).toMatchObject({
    status: "resolved",
    resolution: "withdrawn",
    refund_amount: "0.00",
    refund_status: "none",
    refund_from: null,
    refund_due: null,
    bounty_owed_by: null,
    bounty_outstanding: "0.00",
  });
  expect(await storedOf(one.id)).toMatchObject({ due_at: null, owed: 0, ended_by: "reversal" });
  expect(await operationsOf(one)).toEqual([]);
  expect(await escrowOf(one.provider.did)).toMatchObject({ disputed: 0, owed: 0 });
  for (const side of ["provider", "consumer"] as const) expect(await countsOf(one[side].did)).toEqual(NOBODYS);
  expect(await taskOf(one.task)).toMatchObject({
    ...{ provider_rated_by: null, consumer_rated_by: null, provider_rated_at: null },
    ...{ verdict: null, verdict_score: null },
  });
}

describe.each(Object.entries(ENDS))("a dispute that was %s", (_name, end) => {
  it.each([
    ["held its task", false],
    ["is about a closed task", true],
  ])("and %s ends with its settlement, and both ratings are as before the purchase", async (_what, closed) => {
    const pair = await known();
    const before = await ratingsOf(pair);
    const bought = await facilitated(world, pair);
    if (closed) expectStatus(await confirm(world, bought.consumer, bought.task), 200);
    const dispute = expectStatus(await file(world, bought), 201);
    const one = { ...bought, dispute, id: dispute.dispute_id };
    await end(one);
    const told = (await eventsAbout(one.id)).length;
    await takenAway(world, one.fac.transaction_id);
    await expectEnded(one);
    expect((await eventsAbout(one.id)).slice(told)).toEqual(["dispute.resolved"]);
    const after = await ratingsOf(pair);
    expect(near(after)).toEqual(near(before));
    await nothingFollows(one);
    expect(await ratingsOf(pair)).toEqual(after);
  });
});

/** Neither time, nor the arbiter, nor later chain events change the dispute. */
async function nothingFollows(one: Disputed): Promise<void> {
  const before = await storedOf(one.id);
  await rows("update disputes set due_at = 1 where dispute_id = ? and due_at is not null", one.id);
  await endDays(world);
  const held = await heldBy(one.provider.did);
  await payOut(world, one.id);
  expect(await heldBy(one.provider.did)).toBe(held);
  const reply = await resolve(world, one.id, { resolution: "upheld" });
  expect([reply.status, reply.body.code]).toEqual([409, "invalid_status"]);
  expect(await storedOf(one.id)).toEqual(before);
}

it("a reversed dispute still shows what was paid of its award, and nothing further is paid", async () => {
  const one = await disputed(world);
  await deposit(one.provider.did, 3_000_000);
  await follow(world);
  await awarded("upheld")(one);
  await payOut(world, one.id);
  expect(await read(world, one.consumer, one.id)).toMatchObject({ refund_status: "owed", paid_from_vault: "3.9995" });
  await takenAway(world, one.fac.transaction_id);
  await expectEnded(one);
  await deposit(one.provider.did, 20_000_000);
  await follow(world);
  await nothingFollows(one);
});

it("a dispute that its consumer had withdrawn stays as it is", async () => {
  const one = await disputed(world);
  expectStatus(await act(world, one.consumer, one.id, "withdraw"), 200);
  await takenAway(world, one.fac.transaction_id);
  expect(await read(world, one.consumer, one.id)).toMatchObject({ status: "resolved", resolution: "withdrawn" });
  expect(await storedOf(one.id)).toMatchObject({ ended_by: "consumer" });
  expect(await taskOf(one.task)).toMatchObject({ status: "void" });
  await recordDays(world, one.id);
});

describe("a payment that is mined again in another block", () => {
  it("can be disputed again, and the old dispute does not affect the new one", async () => {
    const one = await disputed(world);
    expectStatus(await act(world, one.provider, one.id, "concede"), 200);
    await takenAway(world, one.fac.transaction_id);
    const fac = expectStatus(await asConsumer(world, one), 200);
    expect(fac.transaction_id).not.toBe(one.fac.transaction_id);
    const again: Bought = { ...one, fac, task: fac.task_id };
    const { dispute_id: id } = expectStatus(await file(world, again), 201);
    const anew = { ...again, dispute: {}, id };
    expectStatus(await act(world, one.provider, id, "concede"), 200);
    expect(await operationsOf(anew)).toEqual([{ kind: "refund", status: "waiting" }]);
    const [settled] = await rows("select network, settlement_key from disputes where dispute_id = ?", one.id);
    await world.deps.db.batch([endPaidRefunds(world.deps.db, settled?.network, [settled?.settlement_key], Date.now())]);
    await pass(one.id, DAYS);
    await recordDays(world, one.id);
    expect(await storedOf(one.id)).toMatchObject({ resolution: "withdrawn", refund_status: "none", due_at: null });
    expect(await read(world, one.consumer, id)).toMatchObject({ resolution: "upheld", refund_status: "owed" });
    expect(await operationsOf(anew)).toEqual([{ kind: "refund", status: "waiting" }]);
    expect(await countsOf(one.provider.did)).toEqual({ open: 0, won: 0, lost: 1 });
    expect(await ratingOf(one.provider.did)).toMatchObject({ rating_interactions: 1 });
  });
});

describe("a settlement that was reversed", () => {
  const reverse = ({ fac }: Bought) =>
    rows("update transactions set reversed_at = ? where transaction_id = ?", world.now(), fac.transaction_id);

  it("cannot be decided by an arbiter", async () => {
    const one = await disputed(world);
    await arbitrated(world, one);
    const before = [await storedOf(one.id), await ratingOf(one.provider.did)];
    await reverse(one);
    const reply = await resolve(world, one.id, { resolution: "upheld" });
    expect([reply.status, reply.body.code, reply.body.message]).toEqual([
      409,
      "invalid_status",
      "A reorg removed the settlement: there is nothing to decide.",
    ]);
    expect([await storedOf(one.id), await ratingOf(one.provider.did)]).toEqual(before);
  });

  it("brings no dispute back to the arbiter when a refund is overdue", async () => {
    const one = await disputed(world);
    expectStatus(await act(world, one.provider, one.id, "concede"), 200);
    await reverse(one);
    await pass(one.id, DAYS);
    await rows(
      "update chain_operations set status = 'failed', reason = 'unpaid' where kind = 'refund' and subject = (select settlement_key from disputes where dispute_id = ?)",
      one.id,
    );
    const { due_at: _, ...before } = await storedOf(one.id);
    await recordDays(world, one.id);
    expect(await storedOf(one.id)).toEqual({ ...before, due_at: null });
  });

  it("cannot be disputed, even if it is reversed during the filing", async () => {
    const bought = await facilitated(world);
    expectStatus(await confirm(world, bought.consumer, bought.task), 200);
    world.meter.beforeBatch(2, () => takenAway(world, bought.fac.transaction_id));
    const reply = await file(world, bought);
    world.meter.beforeBatch(Number.POSITIVE_INFINITY, async () => undefined);
    expect([reply.status, reply.body.code]).toEqual([404, "facilitation_not_found"]);
    expect(await rows("select 1 from disputes where transaction_id = ?", bought.fac.transaction_id)).toEqual([]);
  });
});
