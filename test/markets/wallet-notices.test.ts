// Mails and activity entries about operational wallets (MKT-32) in a contract without a delay. delayed-wallets.test.ts covers delays, and
// test/follower/wallets.test.ts wallets that were never requested.
import { beforeEach, describe, expect, it } from "vitest";
import { mailNotices } from "../../src/accounts/notices.ts";
import { DAY_MS } from "../../src/core/limits.ts";
import { watchRegistrations } from "../../src/markets/watch.ts";
import { moveWallet } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { account } from "../support/chain.ts";
import { moveClock } from "../support/clock.ts";
import { noticesOf } from "../support/notices.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { entriesAbout, market, marketsPath, openMarkets, refusedWallet } from "./support.ts";

const [A, B] = [account(8).toLowerCase(), account(7).toLowerCase()];
let world: World;
beforeEach(async () => {
  world = await createWorld();
});

const ask = async (did: string, wallet: string, more: Json = {}, by = world): Promise<Json> =>
  expectStatus(await openMarkets(by, did, [market({ operational_wallet: wallet, ...more })]), 200).markets.at(-1);
const WALLET = "operational_wallet.base-sepolia";
const walletEntries = (did: string) => entriesAbout(world, did, "agent.wallet_changed");
/** The wallet changes in the entries of the requests for markets. */
const requested = async (did: string): Promise<Json[]> =>
  (await entriesAbout(world, did, "agent.markets_changed")).map(
    ({ changes: { authorized_markets: _, ...rest } }) => rest,
  );
const remove = async (did: string, code: string): Promise<void> =>
  void expectStatus(await world.call("DELETE", `${marketsPath(did)}/${code}?network=base-sepolia`), 204);

describe("an operational wallet", () => {
  it("that changes is reported once, with the previous one", async () => {
    const { did } = await world.agent("PROVIDER");
    await ask(did, A);
    expect(await noticesOf(world)).toEqual([]);
    expect(await ask(did, B)).toMatchObject({ status: "ACTIVE", operational_wallet: B });
    await ask(did, B);
    await ask(did, B, { market: "EU-USDC" });
    const [notice, ...others] = await noticesOf(world);
    expect(others).toEqual([]);
    expect(await walletEntries(did)).toMatchObject([
      {
        actor: { type: "system", id: "provision_market" },
        subject: { type: "agent", id: did },
        environment: "sandbox",
        changes: { [WALLET]: { from: A, to: B } },
      },
    ]);
    expect(notice).toMatchObject({
      kind: "customer.wallet_changed",
      data: {
        ...{ did, environment: "sandbox", network: "base-sepolia" },
        ...{ wallet: B, previous: A, effectiveAt: null, asked: true },
      },
    });
    await world.run(mailNotices);
    const [mail] = world.mails;
    expect(mail?.subject).toBe("An operational wallet was changed");
    expect(mail?.text).toContain(`The sandbox agent ${did} has been paid at ${B} on base-sepolia since `);
    expect(mail?.text).toContain(`The previous wallet is ${A}.`);
  });

  it("is dated in the log by the sandbox clock, and in the mail by the real one", async () => {
    const moved = await createWorld();
    const { did } = await moved.agent("PROVIDER");
    await ask(did, A, {}, moved);
    await moveClock(moved, 10 * DAY_MS);
    const at = moved.now() + 10 * DAY_MS;
    await ask(did, B, {}, moved);
    const entries = await entriesAbout(moved, did, "agent.wallet_changed");
    expect(entries.map(({ occurred_at }) => Date.parse(occurred_at) >= at)).toEqual([true]);
    const [notice] = await noticesOf(moved);
    expect(notice?.data.at).toBeLessThan(at - DAY_MS);
  });

  it("that production changes is reported once, although the sandbox has the same vault", async () => {
    const { did } = await world.agent("PROVIDER");
    await ask(did, A);
    const body = { markets: [market({ operational_wallet: B })] };
    const path = `/v1/agents/${did}/scope/authorized_markets`;
    expectStatus(await world.call("POST", path, { key: world.liveKey, body }), 200);
    expect((await noticesOf(world)).map(({ data }) => [data.environment, data.previous, data.wallet])).toEqual([
      ["production", A, B],
    ]);
    expect((await walletEntries(did)).map(({ environment, changes }) => [environment, changes])).toEqual([
      ["production", { [WALLET]: { from: A, to: B } }],
    ]);
  });

  it("that the contract refuses is not reported", async () => {
    const { did } = await world.agent("PROVIDER");
    await ask(did, A);
    expect(await ask(did, await refusedWallet(world))).toMatchObject({ reason: "InvalidWallet" });
    expect(await noticesOf(world)).toEqual([]);
    expect(await walletEntries(did)).toEqual([]);
  });

  it("that was never requested is reported with the previous one by the job that compares", async () => {
    const { did } = await world.agent("PROVIDER");
    await ask(did, A);
    await moveWallet(did, A, B, "base-sepolia");
    await rows("update chain_operations set next_check_at = 1, status = 'waiting' where subject = ?", did);
    await watchRegistrations.record(world.deps, `base-sepolia ${did}`);
    expect(await noticesOf(world)).toMatchObject([{ data: { did, wallet: B, previous: A, asked: false } }]);
    expect(await walletEntries(did)).toMatchObject([
      {
        actor: { type: "system", id: "watch_registrations" },
        environment: "sandbox",
        changes: { [WALLET]: { from: A, to: B } },
      },
    ]);
  });
});

describe("the entry of a request", () => {
  it("names the wallet of a first market, of a change, and of the last market that is removed", async () => {
    const { did } = await world.agent("PROVIDER");
    await ask(did, A);
    await ask(did, A, { market: "EU-USDC" });
    await ask(did, B);
    await remove(did, "DE-USDC");
    await remove(did, "EU-USDC");
    expect(await requested(did)).toEqual([
      { [WALLET]: { from: null, to: A } },
      {},
      { [WALLET]: { from: A, to: B } },
      {},
      { [WALLET]: { from: B, to: null } },
    ]);
  });

  it("names each network separately", async () => {
    const { did } = await world.agent("PROVIDER");
    await ask(did, A);
    const markets = [market({ operational_wallet: B }), market({ network: "base", operational_wallet: A })];
    expectStatus(await openMarkets(world, did, markets), 200);
    expect((await requested(did)).at(-1)).toEqual({
      [WALLET]: { from: A, to: B },
      "operational_wallet.base": { from: null, to: A },
    });
  });

  it("names no wallet of a market that the chain refused", async () => {
    const { did } = await world.agent("PROVIDER");
    expect(await ask(did, await refusedWallet(world))).toMatchObject({ status: "FAILED" });
    await ask(did, A);
    expect((await requested(did)).at(-1)).toEqual({ [WALLET]: { from: null, to: A } });
  });
});
