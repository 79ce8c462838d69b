// The mails about operational wallets (MKT-32), where the contract has no delay. Those of a delay stand in delayed-wallets.test.ts, those of a wallet
// that nobody asked for in test/follower/wallets.test.ts.
import { beforeEach, describe, expect, it } from "vitest";
import { mailNotices } from "../../src/accounts/mail-notices.ts";
import { account } from "../support/chain.ts";
import { noticesOf } from "../support/notices.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { market, openMarkets, refusedWallet } from "./support.ts";

const [A, B] = [account(8).toLowerCase(), account(7).toLowerCase()];
let world: World;
beforeEach(async () => {
  world = await createWorld();
});

const ask = async (did: string, wallet: string, more: Json = {}, by = world): Promise<Json> =>
  expectStatus(await openMarkets(by, did, [market({ operational_wallet: wallet, ...more })]), 200).markets.at(-1);

describe("an operational wallet", () => {
  it("that is changed is told with the one before, once", async () => {
    const { did } = await world.agent("PROVIDER");
    await ask(did, A);
    expect(await noticesOf(world)).toEqual([]);
    expect(await ask(did, B)).toMatchObject({ status: "ACTIVE", operational_wallet: B });
    await ask(did, B);
    await ask(did, B, { market: "EU-USDC" });
    const [notice, ...others] = await noticesOf(world);
    expect(others).toEqual([]);
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
    expect(mail?.text).toContain(`The sandbox agent ${did} is paid at ${B} on base-sepolia, since `);
    expect(mail?.text).toContain(`The one before is ${A}.`);
  });

  it("that production changes is told once, where the sandbox has the same vault", async () => {
    const { did } = await world.agent("PROVIDER");
    await ask(did, A);
    const body = { markets: [market({ operational_wallet: B })] };
    const path = `/v1/agents/${did}/scope/authorized_markets`;
    expectStatus(await world.call("POST", path, { key: world.liveKey, body }), 200);
    expect((await noticesOf(world)).map(({ data }) => [data.environment, data.previous, data.wallet])).toEqual([
      ["production", A, B],
    ]);
  });

  it("that the contract refuses is not told", async () => {
    const { did } = await world.agent("PROVIDER");
    await ask(did, A);
    expect(await ask(did, await refusedWallet(world))).toMatchObject({ reason: "InvalidWallet" });
    expect(await noticesOf(world)).toEqual([]);
  });
});
