// A change of markets that was decided before a promotion and is written after it (AGT-34, MKT-12).
import { beforeAll, expect, it } from "vitest";
import { market, marketsPath } from "../markets/support.ts";
import { account } from "../support/chain.ts";
import { withoutLocks } from "../support/orders.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { openLive, promoted, rows } from "./support.ts";

let world: World;
let unlocked: World;
beforeAll(async () => {
  world = await createWorld();
  unlocked = withoutLocks(world);
  // Records the use of the live key before trips are counted.
  expectStatus(await world.call("GET", "/v1/agents", { key: world.liveKey }), 200);
});

const marketsIn = async (did: string): Promise<string[]> => {
  const aid = expectStatus(await world.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200);
  return aid.escrow.wallets.map(({ operational_wallet }: Json) => operational_wallet);
};

it("a removed market leaves the document of the promoted agent", async () => {
  const { did } = await world.agent("PROVIDER");
  await openLive(world, did);
  world.meter.beforeBatch(2, () => promoted(unlocked, did));
  const path = `${marketsPath(did)}/GLOBAL-USDC?network=base-sepolia`;
  expectStatus(await world.call("DELETE", path, { key: world.liveKey }), 204);
  expect(await marketsIn(did)).toEqual([]);
});

it("a market that asks for another wallet is not in the document with its old wallet", async () => {
  const { did } = await world.agent("PROVIDER");
  await openLive(world, did);
  const markets = [market({ market: "GLOBAL-USDC", operational_wallet: account(7) })];
  let seen: [string[], string[]] = [["unseen"], []];
  // The state before the chain is called.
  const look = async () => {
    const open = await rows("select operational_wallet w from agent_markets where did = ? and status = 'ACTIVE'", did);
    seen = [await marketsIn(did), open.map(({ w }) => w)];
  };
  world.meter.beforeBatch(2, async () => {
    await promoted(unlocked, did);
    world.meter.beforeBatch(1, look);
  });
  const answer = expectStatus(
    await world.call("POST", marketsPath(did), { key: world.liveKey, body: { markets } }),
    200,
  );
  expect(seen[0]).toEqual(seen[1]);
  expect(answer.markets[0].operational_wallet.toLowerCase()).toBe(account(7).toLowerCase());
});

it("no market opens in the sandbox after the agent has left it", async () => {
  const { did } = await world.agent("PROVIDER");
  await openLive(world, did);
  world.meter.beforeBatch(2, () => promoted(unlocked, did));
  const markets = [market({ market: "GLOBAL-USDC", network: "base-sepolia" })];
  const reply = await world.call("POST", marketsPath(did), { body: { markets } });
  expect([reply.status, reply.body.code]).toEqual([404, "not_found"]);
  expect(await rows("select market from agent_markets where did = ? and environment = 'sandbox'", did)).toEqual([]);
  expect(await rows("select network from escrows where did = ? and environment = 'sandbox'", did)).toEqual([]);
});
