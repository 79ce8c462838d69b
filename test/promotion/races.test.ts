// Promotions at the same moment as each other, and as what they rest on (AGT-34).
import { beforeAll, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/standing/cascades.ts";
import { marketsPath } from "../markets/support.ts";
import { buyer, openIntent, seller } from "../payments/support.ts";
import { strayAgents } from "../support/agent-rows.ts";
import { createWorld, type Reply, type World } from "../support/world.ts";
import { deposit, livePrincipal, openLive, promote, promoted, rows } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const statusesOf = (replies: readonly Reply[]): number[] => replies.map(({ status }) => status).sort();
const agentOf = async (did: string) =>
  (await rows("select status, environment, principal_id, version from agents where did = ?", did))[0];

describe("at the same moment", () => {
  it("of fifty promotions one is made, and the others find it made", async () => {
    const { did } = await world.consumer();
    const replies = await Promise.all(Array.from({ length: 50 }, () => promote(world, did)));
    expect(statusesOf(replies)).toEqual([200, ...Array(49).fill(409)]);
    expect(new Set(replies.map(({ body }) => body.code))).toEqual(new Set([undefined, "invalid_status"]));
    expect((await agentOf(did)).version).toBe(3);
    const told = await rows("select environment from events where agent_did = ? and type = 'agent.promoted'", did);
    expect(told).toHaveLength(1);
    expect(await rows("select jti from certificates where did = ? and replaced_at is null", did)).toHaveLength(1);
  }, 60_000);

  it("a market's removal leaves no provider that came to production without one", async () => {
    for (let round = 0; round < 50; round++) {
      const { did } = await world.agent("PROVIDER");
      await rows(
        `insert into agent_markets (did, environment, market, network, operational_wallet, status, created_at, updated_at)
         values (?, 'production', 'GLOBAL-USDC', 'base-sepolia', '0x00000000000000000000000000000000000000aa', 'ACTIVE', 1, 1)`,
        did,
      );
      const path = `${marketsPath(did)}/GLOBAL-USDC?network=base-sepolia`;
      const acts = [() => promote(world, did), () => world.call("DELETE", path, { key: world.liveKey })];
      const [promotion, removal] = await Promise.all((round % 2 === 0 ? acts : acts.toReversed()).map((act) => act()));
      const [moved, removed] = round % 2 === 0 ? [promotion, removal] : [removal, promotion];
      expect(removed?.status).toBe(204);
      // Either it was promoted with its market, which is taken away after that, or it was refused.
      expect([moved?.status, moved?.body.code]).toEqual(
        moved?.status === 200 ? [200, undefined] : [409, "market_not_authorized"],
      );
      expect((await agentOf(did)).environment).toBe(moved?.status === 200 ? "production" : "sandbox");
    }
  }, 120_000);

  it.each(["before the chain's answer is written", "before the promotion is"])(
    "a market that opens is the promoted agent's, with its escrow (%s)",
    async (when) => {
      const { did } = await world.agent("PROVIDER");
      await openLive(world, did);
      const both = [() => openLive(world, did, "base"), () => promoted(world, did)] as const;
      const [outer, inner, trip] = when.startsWith("before the chain") ? [...both, 5] : [both[1], both[0], 2];
      world.meter.beforeBatch(trip, inner);
      await outer();
      const { body } = await world.call("GET", `/v1/agents/${did}/aid`, { key: null });
      const wallets = body.escrow.wallets.map(({ network }: { network: string }) => network);
      expect(wallets.sort()).toEqual(["base", "base-sepolia"]);
      const stray = await strayAgents(world);
      expect(stray.filter((agent) => agent.did === did)).toEqual([]);
    },
  );

  it("an intent is opened in the sandbox before it, or not at all", async () => {
    const shop = await seller(world);
    for (let round = 0; round < 50; round++) {
      const consumer = await buyer(world);
      const [intent, promotion] = await Promise.all([
        openIntent(world, consumer, shop, "1.00"),
        promote(world, consumer.did),
      ]);
      expect([201, 401, 409]).toContain(intent.status);
      expect(promotion.status).toBe(intent.status === 201 ? 409 : 200);
      const open = await rows("select environment from payment_intents where consumer_did = ?", consumer.did);
      expect(open).toEqual(intent.status === 201 ? [{ environment: "sandbox" }] : []);
    }
  }, 120_000);

  it("a suspension of either principal leaves no agent that runs under one that does not", async () => {
    for (let round = 0; round < 20; round++) {
      const agent = await world.consumer();
      const to = await livePrincipal(world);
      const [victim, key] = round % 2 === 0 ? [to, world.liveKey] : [agent.principalId, world.key];
      const [moved] = await Promise.all([
        promote(world, agent.did, { principal_id: to }),
        world.call("POST", `/v1/principals/${victim}/suspend`, { key }),
      ]);
      expect([200, 409]).toContain(moved.status);
      await world.run(finishCascades);
      const row = await agentOf(agent.did);
      const [owner] = await rows("select status from principals where principal_id = ?", row.principal_id);
      expect([row.status, owner?.status]).toEqual(
        row.status === "ACTIVE" ? ["ACTIVE", "ACTIVE"] : ["SUSPENDED", "SUSPENDED"],
      );
    }
  }, 120_000);

  it("funds an agent once", async () => {
    const provider = await world.agent("PROVIDER");
    await openLive(world, provider.did);
    await promote(world, provider.did);
    await deposit(provider.did, 15_000_000);
    const replies = await Promise.all(Array.from({ length: 50 }, () => promote(world, provider.did)));
    expect(statusesOf(replies)).toEqual([200, ...Array(49).fill(409)]);
    const told = await rows(
      "select type from events where agent_did = ? and type = 'agent.status_changed'",
      provider.did,
    );
    // Of its activation in the sandbox, and of this.
    expect(told).toHaveLength(2);
  }, 60_000);
});
