// Opening, listing and removing a provider's markets on a real chain (MKT-5 to MKT-13).
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { hashDid } from "../../src/chain/hashes.ts";
import { HOUR_MS } from "../../src/core/limits.ts";
import { agentMarkets } from "../../src/db/tables/agents.ts";
import { escrows } from "../../src/db/tables/money.ts";
import { provisionMarkets } from "../../src/markets/provision.ts";
import { account, chainOf, payOnChain, plannedClone, vaultImplementationOf } from "../support/chain.ts";
import { deliverAll } from "../support/queue.ts";
import { withSilentChain } from "../support/variants.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { market, marketsPath, openMarkets, refusedWallet } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const open = (did: string, markets: readonly unknown[]) => openMarkets(world, did, markets);

async function walletOnChain(did: string): Promise<string | null> {
  const seen = await world.deps.chain.readProvider("base-sepolia", hashDid(did));
  return seen.ok ? seen.value.operationalWallet : null;
}

describe("opening a market", () => {
  it("registers the split on-chain, and the document and the agent show the market", async () => {
    const provider = await world.agent("PROVIDER");
    const { markets } = expectStatus(await open(provider.did, [market()]), 200);
    expect(markets).toEqual([
      expect.objectContaining({
        market: "DE-USDC",
        network: "base-sepolia",
        status: "ACTIVE",
        escrow_wallet: expect.stringMatching(/^0x[0-9a-f]{40}$/i),
      }),
    ]);
    const aid = expectStatus(await world.call("GET", `/v1/agents/${provider.did}/aid`, { key: null }), 200);
    expect(aid.identity.authorized_markets).toEqual(["DE-USDC"]);
    expect(aid.version).toBe(3);
    expect(aid.escrow.liability_profile).toMatchObject({
      total_balance: "0.00",
      effective_threshold: "15.00",
      escrow_state: "FUNDING",
    });
    expect(aid.escrow.wallets).toHaveLength(1);
  });

  it("is decided again if another wallet is requested while the chain's answer is written", async () => {
    const { did } = await world.agent("PROVIDER");
    const silent = withSilentChain(world);
    const ask = (wallet: string) => openMarkets(silent, did, [market({ operational_wallet: wallet })]);
    expectStatus(await ask(account(8)), 200);
    const row = eq(agentMarkets.did, did);
    const settled = { status: "ACTIVE", escrowWallet: account(7) } as const;
    silent.meter.beforeBatch(2, () => world.deps.db.update(agentMarkets).set(settled).where(row));
    expectStatus(await ask(account(9)), 200);
    expect(await world.deps.db.select().from(agentMarkets).where(row)).toMatchObject([
      { status: "PROVISIONING", operationalWallet: account(9).toLowerCase(), escrowWallet: account(7) },
    ]);
  });

  it("requested twice changes nothing on-chain and returns the same answer", async () => {
    const provider = await world.agent("PROVIDER");
    const first = expectStatus(await open(provider.did, [market()]), 200);
    const second = expectStatus(await open(provider.did, [market()]), 200);
    expect(second.markets[0].escrow_wallet).toBe(first.markets[0].escrow_wallet);
    expect(second.markets[0].status).toBe("ACTIVE");
  });

  it("that is already open as requested returns the same answer and makes no new version", async () => {
    const provider = await world.agent("PROVIDER");
    const first = expectStatus(await open(provider.did, [market()]), 200);
    const version = async () => (await world.call("GET", `/v1/agents/${provider.did}/aid`, { key: null })).body.version;
    const before = await version();
    expect(expectStatus(await open(provider.did, [market()]), 200)).toEqual(first);
    expect(first.markets[0].registration_tx).toMatch(/^0x[0-9a-f]{64}$/);
    expect(await version()).toBe(before);
  });

  it("accepts a wallet in its checksummed case", async () => {
    const provider = await world.agent("PROVIDER");
    const operational_wallet = "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc";
    const { markets } = expectStatus(await open(provider.did, [market({ operational_wallet })]), 200);
    expect(markets[0]).toMatchObject({ status: "ACTIVE", operational_wallet: operational_wallet.toLowerCase() });
  });

  it("accepts a network by its CAIP-2 name and returns both names", async () => {
    const provider = await world.agent("PROVIDER");
    const { markets } = expectStatus(await open(provider.did, [market({ network: "eip155:84532" })]), 200);
    expect(markets[0]).toMatchObject({ network: "base-sepolia", caip2: "eip155:84532", status: "ACTIVE" });
    const path = `${marketsPath(provider.did)}/DE-USDC?network=eip155%3A84532`;
    expect((await world.call("DELETE", path)).status).toBe(204);
  });

  it("moves every market of the network to a new operational wallet", async () => {
    const provider = await world.agent("PROVIDER");
    expectStatus(await open(provider.did, [market(), market({ market: "EU-USDC" })]), 200);
    const { markets } = expectStatus(await open(provider.did, [market({ operational_wallet: account(7) })]), 200);
    expect(
      markets.map((entry: { operational_wallet: string; status: string }) => [entry.operational_wallet, entry.status]),
    ).toEqual([
      [account(7).toLowerCase(), "ACTIVE"],
      [account(7).toLowerCase(), "ACTIVE"],
    ]);
  });

  it("with a wallet that the chain refuses leaves the network's open markets with the chain's wallet", async () => {
    const provider = await world.agent("PROVIDER");
    expectStatus(await open(provider.did, [market()]), 200);
    const refused = market({ market: "EU-USDC", operational_wallet: await refusedWallet(world) });
    const { markets } = expectStatus(await open(provider.did, [refused]), 200);
    expect(markets).toMatchObject([
      { market: "DE-USDC", operational_wallet: account(8).toLowerCase(), status: "ACTIVE" },
      { market: "EU-USDC", status: "FAILED", reason: "InvalidWallet" },
    ]);
    expect(await walletOnChain(provider.did)).toBe(account(8).toLowerCase());
  });

  it("moved to a wallet that the chain refuses stays open with its present one, and the document says so throughout", async () => {
    const provider = await world.agent("PROVIDER");
    const [before] = expectStatus(await open(provider.did, [market()]), 200).markets;
    const documents: Json[] = [];
    const aid = async () => (await world.call("GET", `/v1/agents/${provider.did}/aid`, { key: null })).body;
    const { address, make } = plannedClone(await vaultImplementationOf());
    world.meter.beforeBatch(2, async () => {
      await make();
      // This runs while the chain is asked: the fourth trip reads the rows that the chain's answer updates.
      world.meter.beforeBatch(2, async () => documents.push(await aid()));
    });
    const [after] = expectStatus(await open(provider.did, [market({ operational_wallet: address })]), 200).markets;
    expect(after).toEqual({ ...before, reason: "InvalidWallet" });
    documents.push(await aid());
    expect(documents.map(({ version, identity }) => [version, identity.authorized_markets])).toEqual([
      [4, []],
      [5, ["DE-USDC"]],
    ]);
    expect(documents[1].escrow.wallets[0].operational_wallet).toBe(account(8).toLowerCase());
    const consumer = await world.consumer();
    expect((await world.intent(consumer, provider)).status).toBe("OPEN");
  });

  it("with a sandbox key never changes the wallet of a production market: one network has one split", async () => {
    const provider = await world.agent("PROVIDER");
    const path = marketsPath(provider.did);
    const body = { markets: [market({ market: "GLOBAL-USDC" })] };
    expectStatus(await world.call("POST", path, { key: world.liveKey, body }), 200);
    const other = await open(provider.did, [market({ operational_wallet: account(7) })]);
    expect([other.status, other.body.code]).toEqual([409, "environment_mismatch"]);
    expect(await walletOnChain(provider.did)).toBe(account(8).toLowerCase());
    expect(expectStatus(await open(provider.did, [market()]), 200).markets[0].status).toBe("ACTIVE");
    const moved = { markets: [market({ market: "GLOBAL-USDC", operational_wallet: account(7) })] };
    expectStatus(await world.call("POST", path, { key: world.liveKey, body: moved }), 200);
    expect(await walletOnChain(provider.did)).toBe(account(7).toLowerCase());
  });

  // The fifth trip writes the chain's answer; the fourth read the rows that it updates.
  it("to which another call gives another wallet before the chain's answer is written waits for that wallet", async () => {
    const provider = await world.agent("PROVIDER");
    const rows = eq(agentMarkets.did, provider.did);
    const other = account(7).toLowerCase();
    world.meter.beforeBatch(5, () => world.deps.db.update(agentMarkets).set({ operationalWallet: other }).where(rows));
    const { markets } = expectStatus(await open(provider.did, [market()]), 200);
    expect(markets).toMatchObject([{ status: "PROVISIONING", operational_wallet: other, escrow_wallet: null }]);
    const job = { did: provider.did, environment: "sandbox" as const, network: "base-sepolia" };
    expect(await provisionMarkets(world.deps, job, Date.now() + HOUR_MS)).not.toBeNull();
    const list = await world.call("GET", marketsPath(provider.did));
    expect(list.body.data).toMatchObject([{ status: "ACTIVE", operational_wallet: other }]);
    expect(await walletOnChain(provider.did)).toBe(other);
  });

  it("that is removed before the chain's answer is written stays removed", async () => {
    const provider = await world.agent("PROVIDER");
    world.meter.beforeBatch(5, () => world.deps.db.delete(agentMarkets).where(eq(agentMarkets.did, provider.did)));
    expect(expectStatus(await open(provider.did, [market()]), 200).markets).toEqual([]);
  });

  it("is refused to a consumer with role_not_permitted", async () => {
    const consumer = await world.consumer();
    expect((await open(consumer.did, [market()])).body.code).toBe("role_not_permitted");
  });

  it.each([
    ["a malformed identifier", { market: "de_usdc" }, "invalid_market_format", "invalid_market_format"],
    ["an unknown network", { network: "solana" }, "validation_failed", "invalid_value"],
    ["a jurisdiction the service does not operate in", { market: "KP-USDC" }, "validation_failed", "invalid_value"],
    ["another currency than the network's", { market: "DE-EURC" }, "validation_failed", "invalid_value"],
    [
      "a wallet whose checksum says that it is mistyped",
      { operational_wallet: "0x9965507d1A55bcC2695C58ba16FB37d819B0A4dc" },
      "validation_failed",
      "invalid_format",
    ],
    [
      "the token as wallet",
      { operational_wallet: chainOf().token.toLowerCase() },
      "validation_failed",
      "invalid_value",
    ],
    [
      "the token as wallet, of a network by its other name",
      { operational_wallet: chainOf().token, network: "eip155:84532" },
      "validation_failed",
      "invalid_value",
    ],
    ["the zero address as wallet", { operational_wallet: `0x${"0".repeat(40)}` }, "validation_failed", "invalid_value"],
    ["a malformed wallet", { operational_wallet: "0x12" }, "validation_failed", "invalid_format"],
    ["an unknown field", { colour: "red" }, "validation_failed", "unknown_field"],
  ])("refuses %s", async (_name, overrides, code, fieldCode) => {
    const provider = await world.agent("PROVIDER");
    const reply = await open(provider.did, [market(overrides)]);
    expect(reply.status).toBe(422);
    expect(reply.body.code).toBe(code);
    expect(reply.body.field_errors[0].code).toBe(fieldCode);
    const list = await world.call("GET", marketsPath(provider.did));
    expect(list.body.data).toEqual([]);
  });
});

describe("one split for both environments of a network", () => {
  const openLive = (did: string, wallet: string) =>
    world.call("POST", marketsPath(did), {
      key: world.liveKey,
      body: { markets: [market({ operational_wallet: wallet })] },
    });
  const OTHER = () => account(7).toLowerCase();

  it("has the wallet that the signed document names, whichever key set it last", async () => {
    const provider = await world.provider();
    expectStatus(await openLive(provider.did, OTHER()), 200);
    expect(await walletOnChain(provider.did)).toBe(OTHER());
    const aid = expectStatus(await world.call("GET", `/v1/agents/${provider.did}/aid`, { key: null }), 200);
    expect(aid.escrow.wallets[0].operational_wallet).toBe(OTHER());
    const list = expectStatus(await world.call("GET", marketsPath(provider.did)), 200);
    expect(list.data[0]).toMatchObject({ status: "ACTIVE", operational_wallet: OTHER() });
  });

  it("is not changed by a sandbox market that waited while a production market opened", async () => {
    const { did } = await world.agent("PROVIDER");
    expectStatus(await openLive(did, OTHER()), 200);
    const now = world.now();
    const waiting = { ...market(), operationalWallet: account(8).toLowerCase(), status: "PROVISIONING" as const };
    const row = {
      did,
      environment: "sandbox" as const,
      market: "DE-USDC",
      network: "base-sepolia",
      createdAt: now,
      updatedAt: now,
    };
    await world.deps.db.insert(agentMarkets).values({ ...row, ...waiting });
    const job = { did, environment: "sandbox" as const, network: "base-sepolia" };
    expect(await provisionMarkets(world.deps, job, Date.now() + HOUR_MS)).not.toBeNull();
    expect(await walletOnChain(did)).toBe(OTHER());
    const list = expectStatus(await world.call("GET", marketsPath(did)), 200);
    expect(list.data[0]).toMatchObject({ status: "FAILED", reason: "environment_mismatch" });
  });
});

describe("a production market that opens while a sandbox key's transaction is on its way", () => {
  it("has its wallet written to the contract again", async () => {
    const { did } = await world.agent("PROVIDER");
    const wallet = account(7).toLowerCase();
    const now = world.now();
    // The fourth trip reads the rows that the chain's answer updates: by then the live key's market is open.
    world.meter.beforeBatch(4, () =>
      world.deps.db.insert(agentMarkets).values({
        ...{ did, environment: "production", market: "DE-USDC", network: "base-sepolia" },
        ...{ operationalWallet: wallet, escrowWallet: account(6), status: "ACTIVE", createdAt: now, updatedAt: now },
      }),
    );
    const [refused] = expectStatus(await open(did, [market()]), 200).markets;
    expect(refused).toMatchObject({ status: "FAILED", reason: "environment_mismatch" });
    await deliverAll(world);
    expect(await walletOnChain(did)).toBe(wallet);
    const { data } = expectStatus(await world.call("GET", marketsPath(did), { key: world.liveKey }), 200);
    expect(data[0]).toMatchObject({ status: "ACTIVE", operational_wallet: wallet });
  });
});

describe("while the chain is slow", () => {
  it.each([3, 5])("an agent that is TERMINATED gets no market (before trip %i)", async (trip) => {
    const { did } = await world.agent("PROVIDER");
    world.meter.beforeBatch(trip, () =>
      world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "TERMINATED" } }),
    );
    const [opened] = expectStatus(await open(did, [market()]), 200).markets;
    expect(opened).toMatchObject({ status: "FAILED", reason: "agent_status_not_mutable" });
    const aid = expectStatus(await world.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200);
    expect([aid.version, aid.identity.authorized_markets]).toEqual([2, []]);
  });

  it.each([4, 5])("a settlement and a rating are not overwritten (before trip %i)", async (trip) => {
    const provider = await world.provider();
    const consumer = await world.consumer();
    const { intent_id } = await world.intent(consumer, provider, "5000.00");
    const payment_tx = await payOnChain(consumer.did, provider.did, 5_000_000_000, { intentId: intent_id });
    let settled: Json;
    world.meter.beforeBatch(trip, async () => {
      settled = expectStatus(await world.as(provider, "POST", "/v1/facilitate", { intent_id, payment_tx }), 200);
      const path = `/v1/tasks/${settled.task_id}/confirm`;
      expectStatus(await world.as(consumer, "POST", path, { outcome: "confirmed" }), 200);
    });
    expectStatus(await open(provider.did, [market()]), 200);
    const [escrow] = await world.deps.db.select().from(escrows).where(eq(escrows.did, provider.did));
    expect(settled.escrow_balance).toBe("15.00");
    expect(escrow).toMatchObject({
      balance: 15_000_000,
      threshold: 10_200_000,
      chainThreshold: 15_000_000,
      state: "ACTIVE",
    });
    const aid = expectStatus(await world.call("GET", `/v1/agents/${provider.did}/aid`, { key: null }), 200);
    expect(aid.escrow.liability_profile).toMatchObject({ total_balance: "15.00", effective_threshold: "10.20" });
  });
});

describe("the list of a provider's markets", () => {
  it("comes in consecutive pages, in the order of the codes", async () => {
    const provider = await world.agent("PROVIDER");
    const codes = ["AT", "BE", "DE", "EU", "GLOBAL"].map((jurisdiction) => `${jurisdiction}-USDC`);
    await open(provider.did, codes.map((code) => market({ market: code })).reverse());
    const path = marketsPath(provider.did);
    const seen: string[] = [];
    let cursor = "";
    do {
      const page = expectStatus(await world.call("GET", `${path}?limit=2${cursor}`), 200);
      seen.push(...page.data.map((entry: Json) => entry.market));
      expect(page.has_more).toBe(page.next_cursor !== null);
      cursor = page.next_cursor === null ? "" : `&cursor=${page.next_cursor}`;
    } while (cursor !== "");
    expect(seen).toEqual(codes);
    expect((await world.call("GET", `${path}?limit=101`)).body.field_errors[0].code).toBe("too_big");
    const other = await createWorld();
    expect((await other.call("GET", `${path}?limit=101`)).body.code).toBe("not_found");
  });
});

describe("removing a market", () => {
  it("takes it out of the document and makes a new version", async () => {
    const provider = await world.agent("PROVIDER");
    expectStatus(await open(provider.did, [market()]), 200);
    const path = `${marketsPath(provider.did)}/DE-USDC?network=base-sepolia`;
    expect((await world.call("DELETE", path)).status).toBe(204);
    const aid = expectStatus(await world.call("GET", `/v1/agents/${provider.did}/aid`, { key: null }), 200);
    expect(aid.identity.authorized_markets).toEqual([]);
    expect((await world.call("DELETE", path)).body.code).toBe("not_found");
  });
});
