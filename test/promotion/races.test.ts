// Promotions at the same time as each other, and as changes of what they depend on (AGT-34).
import { beforeAll, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { marketsPath } from "../markets/support.ts";
import { buyer, openIntent, seller } from "../payments/support.ts";
import { strayAgents } from "../support/agent-rows.ts";
import { playEveryOrder, withoutLocks } from "../support/orders.ts";
import { isWhole } from "../support/scale.ts";
import { type Agent, createWorld, type Reply, type World } from "../support/world.ts";
import { deposit, livePrincipal, openLive, outcome, promote, promoted, rows } from "./support.ts";

const AT_ONCE = isWhole() ? 50 : 10;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const statusesOf = (replies: readonly Reply[]): number[] => replies.map(({ status }) => status).sort();
const agentOf = async (did: string) =>
  (await rows("select status, environment, principal_id, version from agents where did = ?", did))[0];

/** A provider whose market in production is only a row. */
async function sellerWithMarket(): Promise<string> {
  const { did } = await world.agent("PROVIDER");
  await rows(
    `insert into agent_markets (did, environment, market, network, operational_wallet, status, created_at, updated_at)
     values (?, 'production', 'GLOBAL-USDC', 'base-sepolia', '0x00000000000000000000000000000000000000aa', 'ACTIVE', 1, 1)`,
    did,
  );
  return did;
}

describe("at the same moment", () => {
  it("many promotions make one, and the others find it made", async () => {
    const { did } = await world.consumer();
    const replies = await Promise.all(Array.from({ length: AT_ONCE }, () => promote(world, did)));
    expect(statusesOf(replies)).toEqual([200, ...Array(AT_ONCE - 1).fill(409)]);
    expect(new Set(replies.map(({ body }) => body.code))).toEqual(new Set([undefined, "invalid_status"]));
    expect((await agentOf(did)).version).toBe(3);
    const told = await rows("select environment from events where agent_did = ? and type = 'agent.promoted'", did);
    expect(told).toHaveLength(1);
    expect(await rows("select jti from certificates where did = ? and replaced_at is null", did)).toHaveLength(1);
  });

  it.each(["the removal", "the promotion"] as const)(
    "a market's removal leaves no provider in production that came without a market, even if %s is played between",
    async (between) => {
      const remove = (of: World, did: string) =>
        of.call("DELETE", `${marketsPath(did)}/GLOBAL-USDC?network=base-sepolia`, { key: of.liveKey });
      const acts = { "the removal": remove, "the promotion": promote };
      const outcomes = new Set<string>();
      await playEveryOrder(world, between, acts, {
        set: sellerWithMarket,
        check: async (did, { "the promotion": moved, "the removal": removed }) => {
          expect(removed.status).toBe(204);
          // Either it was promoted with its market, which is removed afterwards, or it was refused.
          const isMoved = moved.status === 200;
          expect(outcome(moved)).toEqual(isMoved ? [200, undefined] : [409, "market_not_authorized"]);
          expect((await agentOf(did)).environment).toBe(isMoved ? "production" : "sandbox");
          outcomes.add(isMoved ? "promoted" : "refused");
        },
      });
      expect([...outcomes].sort()).toEqual(["promoted", "refused"]);
    },
  );

  it.each(["before the chain's answer is written", "before the promotion is"])(
    "a market that opens belongs to the promoted agent, with its escrow (%s)",
    async (when) => {
      const { did } = await world.agent("PROVIDER");
      await openLive(world, did);
      const both = [(of: World) => openLive(of, did, "base"), (of: World) => promoted(of, did)] as const;
      const [outer, inner, trip] = when.startsWith("before the chain") ? [...both, 5] : [both[1], both[0], 2];
      // The outer call holds the agent's lock.
      world.meter.beforeBatch(trip, () => inner(withoutLocks(world)));
      await outer(world);
      const { body } = await world.call("GET", `/v1/agents/${did}/aid`, { key: null });
      const wallets = body.escrow.wallets.map(({ network }: { network: string }) => network);
      expect(wallets.sort()).toEqual(["base", "base-sepolia"]);
      const stray = await strayAgents(world);
      expect(stray.filter((agent) => agent.did === did)).toEqual([]);
    },
  );

  it.each(["the intent", "the promotion"] as const)(
    "an intent is opened in the sandbox before it, or not at all, even if %s is played between",
    async (between) => {
      const shop = await seller(world);
      const outcomes = new Set<string>();
      const acts = {
        "the intent": (of: World, consumer: Agent) => openIntent(of, consumer, shop, "1.00"),
        "the promotion": (of: World, { did }: Agent) => promote(of, did),
      };
      await playEveryOrder(world, between, acts, {
        set: () => buyer(world),
        check: async ({ did }, { "the intent": intent, "the promotion": promotion }) => {
          const isOpen = intent.status === 201;
          expect([201, 401, 409]).toContain(intent.status);
          expect(promotion.status).toBe(isOpen ? 409 : 200);
          const open = await rows("select environment from payment_intents where consumer_did = ?", did);
          expect(open).toEqual(isOpen ? [{ environment: "sandbox" }] : []);
          outcomes.add(isOpen ? "opened" : "promoted");
        },
      });
      expect([...outcomes].sort()).toEqual(["opened", "promoted"]);
    },
  );

  it.each([
    ["the next principal", "the suspension"],
    ["the next principal", "the promotion"],
    ["the former principal", "the suspension"],
    ["the former principal", "the promotion"],
  ] as const)(
    "a suspension of %s leaves no active agent under it, even if %s is played between",
    async (victim, between) => {
      type Stage = { readonly agent: Agent; readonly to: string };
      const acts = {
        "the suspension": (of: World, { agent, to }: Stage) => {
          const [id, key] = victim === "the next principal" ? [to, of.liveKey] : [agent.principalId, of.key];
          return of.call("POST", `/v1/principals/${id}/suspend`, { key });
        },
        "the promotion": (of: World, { agent, to }: Stage) => promote(of, agent.did, { principal_id: to }),
      };
      const outcomes = new Set<number>();
      await playEveryOrder(world, between, acts, {
        set: async (): Promise<Stage> => ({ agent: await world.consumer(), to: await livePrincipal(world) }),
        check: async ({ agent }, { "the promotion": moved, "the suspension": suspended }) => {
          expect(suspended.status).toBe(200);
          expect([200, 409]).toContain(moved.status);
          await world.run(finishCascades);
          const row = await agentOf(agent.did);
          const [owner] = await rows("select status from principals where principal_id = ?", row.principal_id);
          expect([row.status, owner?.status]).toEqual(
            row.status === "ACTIVE" ? ["ACTIVE", "ACTIVE"] : ["SUSPENDED", "SUSPENDED"],
          );
          outcomes.add(moved.status);
        },
      });
      expect([...outcomes].sort()).toEqual([200, 409]);
    },
  );

  it("a further call funds an agent once", async () => {
    const provider = await world.agent("PROVIDER");
    await openLive(world, provider.did);
    await promote(world, provider.did);
    await deposit(provider.did, 15_000_000);
    const replies = await Promise.all(Array.from({ length: AT_ONCE }, () => promote(world, provider.did)));
    expect(statusesOf(replies)).toEqual([200, ...Array(AT_ONCE - 1).fill(409)]);
    const told = await rows(
      "select type from events where agent_did = ? and type = 'agent.status_changed'",
      provider.did,
    );
    // One event of its activation in the sandbox, and one of this call.
    expect(told).toHaveLength(2);
  });
});
