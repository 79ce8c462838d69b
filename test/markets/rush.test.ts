// Requests with different wallets at once (MKT-6): the last accepted one counts on each network, the contract has its wallet, and none leaves a market
// FAILED.
import { afterAll, beforeAll, expect, it } from "vitest";
import { WALLET_CHANGES_A_DAY } from "../../src/core/limits.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { market, marketsPath, openMarkets, walletHeldFor } from "./support.ts";

const AT_ONCE = 20;
const NETWORKS = ["base-sepolia", "base"];

let world: World;
beforeAll(async () => {
  world = await createWorld();
  // What each accepted request asked for, in the order of their commits: the entry is written behind the markets, in one batch.
  await env.DB.prepare("create table accepted (n integer primary key, did text, network text, wallet text)").run();
  await env.DB.prepare(
    `create trigger note_accepted after insert on activity_entries when new.action = 'agent.markets_changed' begin
      insert into accepted (did, network, wallet) select did, network, operational_wallet from agent_markets where did = new.subject_id;
    end`,
  ).run();
});
afterAll(async () => {
  await env.DB.batch([env.DB.prepare("drop trigger note_accepted"), env.DB.prepare("drop table accepted")]);
});

const acceptedLast = async (did: string, network: string): Promise<string | undefined> => {
  const { results } = await env.DB.prepare("select wallet from accepted where did = ? and network = ? order by n")
    .bind(did, network)
    .all<{ wallet: string }>();
  return results.at(-1)?.wallet;
};
const walletOf = (n: number, network: string): string =>
  `0x${(2 * n + NETWORKS.indexOf(network) + 1).toString(16).padStart(40, "a")}`;

it.each([
  ["one network", NETWORKS.slice(0, 1)],
  ["two networks", NETWORKS],
])(
  `${AT_ONCE} requests for %s leave each market ACTIVE with the wallet of the last one that was accepted`,
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
    // The first wallet of each is no change.
    const accepted = Math.floor(WALLET_CHANGES_A_DAY / networks.length) + 1;
    const statuses = replies.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(accepted).fill(200), ...Array(AT_ONCE - accepted).fill(429)]);
    const shown = replies.flatMap(({ body }) => (body.markets ?? []).map(({ status }: Json) => status));
    expect(shown).not.toContain("FAILED");
    const { data } = expectStatus(await world.call("GET", marketsPath(did)), 200);
    expect(data).toHaveLength(networks.length);
    for (const { network, status, operational_wallet } of data) {
      expect([network, status, operational_wallet]).toEqual([network, "ACTIVE", await acceptedLast(did, network)]);
      expect((await walletHeldFor(world, did, network))?.toLowerCase()).toBe(operational_wallet);
    }
  },
);
