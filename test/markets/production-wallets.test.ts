// A sandbox key never changes production's wallet, even when production has no market left (MKT-9): the vault still exists.
import { expect, it } from "vitest";
import { hashDid } from "../../src/chain/hashes.ts";
import { account } from "../support/chain.ts";
import { createWorld, expectStatus } from "../support/world.ts";
import { market, marketsPath, openMarkets } from "./support.ts";

it("a sandbox key cannot change production's wallet after its last market was removed, but a live key can", async () => {
  const world = await createWorld();
  const { did } = await world.agent("PROVIDER");
  const path = marketsPath(did);
  const walletOnChain = async () => {
    const seen = await world.deps.chain.readProvider("base-sepolia", hashDid(did));
    return seen.ok ? seen.value.operationalWallet : null;
  };
  const openLive = (wallet: string) =>
    world.call("POST", path, { key: world.liveKey, body: { markets: [market({ operational_wallet: wallet })] } });
  expectStatus(await openLive(account(8)), 200);
  const removed = await world.call("DELETE", `${path}/DE-USDC?network=base-sepolia`, { key: world.liveKey });
  expect(removed.status).toBe(204);

  const other = await openMarkets(world, did, [market({ operational_wallet: account(7) })]);
  expect([other.status, other.body.code]).toEqual([409, "environment_mismatch"]);
  expect(await walletOnChain()).toBe(account(8).toLowerCase());
  const [same] = expectStatus(await openMarkets(world, did, [market()]), 200).markets;
  expect(same.status).toBe("ACTIVE");
  expectStatus(await openLive(account(7)), 200);
  expect(await walletOnChain()).toBe(account(7).toLowerCase());
});
