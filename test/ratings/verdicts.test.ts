// Verdicts over the API match the plain model (history-model.ts) after what was rated has moved (DSP-14, FAC-18, TSK-18): a party has another
// principal, a reorg has removed the settlement, or the parties' sandboxes have clocks of their own.
import { beforeEach, describe, expect, it } from "vitest";
import { DAY_MS, HOUR_MS } from "../../src/core/limits.ts";
import { readBatch } from "../../src/db/batch.ts";
import { pickRatingMethod } from "../../src/ratings/method.ts";
import { computeUnroundedRating } from "../../src/ratings/rating.ts";
import { toAgentSums } from "../../src/ratings/signals.ts";
import { findRatedAgent } from "../../src/ratings/store.ts";
import { autoConfirmTasks } from "../../src/tasks/confirm.ts";
import { arbitrated, type Bought, disputed, file, resolve } from "../disputes/support.ts";
import { confirm, facilitated, type Pair } from "../facilitation/support.ts";
import { follow, takenAway } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { advanced, DAY_S } from "../sandbox/support.ts";
import { attested } from "../support/clock.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { Model, type Side } from "./history-model.ts";
import { expectRounded } from "./history-play.ts";

const SIDES = ["provider", "consumer"] as const;

let [buying, selling] = [] as unknown as [World, World];
let model: Model;
let everybody: Agent[];
beforeEach(async () => {
  [buying, selling] = [await createWorld(), await createWorld()];
  const method = expectStatus(await buying.call("GET", "/v1/rating-method", { key: null }), 200);
  model = new Model(method, "sandbox");
  everybody = [];
});

function known(agent: Agent): Agent {
  everybody.push(agent);
  return agent;
}
const seller = async (world: World): Promise<Agent> =>
  known(await world.provider({ principal_id: await world.principal(attested(9_000)) }));
const buyer = async (): Promise<Agent> => known(await buying.consumer());

async function transferred(agent: Agent): Promise<Agent> {
  const principal_id = await buying.principal();
  const path = `/v1/agents/${agent.did}/transfer`;
  const { certificate } = expectStatus(await buying.call("POST", path, { body: { principal_id } }), 200);
  return { ...agent, certificate, principalId: principal_id };
}

// ---- The signals of the model ---------------------------------------------------------------------------------------------

type Rated = Readonly<Record<Side, { readonly name: string; readonly score?: number; readonly at: number }>>;

const didOf = (bought: Bought, side: Side): string => bought[side].did;
const caseOf = ({ intent }: Bought, side: Side, { name, score = 0 }: { name: string; score?: number }) => ({
  ...{ side, name, score },
  amount: Number(intent.amount),
});
function give(bought: Bought, rated: Rated): void {
  for (const side of SIDES) {
    // The principal at the purchase, even if the agent has another one since.
    const counterparty = bought[side === "provider" ? "consumer" : "provider"].principalId;
    const rest = { at: rated[side].at, counterparty, interaction: true };
    model.give(didOf(bought, side), bought.task, caseOf(bought, side, rated[side]), rest);
  }
}

/** The signal that a verdict gives in place of the task's own; the other side keeps its own. */
const VERDICTS = {
  upheld: { body: {}, side: "provider", name: "dispute_upheld", score: 0 },
  partially_upheld: { body: { refund_amount: "3" }, side: "provider", name: "dispute_partially_upheld", score: 0.7 },
  rejected: { body: {}, side: "consumer", name: "dispute_rejected", score: 0 },
} as const;
type Verdict = keyof typeof VERDICTS;

// ---- The acts --------------------------------------------------------------------------------------------------------------

/** By how much the provider's clock is ahead of the consumer's. */
async function apart({ provider }: Pair): Promise<number> {
  const [row] = await rows(
    `select p.clock_offset_ms - (select clock_offset_ms from platforms where platform_id = ?) as apart
      from agents a join platforms p on p.platform_id = a.platform_id where a.did = ?`,
    ...[buying.platformId, provider.did],
  );
  return row?.apart;
}

async function confirmed(pair: Pair, amount = "10.00"): Promise<Bought> {
  const bought = await facilitated(buying, pair, amount);
  const at = Date.parse(expectStatus(await confirm(buying, pair.consumer, bought.task), 200).closed_at);
  const provider = { name: "confirmed", at: at + (await apart(pair)) };
  give(bought, { provider, consumer: { name: "answered_promptly", at } });
  return bought;
}

/** A purchase whose consumer showed no will of its own, so that the task rates no agent. */
async function silent(pair: Pair): Promise<Bought & { readonly endedAt: number }> {
  const bought = await facilitated(buying, pair);
  await rows("update transactions set consumer_willed = 0 where transaction_id = ?", bought.fac.transaction_id);
  await rows("update tasks set confirm_by = confirm_by - ? where task_id = ?", 80 * HOUR_MS, bought.task);
  // Its end has passed on the consumer's clock, which may be ahead of the job's.
  expect(await buying.serve(() => autoConfirmTasks.record(buying.deps, bought.task))).toBe(true);
  const [task] = await rows("select closed_at from tasks where task_id = ?", bought.task);
  return { ...bought, endedAt: task?.closed_at };
}

/** The instant of the decision, on the clock of the consumer's platform. */
async function decided(bought: Bought, verdict: Verdict): Promise<number> {
  const { dispute_id: id } = expectStatus(await file(buying, bought), 201);
  await arbitrated(buying, { ...bought, id });
  const resolved = expectStatus(await resolve(buying, id, { resolution: verdict, ...VERDICTS[verdict].body }), 200);
  return Date.parse(resolved.resolved_at);
}

async function replaced(bought: Bought, verdict: Verdict): Promise<void> {
  await decided(bought, verdict);
  const { side, name, score } = VERDICTS[verdict];
  model.replace(didOf(bought, side), bought.task, caseOf(bought, side, { name, score }));
}

async function reversed(bought: Bought): Promise<void> {
  await follow(buying);
  await takenAway(buying, bought.fac.transaction_id);
  for (const side of SIDES) model.takeBack(didOf(bought, side), bought.task);
}

// ---- The comparison --------------------------------------------------------------------------------------------------------

/** Expects that the rows and published numbers of all agents are those of all their signals, now and later. */
async function expectPlain(): Promise<void> {
  const { db, env } = buying.deps;
  const method = pickRatingMethod(env, "sandbox");
  for (const { did } of everybody) {
    const { row } = await readBatch(db, { row: findRatedAgent(db, did) });
    if (!row) throw new Error("an agent without its row");
    const { ratingInteractions: interactions, ratingCounterparties: counterparties } = row;
    expect({ interactions, counterparties }).toEqual(model.counts(did));
    const shown = expectStatus(await buying.call("GET", `/v1/agents/${did}/rating`, { key: null }), 200);
    const now = Date.parse(shown.as_of);
    expectRounded(shown.agent_rating, model.rating(did, now));
    for (const at of [now, now + 50 * DAY_MS, now + 500 * DAY_MS]) {
      const [found, plain] = [
        computeUnroundedRating(toAgentSums(row), row.ratingHeaviest, method, at),
        model.rating(did, at),
      ];
      if (found === null || plain === null) expect(found).toBe(plain);
      else expect(Math.abs(found - plain)).toBeLessThanOrEqual(1e-9);
    }
  }
}

const countersOf = async ({ did }: Agent): Promise<Json[]> =>
  (await rows("select counterparty_principal_id as id from rating_counterparties where did = ?", did)).map(
    ({ id }) => id,
  );

describe("a verdict after a party has another principal", () => {
  it.each<[Side, Verdict]>([
    ["consumer", "upheld"],
    ["consumer", "partially_upheld"],
    ["consumer", "rejected"],
    ["provider", "upheld"],
    ["provider", "rejected"],
  ])("replaces the signal under the principal of the settlement (the %s has moved, %s)", async (side, verdict) => {
    const pair = { consumer: await buyer(), provider: await seller(buying) };
    const bought = await confirmed(pair);
    await confirmed({ ...pair, consumer: await buyer() });
    const after = { ...pair, [side]: await transferred(pair[side]) };
    // Its counterparty has sums of both principals from here on.
    await confirmed(after, "300.00");
    await replaced({ ...bought, ...after }, verdict);
    await expectPlain();
    const moved = side === "consumer" ? pair.provider : pair.consumer;
    expect(await countersOf(moved)).toEqual(expect.arrayContaining([pair[side].principalId, after[side].principalId]));
  });

  it("rates a task without signals under the principal of its settlement", async () => {
    const pair = { consumer: await buyer(), provider: await seller(buying) };
    await confirmed(pair);
    const bought = await silent(pair);
    const after = { ...pair, consumer: await transferred(pair.consumer) };
    await decided({ ...bought, ...after }, "upheld");
    const [provider, consumer] = [
      { name: "dispute_upheld", at: bought.endedAt },
      { name: "auto_confirmed", at: bought.endedAt },
    ];
    give(bought, { provider, consumer });
    await expectPlain();
    expect(await countersOf(pair.provider)).toEqual([pair.consumer.principalId]);
  });
});

describe("a settlement that a reorg removes after a verdict", () => {
  it.each<Verdict>(["upheld", "partially_upheld", "rejected"])(
    "loses its signals as the verdict %s left them",
    async (verdict) => {
      const pair = { consumer: await buyer(), provider: await seller(buying) };
      const bought = await confirmed(pair);
      await confirmed({ ...pair, consumer: await buyer() });
      await replaced(bought, verdict);
      await expectPlain();
      await reversed(bought);
      await expectPlain();
    },
  );

  it("loses its signals also if the dispute had held the task and its consumer has another principal", async () => {
    const pair = { consumer: await buyer(), provider: await seller(buying) };
    await confirmed({ ...pair, consumer: await buyer() });
    // This one stays, under the same principal.
    await confirmed(pair, "300.00");
    const { id, ...bought } = await disputed(buying, { pair });
    await arbitrated(buying, { ...bought, id });
    const at = Date.parse(expectStatus(await resolve(buying, id, { resolution: "upheld" }), 200).resolved_at);
    give(bought, { provider: { name: "dispute_upheld", at }, consumer: { name: "answered_promptly", at } });
    await expectPlain();
    await transferred(pair.consumer);
    await reversed(bought);
    await expectPlain();
    expect(model.counts(pair.consumer.did)).toEqual({ interactions: 1, counterparties: 1 });
  });
});

describe("a verdict between sandboxes with clocks of their own", () => {
  beforeEach(async () => {
    await advanced(selling, 200 * DAY_S);
    await advanced(buying, 30 * DAY_S);
  });

  it.each<Verdict>(["upheld", "partially_upheld", "rejected"])(
    "replaces the provider's signal with its old date, however far both clocks have moved since: %s",
    async (verdict) => {
      const pair = { consumer: await buyer(), provider: await seller(selling) };
      const bought = await confirmed(pair);
      await advanced(selling, 60 * DAY_S);
      await confirmed({ ...pair, consumer: await buyer() });
      await advanced(buying, 10 * DAY_S);
      await replaced(bought, verdict);
      await expectPlain();
      await reversed(bought);
      await expectPlain();
    },
  );

  it("dates its signal of a task without signals as now for the provider, and as the task for the consumer", async () => {
    const pair = { consumer: await buyer(), provider: await seller(selling) };
    const bought = await silent(pair);
    await advanced(selling, 60 * DAY_S);
    const at = await decided(bought, "upheld");
    const provider = { name: "dispute_upheld", at: at + (await apart(pair)) };
    give(bought, { provider, consumer: { name: "auto_confirmed", at: bought.endedAt } });
    await confirmed({ ...pair, consumer: await buyer() });
    await expectPlain();
    await reversed(bought);
    await expectPlain();
  });
});
