// The registrations of all unaccredited accounts together on mainnets are limited too (MKT-25), because one person can open many accounts.
import { beforeEach, describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import { playEveryOrder } from "../support/orders.ts";
import { withSilentChain } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { market, marketsPath, openMarkets } from "./support.ts";

const TOGETHER = 5;
/** The number at which the operator is alerted: 80 %. */
const ALERTED = 4;

beforeEach(async () => {
  for (const table of ["mainnet_trials", "alerts"]) await env.DB.prepare(`delete from ${table}`).run();
});

/** The chain does not answer: the request alone is counted. */
async function account(status = "KYB_PENDING"): Promise<World> {
  const world = withSilentChain(await createWorld({ SANDBOX_MAINNET_TOGETHER_A_DAY: String(TOGETHER) }));
  await env.DB.prepare("update platforms set status = ? where platform_id = ?").bind(status, world.platformId).run();
  return world;
}
const accounts = (count: number): Promise<World[]> => Promise.all(Array.from({ length: count }, () => account()));
const drawn = async (world: World): Promise<string> => (await world.agent("PROVIDER")).did;
const open = (world: World, did: string, network = "base"): Promise<Reply> =>
  openMarkets(world, did, [market({ network })]);
const openNew = async (world: World): Promise<Reply> => open(world, await drawn(world));
const together = async (): Promise<number> => {
  const row = await env.DB.prepare("select asks from mainnet_trials where platform_id = ''").first<Json>();
  return row ? JSON.parse(row.asks).length : 0;
};
const alerts = async (): Promise<Json[]> =>
  (await env.DB.prepare("select subject, seen, message from alerts where kind = 'sandbox_registrations'").all<Json>())
    .results;
async function registered(count: number): Promise<World> {
  const worlds = await accounts(count);
  for (const world of worlds) expectStatus(await openNew(world), 200);
  return worlds.at(-1) as World;
}

describe("registrations of accounts that are not accredited", () => {
  it("share a daily limit: the next one is 429 with that reason, and writes nothing", async () => {
    await registered(TOGETHER);
    const world = await account();
    const did = await drawn(world);
    const { status, body, headers } = await open(world, did);
    expect([status, body.code, body.detail]).toEqual([429, "rate_limited", { bound: "all_accounts" }]);
    const seconds = Number(headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(23 * 3_600);
    expect(seconds).toBeLessThanOrEqual(24 * 3_600);
    expect(expectStatus(await world.call("GET", marketsPath(did)), 200).data).toEqual([]);
    const own = env.DB.prepare("select * from mainnet_trials where platform_id = ?").bind(world.platformId);
    expect([await together(), await own.first()]).toEqual([TOGETHER, null]);
    const earlier = "update mainnet_trials set asks = (select json_group_array(value - ?) from json_each(asks))";
    await env.DB.prepare(earlier).bind(DAY_MS).run();
    expectStatus(await open(world, did), 200);
    expect(await together()).toBe(1);
  });

  it("do not affect testnets, live keys and accredited accounts", async () => {
    const world = await registered(TOGETHER);
    const did = await drawn(world);
    expectStatus(await open(world, did, "base-sepolia"), 200);
    const accredited = await account("ACCREDITED");
    expectStatus(await openNew(accredited), 200);
    const live = { key: accredited.liveKey, body: { markets: [market({ network: "base" })] } };
    expectStatus(await accredited.call("POST", marketsPath(await drawn(accredited)), live), 200);
    expect(await together()).toBe(TOGETHER);
    expect((await open(world, did)).status).toBe(429);
  });

  it("reach exactly the daily limit when they come at once, and none is 5xx", async () => {
    const worlds = await accounts(TOGETHER + 7);
    const calls = await Promise.all(worlds.map(async (world) => ({ world, did: await drawn(world) })));
    const answers = await Promise.all(calls.map(({ world, did }) => open(world, did)));
    expect(answers.map(({ status }) => status).sort()).toEqual([
      ...Array(TOGETHER).fill(200),
      ...Array(worlds.length - TOGETHER).fill(429),
    ]);
    expect([await together(), (await alerts()).map(({ seen }) => seen)]).toEqual([TOGETHER, [1]]);
  });

  it("give the last place to one of two, in whatever order their trips go", async () => {
    type Stage = { readonly one: [World, string]; readonly other: [World, string] };
    const act = (name: keyof Stage) => (_: World, stage: Stage) => open(...stage[name]);
    const [world, other] = await accounts(2);
    if (!world || !other) throw new Error("unreachable");
    await playEveryOrder<Stage, keyof Stage>(
      world,
      "other",
      { one: act("one"), other: act("other") },
      {
        set: async () => {
          await env.DB.prepare("delete from mainnet_trials").run();
          const asks = JSON.stringify(Array.from({ length: TOGETHER - 1 }, () => Date.now()));
          const row = "insert into mainnet_trials (platform_id, asks, total) values ('', ?, ?)";
          await env.DB.prepare(row)
            .bind(asks, TOGETHER - 1)
            .run();
          return { one: [world, await drawn(world)], other: [other, await drawn(other)] };
        },
        check: async (_, { one, other }) => {
          expect([one.status, other.status].sort()).toEqual([200, 429]);
          expect(await together()).toBe(TOGETHER);
        },
      },
    );
  });

  it("alert the operator once when they reach 80 %", async () => {
    await registered(ALERTED - 1);
    expect(await alerts()).toEqual([]);
    const world = await registered(1);
    expect(await alerts()).toEqual([
      {
        subject: "all accounts that are not accredited",
        seen: 1,
        message: `${ALERTED} providers were registered on mainnets from sandboxes within 24 hours. From ${TOGETHER} on, registrations are refused.`,
      },
    ]);
    expectStatus(await openNew(world), 200);
    expect((await openNew(await account())).status).toBe(429);
    expect((await alerts()).map(({ seen }) => seen)).toEqual([1]);
  });
});
