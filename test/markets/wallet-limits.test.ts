// Addresses that cannot be wallets are refused before the chain is asked, and an agent may change its wallets ten times a day (MKT-24).
import { beforeAll, describe, expect, inject, it } from "vitest";
import { mayChangeWallet } from "../../src/markets/wallets.ts";
import { faultsOf } from "../agents/support.ts";
import { account, chainOf, networksWith, vaultOf } from "../support/chain.ts";
import { withSilentChain } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { market, marketsPath, openMarkets } from "./support.ts";

const HOUR = 3_600_000;
const LAB = "lab";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const ask = (did: string, wallet: string, of = world, extra: Json = {}): Promise<Reply> =>
  openMarkets(of, did, [market({ operational_wallet: wallet, ...extra })]);

const fieldsOf = (reply: Reply): string[] => faultsOf(reply).map(([field]: string[]) => String(field));

describe("an address that cannot be a wallet", () => {
  it.each<[string, (did: string) => string | Promise<string>]>([
    ["the settlement contract", () => chainOf().settlement_contract],
    ["the settlement contract, in lower case", () => chainOf().settlement_contract.toLowerCase()],
    ["the token", () => chainOf().token],
    ["the provider's vault", (did) => vaultOf(did)],
    ["the zero address", () => `0x${"0".repeat(40)}`],
  ])("is refused at once: %s", async (_what, wallet) => {
    const { did } = await world.provider();
    const before = expectStatus(await world.call("GET", marketsPath(did)), 200).data;
    const refused = await ask(did, await wallet(did));
    expect([refused.status, fieldsOf(refused)]).toEqual([422, ["markets.0.operational_wallet"]]);
    // It is also refused together with another fault of the body.
    const twice = await openMarkets(world, did, [
      market({ operational_wallet: await wallet(did) }),
      { market: "DE-USDC" },
    ]);
    expect(fieldsOf(twice)).toEqual(expect.arrayContaining(["markets.0.operational_wallet", "markets.1.network"]));
    expect(expectStatus(await world.call("GET", marketsPath(did)), 200).data).toEqual(before);
  });

  it("includes the contract of an earlier edition", async () => {
    const { otherContract, otherAuthority } = inject("lab");
    const earlier_editions = [{ settlement_contract: otherContract, authority: otherAuthority }];
    const networks = (JSON.parse(networksWith(LAB)) as Json[]).map((network) =>
      network.network === LAB ? { ...network, earlier_editions } : network,
    );
    const upgraded = await createWorld({ NETWORKS: JSON.stringify(networks) });
    const { did } = await upgraded.agent("PROVIDER");
    const refused = await ask(did, otherContract, upgraded, { network: LAB });
    expect([refused.status, fieldsOf(refused)]).toEqual([422, ["markets.0.operational_wallet"]]);
  });
});

describe("changes of wallets", () => {
  const WALLETS = [account(7), account(8)];
  const wallet = (n: number): string => WALLETS[n % 2] ?? "";
  const outcome = ({ status, body, headers }: Reply) => [status, body?.code, Number(headers.get("retry-after"))];

  it("are limited to ten in 24 hours, even if the chain does not answer, and unchanged wallets are not counted", async () => {
    const { did } = await world.agent("PROVIDER");
    const silent = withSilentChain(world);
    // The first wallet is no change.
    expectStatus(await ask(did, wallet(0)), 200);
    for (let n = 1; n <= 10; n++) {
      const by = n % 3 === 0 ? silent : world;
      expectStatus(await ask(did, wallet(n), by), 200);
      expectStatus(await ask(did, wallet(n), by), 200);
    }
    const before = expectStatus(await world.call("GET", marketsPath(did)), 200).data;
    const [status, code, seconds] = outcome(await ask(did, wallet(11)));
    expect([status, code]).toEqual([429, "rate_limited"]);
    expect(seconds).toBeGreaterThan(23 * 3_600);
    expect(seconds).toBeLessThanOrEqual(24 * 3_600);
    expect(expectStatus(await world.call("GET", marketsPath(did)), 200).data).toEqual(before);
    // Another agent of the same platform is not limited by this.
    const other = await world.provider();
    expectStatus(await ask(other.did, wallet(1)), 200);
    try {
      world.offset = 24 * HOUR;
      expectStatus(await ask(did, wallet(11)), 200);
    } finally {
      world.offset = 0;
    }
  });

  it("count even if the market is removed between them", async () => {
    const { did } = await world.agent("PROVIDER");
    expectStatus(await ask(did, wallet(0)), 200);
    for (let n = 1; n <= 10; n++) {
      expectStatus(await world.call("DELETE", `${marketsPath(did)}/DE-USDC?network=base-sepolia`), 204);
      expectStatus(await ask(did, wallet(n)), 200);
    }
    expect((await ask(did, wallet(11))).status).toBe(429);
  });

  it("do not exceed the daily limit when they come at once", async () => {
    const { did } = await world.agent("PROVIDER");
    const silent = withSilentChain(world);
    expectStatus(await ask(did, wallet(0)), 200);
    for (let n = 1; n <= 9; n++) expectStatus(await ask(did, wallet(n), silent), 200);
    const wallets = [account(5), account(6), account(4)];
    const answers = await Promise.all(wallets.map((one) => ask(did, one, silent)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 429, 429]);
  });

  it("leave none to the service, which restores wallets changed from outside, once there were ten", () => {
    const now = world.now();
    const asks = (count: number) => ({ walletAsks: Array.from({ length: count }, () => now - 24 * HOUR + 1) });
    expect([mayChangeWallet(asks(9), now), mayChangeWallet(asks(10), now), mayChangeWallet(asks(10), now + 1)]).toEqual(
      [true, false, true],
    );
  });

  it("are counted by the service's own clock in a sandbox whose clock was moved", async () => {
    const { did } = await world.agent("PROVIDER");
    expectStatus(await ask(did, wallet(0)), 200);
    for (let n = 1; n <= 10; n++) expectStatus(await ask(did, wallet(n)), 200);
    await env.DB.prepare("update platforms set clock_offset_ms = ? where platform_id = ?")
      .bind(48 * HOUR, world.platformId)
      .run();
    expect((await ask(did, wallet(11))).status).toBe(429);
    await env.DB.prepare("update platforms set clock_offset_ms = 0 where platform_id = ?").bind(world.platformId).run();
  });
});
