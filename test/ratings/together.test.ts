// Concurrent confirmations of one seller that read the same row (AGT-28): each adds to the sums, and none is refused while the published rating
// stays.
import { eq } from "drizzle-orm";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { publishRatings } from "../../src/agents/ratings.ts";
import { commit, readBatch } from "../../src/db/batch.ts";
import { agents } from "../../src/db/tables/agents.ts";
import { prepareClosingReads } from "../../src/tasks/close.ts";
import { reverseTask } from "../../src/tasks/verdict.ts";
import { confirm, facilitated } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { strayAgents } from "../support/agent-rows.ts";
import { type Agent, createWorld, expectStatus, type Reply, type World } from "../support/world.ts";
import { computed } from "./computed.ts";

const BUYERS = 6;
/** How much heavier the seller's history is than one purchase of each buyer. */
const HISTORY = 100;

let world: World;
let seller: Agent;
let buyers: Agent[];
const buyerOf = async (principal_id?: string) =>
  world.consumer({ principal_id: principal_id ?? (await world.principal()) });

beforeAll(async () => {
  world = await createWorld();
});

/** A seller whose rating is not changed by one purchase: each buyer holds a sixth of its history. */
beforeEach(async () => {
  seller = await world.provider();
  buyers = [];
  for (let n = 0; n < BUYERS; n++) {
    buyers.push(await buyerOf());
    expectStatus(await buy(n, { outcome: "partial", score: 0.8 }), 200);
  }
  await rows(
    "update rating_counterparties set weight = weight * ?, weighted = weighted * ? where did = ?",
    ...[HISTORY, HISTORY, seller.did],
  );
  await rows(
    "update agents set rating_weight = rating_weight * ?, rating_weighted = rating_weighted * ? where did = ?",
    ...[HISTORY, HISTORY, seller.did],
  );
  // One confirmation publishes the rating that results.
  expectStatus(await buy(0), 200);
});

type Answer = { readonly outcome: string; readonly score?: number };
const CONFIRMED: Answer = { outcome: "confirmed" };
const bought = async (buyer: Agent, amount?: string) =>
  (await facilitated(world, { consumer: buyer, provider: seller }, amount)).task;
const buyerAt = (n: number): Agent => {
  const buyer = buyers[n];
  if (!buyer) throw new Error(`no buyer ${n}`);
  return buyer;
};
async function boughtBy(numbers: readonly number[], amount?: string): Promise<[Agent, string][]> {
  const tasks: [Agent, string][] = [];
  for (const n of numbers) tasks.push([buyerAt(n), await bought(buyerAt(n), amount)]);
  return tasks;
}
const buy = async (n: number, answer: Answer = CONFIRMED) =>
  confirm(world, buyerAt(n), await bought(buyerAt(n)), answer);

/** Confirms `outer`, and plays the others between its reading and its batch. Returns its reply, and how many batches were refused. */
async function confirmBetween(outer: [Agent, string], ...others: readonly (() => Promise<unknown>)[]) {
  const other = async () => {
    for (const act of others) await act();
  };
  world.meter.reset();
  world.meter.beforeBatch(2, other);
  const reply = await confirm(world, ...outer);
  return { reply, refused: world.meter.reading.refused };
}

/** Adds to the sums of the seller and of one of its buyers. */
async function addTo({ did }: Agent, weight: number, weighted: number): Promise<void> {
  await rows(
    "update rating_counterparties set weight = weight + ?, weighted = weighted + ? where did = ? and counterparty_principal_id = (select principal_id from agents where did = ?)",
    ...[weight, weighted, seller.did, did],
  );
  await rows(
    "update agents set rating_weight = rating_weight + ?, rating_weighted = rating_weighted + ? where did = ?",
    ...[weight, weighted, seller.did],
  );
}

async function sellerNow() {
  const [row] = await world.deps.db.select().from(agents).where(eq(agents.did, seller.did));
  if (!row) throw new Error("no seller");
  const told = expectStatus(await world.call("GET", `/v1/agents/${seller.did}/rating`, { key: null }), 200);
  return { row, told };
}

/** Expects one rating in the row, its reading and the directory, and sums that equal those of all counterparties. */
async function expectWhole() {
  const { row, told } = await sellerNow();
  const [sums] = await rows(
    "select count(*) as n, sum(weight) as weight, sum(weighted) as weighted from rating_counterparties where did = ?",
    seller.did,
  );
  expect(await strayAgents(world)).toEqual([]);
  expect(row.ratingCounterparties).toBe(sums?.n);
  expect(row.ratingWeight / Number(sums?.weight)).toBeCloseTo(1, 12);
  expect(row.ratingWeighted / Number(sums?.weighted)).toBeCloseTo(1, 12);
  expect(told.agent_rating).toBe(computed(told));
  expect(row.agentRating).toBe(told.agent_rating);
  const entry = expectStatus(await world.call("GET", `/v1/directory/agents/${seller.did}`), 200);
  expect(entry.agent_rating).toBe(row.agentRating);
  return row;
}

describe("confirmations of one seller at the same time", () => {
  it("all count, and no batch is refused", async () => {
    const before = (await sellerNow()).row;
    const tasks = await boughtBy([1, 2, 3, 4]);
    const [first, ...rest] = tasks;
    if (!first) throw new Error("no task");
    const replies: Reply[] = [];
    const others = rest.map((one) => async () => void replies.push(await confirm(world, ...one)));
    const { reply, refused } = await confirmBetween(first, ...others);
    expect(refused).toBe(0);
    const ratings = [reply, ...replies].map((one) => expectStatus(one, 200).provider_ar);
    expect(ratings).toEqual(Array(tasks.length).fill(before.agentRating));
    const after = await expectWhole();
    expect(after.ratingInteractions).toBe(before.ratingInteractions + tasks.length);
    expect(after.settledVolumes).toEqual({ USDC: Number(before.settledVolumes["USDC"]) + tasks.length * 10_000_000 });
  });

  it("let a job compute again when decay moves the rating", async () => {
    const task = await bought(buyerAt(1));
    const other = await bought(buyerAt(2));
    await confirmBetween([buyerAt(1), task], () => confirm(world, buyerAt(2), other));
    const { row } = await sellerNow();
    expect(row.republishAt).toBeLessThanOrEqual(world.now());
    expect(await publishRatings.record(world.deps, seller.did)).toBe(true);
    const computedAt = (await sellerNow()).row.republishAt;
    expect(computedAt).toBeGreaterThan(world.now());
    // Without a concurrent confirmation, a confirmation computes it itself.
    expectStatus(await buy(1), 200);
    expect((await sellerNow()).row.republishAt).toBeGreaterThan(world.now());
  });
});

describe("a confirmation", () => {
  it("is decided again when another one has moved the published rating", async () => {
    const task = await bought(buyerAt(1));
    const others = await boughtBy([2, 3, 4, 5], "9000.00");
    const acts = others.map((one) => () => confirm(world, ...one, { outcome: "rejected" }));
    const before = (await sellerNow()).row.agentRating;
    const { reply, refused } = await confirmBetween([buyerAt(1), task], ...acts);
    expect(refused).toBe(1);
    const { agentRating } = await expectWhole();
    expect(expectStatus(reply, 200).provider_ar).toBe(agentRating);
    expect(agentRating).toBeLessThan(Number(before));
  });

  it("is decided again when another one of the same new buyer has come first", async () => {
    const principal = await world.principal();
    const [one, two] = [await buyerOf(principal), await buyerOf(principal)];
    const [task, other] = [await bought(one), await bought(two)];
    const { reply, refused } = await confirmBetween([one, task], () => confirm(world, two, other));
    expectStatus(reply, 200);
    expect(refused).toBe(1);
    expect((await expectWhole()).ratingCounterparties).toBe(BUYERS + 1);
  });

  it("is decided again when others have brought the rating so near to the next one that this one moves it", async () => {
    const task = await bought(buyerAt(1));
    const { row, told } = await sellerNow();
    const { kappa, mu, half_life_days, origin } = told.method;
    const scale = 2 ** ((world.now() - Date.parse(origin)) / 86_400_000 / half_life_days);
    const nearly = Number(row.agentRating) + 0.0049;
    const weighted = (nearly * (row.ratingWeight / scale + kappa) - kappa * mu) * scale;
    const { reply, refused } = await confirmBetween([buyerAt(1), task], () =>
      addTo(buyerAt(2), 0, weighted - row.ratingWeighted),
    );
    expect(refused).toBe(1);
    const { agentRating } = await expectWhole();
    expect(agentRating).toBe(Math.round(100 * Number(row.agentRating) + 1) / 100);
    expect(expectStatus(reply, 200).provider_ar).toBe(agentRating);
  });

  it("is decided again when decay has been published", async () => {
    const task = await bought(buyerAt(1));
    const publish = () => rows("update agents set agent_rating = 0.01 where did = ?", seller.did);
    const { reply, refused } = await confirmBetween([buyerAt(1), task], publish);
    expect(refused).toBe(1);
    expect((await expectWhole()).agentRating).toBe(expectStatus(reply, 200).provider_ar);
  });

  it.each([
    ["its buyer", 1],
    ["another buyer", 2],
  ])("is decided again when %s has become heavy enough to be clipped", async (_, heavy) => {
    const task = await bought(buyerAt(1));
    const { row, told } = await sellerNow();
    const heavier = async () => {
      await addTo(buyerAt(heavy), row.ratingWeight, told.agent_rating * row.ratingWeight);
      if (heavy === 1) return;
      const held = "json_object('weight', weight, 'weighted', weighted)";
      await rows(
        `update agents set rating_heaviest = (select json_array(${held}) from rating_counterparties r where r.did = agents.did order by weight desc limit 1) where did = ?`,
        seller.did,
      );
    };
    const { reply, refused } = await confirmBetween([buyerAt(1), task], heavier);
    expectStatus(reply, 200);
    expect(refused).toBe(1);
    expect((await expectWhole()).ratingHeaviest).toHaveLength(1);
  });

  it("is decided again when a reorg has removed the buyer's only other signal", async () => {
    const newcomer = await buyerOf();
    const first = await bought(newcomer);
    expectStatus(await confirm(world, newcomer, first), 200);
    const second = await bought(newcomer);
    const { db } = world.deps;
    const takeBack = async () => {
      const facts = await readBatch(db, prepareClosingReads(db, first));
      await commit(db, reverseTask(world.deps, facts, { escrows: facts.escrows, turned: false }, world.now()));
    };
    const { reply, refused } = await confirmBetween([newcomer, second], takeBack);
    expectStatus(reply, 200);
    expect(refused).toBe(1);
    expect((await expectWhole()).ratingCounterparties).toBe(BUYERS + 1);
  });
});
