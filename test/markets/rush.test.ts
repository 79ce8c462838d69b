// Requests with different wallets at once (MKT-6): the last accepted one counts, the contract has its wallet, and none leaves the market FAILED.
import { beforeAll, expect, it } from "vitest";
import { WALLET_CHANGES_A_DAY } from "../../src/core/limits.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { market, marketsPath, openMarkets, walletHeldFor } from "./support.ts";

const AT_ONCE = 20;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

it(`${AT_ONCE} requests leave the market ACTIVE with the wallet of the last one that was accepted`, async () => {
  const { did } = await world.agent("PROVIDER");
  const wallets = Array.from({ length: AT_ONCE }, (_, n) => `0x${(n + 1).toString(16).padStart(40, "a")}`);
  const replies = await Promise.all(
    wallets.map((operational_wallet) => openMarkets(world, did, [market({ operational_wallet })])),
  );
  // The first wallet is no change.
  const accepted = WALLET_CHANGES_A_DAY + 1;
  const statuses = replies.map(({ status }) => status).sort();
  expect(statuses).toEqual([...Array(accepted).fill(200), ...Array(AT_ONCE - accepted).fill(429)]);
  const shown = replies.flatMap(({ body }) => (body.markets ?? []).map(({ status }: Json) => status));
  expect(shown).not.toContain("FAILED");
  const [row] = expectStatus(await world.call("GET", marketsPath(did)), 200).data;
  expect(row.status).toBe("ACTIVE");
  expect(wallets.filter((_, n) => replies[n]?.status === 200)).toContain(row.operational_wallet);
  expect((await walletHeldFor(world, did))?.toLowerCase()).toBe(row.operational_wallet);
});
