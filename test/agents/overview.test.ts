// The overview of an agent (AGT-35).
import { beforeAll, describe, expect, it } from "vitest";
import { HOUR_MS, MINUTE_MS } from "../../src/core/limits.ts";
import { abandonIntents } from "../../src/payments/abandon.ts";
import { autoConfirmTasks } from "../../src/tasks/confirm.ts";
import { confirm, facilitated, type Pair, pairOf } from "../facilitation/support.ts";
import { createWorld, env, expectStatus, type World } from "../support/world.ts";
import { report } from "./reports-support.ts";
import { readAgent } from "./support.ts";

let world: World;
let pair: Pair;
beforeAll(async () => {
  world = await createWorld();
  pair = await pairOf(world);
});

const openOf = async (of: World, did: string) => (await report(of, did, "overview")).open;

describe("the overview", () => {
  it("is empty for an agent that has done nothing yet, also for a DRAFT", async () => {
    const { did } = await world.draft("CONSUMER");
    expect(await report(world, did, "overview")).toEqual({
      did,
      performance: { agent_rating: null, interactions: 0, settled_volume: [], as_of: expect.any(String) },
      escrow_state: null,
      escrow: [],
      open: { intents: 0, tasks: 0, disputes: 0 },
      recent_events: [expect.objectContaining({ type: "agent.registered" })],
    });
  });

  it("shows the same performance and escrow as the agent and its document, and its latest events", async () => {
    for (let n = 0; n < 4; n++) {
      const { task } = await facilitated(world, pair);
      expectStatus(await confirm(world, pair.consumer, task, { outcome: "partial", score: 0.25 }), 200);
    }
    for (const { did } of [pair.provider, pair.consumer]) {
      const { performance, escrow, escrow_state, recent_events } = await report(world, did, "overview");
      const agent = await readAgent(world, did);
      expect({ escrow, escrow_state }).toEqual({ escrow: agent.escrow, escrow_state: agent.escrow_state });
      const aid = expectStatus(await world.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200);
      const { as_of: _instant, ...earned } = aid.performance;
      expect(earned.interactions).toBe(4);
      expect(performance).toEqual({ ...earned, as_of: expect.any(String) });
      expect(recent_events).toHaveLength(10);
      expect(recent_events).toEqual((await report(world, did, "events", "limit=10")).data);
    }
  });

  it("shows the rating at this instant, as the agent does", async () => {
    const fresh = await createWorld();
    const own = await pairOf(fresh);
    const { task } = await facilitated(fresh, own);
    expectStatus(await confirm(fresh, own.consumer, task), 200);
    const rating = async () => (await report(fresh, own.provider.did, "overview")).performance.agent_rating;
    const before = await rating();
    fresh.advance(120 * 24 * HOUR_MS);
    expect(await rating()).toBeLessThan(before);
    expect(await rating()).toBe((await readAgent(fresh, own.provider.did)).agent_rating);
  });
});

describe("the open items", () => {
  it("are those that are open at this instant, recorded or not, for both sides", async () => {
    const fresh = await createWorld();
    const own = await pairOf(fresh);
    const both = async () => [await openOf(fresh, own.consumer.did), await openOf(fresh, own.provider.did)];
    const each = (intents: number, tasks: number) => Array(2).fill({ intents, tasks, disputes: 0 });
    const first = await facilitated(fresh, own);
    await facilitated(fresh, own);
    await fresh.intent(own.consumer, own.provider);
    expect(await both()).toEqual(each(1, 2));
    expectStatus(await confirm(fresh, own.consumer, first.task), 200);
    expect(await both()).toEqual(each(1, 1));
    fresh.advance(5 * MINUTE_MS);
    expect(await both()).toEqual(each(0, 1));
    await fresh.run(abandonIntents);
    fresh.advance(72 * HOUR_MS);
    expect(await both()).toEqual(each(0, 0));
    await fresh.run(autoConfirmTasks);
    expect(await both()).toEqual(each(0, 0));
    await env.DB.prepare("update agents set disputes_open = 3 where did = ?").bind(own.provider.did).run();
    expect((await openOf(fresh, own.provider.did)).disputes).toBe(3);
  });

  it("of a delegator do not include what its delegates have opened", async () => {
    const { principalId, did } = pair.consumer;
    const delegate = await world.consumer({ principal_id: principalId, delegated_by: did });
    await world.intent(delegate, pair.provider);
    expect(await openOf(world, delegate.did)).toMatchObject({ intents: 1 });
    expect(await openOf(world, did)).toMatchObject({ intents: 0 });
  });
});
