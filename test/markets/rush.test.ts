// Concurrent requests with different wallets (MKT-6): the last accepted one counts on each network, the contract has its wallet, and no market ends
// FAILED. delayed-wallets.test.ts covers wallets that wait for the contract's delay.
import { beforeAll, expect, it } from "vitest";
import { WALLET_CHANGES_A_DAY } from "../../src/core/limits.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { noteAccepted } from "./accepted.ts";
import { market, marketsPath, openMarkets, walletHeldFor } from "./support.ts";

const AT_ONCE = 20;
const NETWORKS = ["base-sepolia", "base"];

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
const acceptedLast = noteAccepted();

const statusesOf = (replies: readonly { status: number }[]) => replies.map(({ status }) => status).sort();
const statusesWith = (accepted: number) => [...Array(accepted).fill(200), ...Array(AT_ONCE - accepted).fill(429)];
const shownIn = (replies: readonly { body: Json }[]): string[] =>
  replies.flatMap(({ body }) => (body.markets ?? []).map(({ status }: Json) => status));
const walletOf = (n: number, network: string): string =>
  `0x${(2 * n + NETWORKS.indexOf(network) + 1).toString(16).padStart(40, "a")}`;
const listed = async (did: string): Promise<Json[]> =>
  expectStatus(await world.call("GET", marketsPath(did)), 200).data;

it.each([
  ["one network", NETWORKS.slice(0, 1)],
  ["two networks", NETWORKS],
])(
  `${AT_ONCE} requests for %s leave each market ACTIVE with the wallet of the last accepted one`,
  async (_which, networks) => {
    const { did } = await world.agent("PROVIDER");
    const replies = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, n) =>
        openMarkets(
          world,
          did,
          networks.map((network) => market({ network, operational_wallet: walletOf(n, network) })),
        ),
      ),
    );
    // The first wallet of each network does not count as a change.
    expect(statusesOf(replies)).toEqual(statusesWith(Math.floor(WALLET_CHANGES_A_DAY / networks.length) + 1));
    expect(shownIn(replies)).not.toContain("FAILED");
    const data = await listed(did);
    expect(data).toHaveLength(networks.length);
    for (const { network, status, operational_wallet } of data) {
      expect([network, status, operational_wallet]).toEqual([network, "ACTIVE", await acceptedLast(did, network)]);
      expect((await walletHeldFor(world, did, network))?.toLowerCase()).toBe(operational_wallet);
    }
  },
);

it(`${AT_ONCE} requests for two markets of one network in turn leave both ACTIVE with the wallet of the last accepted one`, async () => {
  const { did } = await world.agent("PROVIDER");
  const markets = ["DE-USDC", "GLOBAL-USDC"];
  const replies = await Promise.all(
    Array.from({ length: AT_ONCE }, (_, n) =>
      openMarkets(world, did, [market({ market: markets[n % 2], operational_wallet: walletOf(n, "base-sepolia") })]),
    ),
  );
  const accepted = replies.filter(({ status }) => status === 200).length;
  expect(statusesOf(replies)).toEqual(statusesWith(accepted));
  expect(accepted).toBeGreaterThanOrEqual(WALLET_CHANGES_A_DAY);
  expect(shownIn(replies)).not.toContain("FAILED");
  const data = await listed(did);
  const held = (await walletHeldFor(world, did))?.toLowerCase();
  expect(data.map(({ status, operational_wallet }) => [status, operational_wallet])).toEqual(
    markets.map(() => ["ACTIVE", held]),
  );
  const asked = await Promise.all(markets.map((code) => acceptedLast(did, "base-sepolia", code)));
  expect(asked).toContain(held);
});
