// An account's registrations on mainnets with its sandbox key are limited: each costs the service gas, and opening a sandbox is free (MKT-25).
import { beforeEach, describe, expect, it } from "vitest";
import { account } from "../support/chain.ts";
import { withConfig, withSilentChain } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { market, marketsPath, openMarkets } from "./support.ts";

const HOUR = 3_600_000;
const A_DAY = 2;
const IN_ALL = 4;

let world: World;
beforeEach(async () => {
  world = await createWorld({ SANDBOX_MAINNET_A_DAY: String(A_DAY), SANDBOX_MAINNET_IN_ALL: String(IN_ALL) });
});

const drawn = async (): Promise<string> => (await world.agent("PROVIDER")).did;
const onMainnet = (extra: Json = {}): Json => market({ network: "base", ...extra });
const open = (did: string, extra: Json = {}, of = world): Promise<Reply> => openMarkets(of, did, [onMainnet(extra)]);
const openNew = async (of = world): Promise<Reply> => open(await drawn(), {}, of);
const counted = async (): Promise<Json | null> => {
  const row = await env.DB.prepare("select * from mainnet_trials where platform_id = ?")
    .bind(world.platformId)
    .first<Json>();
  return row && { asks: JSON.parse(row.asks).length, total: row.total };
};
const refusal = ({ status, body, headers }: Reply) => [status, body?.code, Number(headers.get("retry-after"))];

describe("registrations on a mainnet with a sandbox key", () => {
  it("are limited per day: the next one is 429 until the first is a day old, and writes nothing", async () => {
    for (let n = 0; n < A_DAY; n++) expectStatus(await openNew(), 200);
    const did = await drawn();
    const [status, code, seconds] = refusal(await open(did));
    expect([status, code]).toEqual([429, "rate_limited"]);
    expect(seconds).toBeGreaterThan(23 * 3_600);
    expect(seconds).toBeLessThanOrEqual(24 * 3_600);
    expect(expectStatus(await world.call("GET", marketsPath(did)), 200).data).toEqual([]);
    expect(await counted()).toEqual({ asks: A_DAY, total: A_DAY });
    world.offset = 24 * HOUR;
    expectStatus(await open(did), 200);
  });

  it("are limited in total, however many days pass, until an operator allows more", async () => {
    for (let n = 0; n < IN_ALL; n++) {
      expectStatus(await openNew(), 200);
      world.offset += 25 * HOUR;
    }
    expect(refusal(await openNew())).toEqual([429, "rate_limited", 86_400]);
    world.offset += 100 * HOUR;
    expect((await openNew()).status).toBe(429);
    expect(await counted()).toMatchObject({ total: IN_ALL });
    const config = { sandboxMainnet: { aDay: A_DAY, inAll: IN_ALL + 1, togetherADay: 0 } };
    expectStatus(await openNew(withConfig(world, config)), 200);
  });

  it("do not exceed the daily limit when they come at once", async () => {
    const silent = withSilentChain(world);
    const dids = await Promise.all(Array.from({ length: 5 }, drawn));
    const answers = await Promise.all(dids.map((did) => open(did, {}, silent)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 429, 429, 429]);
    expect(await counted()).toEqual({ asks: A_DAY, total: A_DAY });
  });

  it("count once per provider: further markets, another wallet and a repeated call do not count", async () => {
    const did = await drawn();
    expectStatus(await open(did), 200);
    expectStatus(await open(did), 200);
    expectStatus(await open(did, { market: "GLOBAL-USDC" }), 200);
    expectStatus(await open(did, { operational_wallet: account(7) }), 200);
    expect(await counted()).toEqual({ asks: 1, total: 1 });
    // The registration stays when the market is removed.
    for (const code of ["DE-USDC", "GLOBAL-USDC"])
      expectStatus(await world.call("DELETE", `${marketsPath(did)}/${code}?network=base`), 204);
    expectStatus(await open(did), 200);
    expect(await counted()).toEqual({ asks: 1, total: 1 });
  });

  it("count even if the chain does not answer", async () => {
    const silent = withSilentChain(world);
    for (let n = 0; n < A_DAY; n++) expectStatus(await openNew(silent), 200);
    expect((await openNew()).status).toBe(429);
  });

  it("do not affect testnets, other accounts and live keys", async () => {
    for (let n = 0; n < A_DAY; n++) expectStatus(await openNew(), 200);
    const did = await drawn();
    expectStatus(await openMarkets(world, did, [market()]), 200);
    expectStatus(
      await world.call("POST", marketsPath(did), { key: world.liveKey, body: { markets: [onMainnet()] } }),
      200,
    );
    // The live key has registered the provider, so the sandbox's market costs nothing.
    expectStatus(await open(did), 200);
    expect(await counted()).toEqual({ asks: A_DAY, total: A_DAY });
    const other = await createWorld({ SANDBOX_MAINNET_A_DAY: "1", SANDBOX_MAINNET_IN_ALL: "1" });
    expectStatus(await openMarkets(other, (await other.agent("PROVIDER")).did, [onMainnet()]), 200);
  });

  it("are counted by the service's own clock, whatever the sandbox clock says", async () => {
    for (let n = 0; n < A_DAY; n++) expectStatus(await openNew(), 200);
    const ahead = (ms: number) =>
      env.DB.prepare("update platforms set clock_offset_ms = ? where platform_id = ?").bind(ms, world.platformId).run();
    await ahead(48 * HOUR);
    expect((await openNew()).status).toBe(429);
    await ahead(0);
  });

  it("take no further trip", async () => {
    const did = await drawn();
    world.meter.reset();
    expectStatus(await openMarkets(world, did, [market()]), 200);
    const { trips } = world.meter.reading;
    const second = await drawn();
    world.meter.reset();
    expectStatus(await open(second), 200);
    expect(world.meter.reading.trips).toBe(trips);
  });
});
