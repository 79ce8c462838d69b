// A new edition of the contract is another address in the configuration (CHN-22, MKT-22): every provider is registered there by the service, its
// markets wait until that is done, its escrow starts empty in another vault, and payments through the earlier edition can still be facilitated.
import { beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { hashDid } from "../../src/chain/hashes.ts";
import { moveEditions } from "../../src/markets/move-editions.ts";
import { provisionMarkets } from "../../src/markets/provision.ts";
import { asProvider } from "../facilitation/support.ts";
import { follow } from "../follower/support.ts";
import { account, chainOf, networksWith, payOnChain, rpc } from "../support/chain.ts";
import { type Agent, createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { later, marketsPath, openMarkets, useLab } from "./support.ts";

const LAB = "lab-editions";
let world: World;
/** The service after the configuration got the new edition. */
let upgraded: World;
const { open, alone } = useLab(LAB, (made) => {
  world = made;
});
beforeAll(async () => {
  const { otherContract, otherAuthority } = inject("lab");
  const networks = (JSON.parse(networksWith(LAB)) as Json[]).map((network) => {
    if (network.network !== LAB) return network;
    const { settlement_contract, authority } = network;
    const present = { settlement_contract: otherContract, authority: otherAuthority };
    return { ...network, ...present, earlier_editions: [{ settlement_contract, authority }] };
  });
  upgraded = await createWorld({ NETWORKS: JSON.stringify(networks) });
});
// Moves the providers of earlier tests first.
beforeEach(() => finishAll());

const marketsOf = async (did: string): Promise<Json[]> => (await world.call("GET", marketsPath(did))).body.data;
const documentOf = async (did: string): Promise<Json> =>
  expectStatus(await upgraded.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200);
const escrowOf = (did: string): Promise<Json | null> =>
  env.DB.prepare("select * from escrows where did = ? and network = ?").bind(did, LAB).first<Json>();
const register = (did: string, environment: "sandbox" | "production" = "sandbox") =>
  provisionMarkets(upgraded.deps, { did, environment, network: LAB }, later());
/** Moves to an edition that is new to the service: providers are registered in the earlier one before each move. */
async function move(): Promise<number> {
  await env.DB.prepare("delete from registered_editions").run();
  return moveOn();
}
const moveOn = (): Promise<number> => upgraded.run(moveEditions);

/** The chain's clock stands still while nothing is mined, and never goes back. */
async function startClock(): Promise<void> {
  const { timestamp } = await rpc<{ timestamp: string }>(LAB, "eth_getBlockByNumber", ["latest", false]);
  const now = Math.floor(Date.now() / 1_000);
  if (now > Number(timestamp)) await rpc(LAB, "evm_setNextBlockTimestamp", [now]);
}

async function finishAll(): Promise<void> {
  await move();
  const { results } = await env.DB.prepare("select distinct did from agent_markets where status = 'PROVISIONING'").all<{
    did: string;
  }>();
  for (const { did } of results) await register(did);
}

async function provider(): Promise<Agent> {
  const agent = await world.agent("PROVIDER");
  expect(expectStatus(await open(agent.did), 200).markets).toMatchObject([{ status: "ACTIVE" }]);
  return agent;
}

it("registers a provider with its wallet there; its markets wait meanwhile and are not in the document", async () => {
  const { did } = await provider();
  const before = await escrowOf(did);
  const [{ escrow_wallet: earlier }] = (await marketsOf(did)) as [Json];
  const { version } = await documentOf(did);
  expect(before?.contract).toBe(chainOf(LAB).settlement_contract.toLowerCase());
  expect(await move()).toBe(1);
  expect(await marketsOf(did)).toMatchObject([{ status: "PROVISIONING", reason: "new_edition" }]);
  expect(await documentOf(did)).toMatchObject({ version: version + 1, identity: { authorized_markets: [] } });
  // If the provider is found again while the chain is slow, nothing changes twice.
  expect(await move()).toBe(1);
  expect((await documentOf(did)).version).toBe(version + 1);

  await register(did);
  const [market] = await marketsOf(did);
  expect(market).toMatchObject({ status: "ACTIVE", operational_wallet: account(8).toLowerCase() });
  expect(market?.["reason"]).toBeUndefined();
  expect(market?.["escrow_wallet"]).not.toBe(earlier);
  const onChain = await upgraded.deps.chain.readProvider(LAB, hashDid(did));
  expect(onChain).toMatchObject({
    value: { registered: true, vault: market?.["escrow_wallet"], threshold: 15_000_000n },
  });
  expect(await escrowOf(did)).toMatchObject({
    contract: inject("lab").otherContract.toLowerCase(),
    vault: market?.["escrow_wallet"],
    balance: 0,
    state: "FUNDING",
    threshold: 15_000_000,
  });
  expect(await documentOf(did)).toMatchObject({ version: version + 2, identity: { authorized_markets: ["DE-USDC"] } });
  expect(await move()).toBe(0);
});

it("reports an escrow that was ACTIVE and starts empty in the new vault", async () => {
  const { did } = await provider();
  await env.DB.batch([
    env.DB.prepare("update escrows set balance = 15000000, state = 'ACTIVE' where did = ?").bind(did),
    env.DB.prepare("update agents set escrow_states = json_object(?, 'ACTIVE') where did = ?").bind(LAB, did),
  ]);
  await move();
  await register(did);
  const { body } = await world.call("GET", `/v1/agents/${did}`);
  expect(body).toMatchObject({ escrow_state: "FUNDING", escrow: [{ balance: "0.00", state: "FUNDING" }] });
  const types = await env.DB.prepare("select type from events where agent_did = ? order by seq").bind(did).all<Json>();
  expect(types.results.map(({ type }) => type).filter((type) => type === "agent.escrow_state_changed")).toHaveLength(1);
});

describe("a payment", () => {
  it("through the earlier edition is facilitated after the move, as is one through the new edition", async () => {
    const pair = { consumer: await world.consumer(), provider: await world.provider({}, "GLOBAL-USDC", LAB) };
    const { did } = pair.provider;
    const ordered = async (by: World) => by.intent(pair.consumer, pair.provider, "10.00", { network: LAB });
    const paid = async (intent: Json, contract: string) => {
      const options = { network: LAB, intentId: intent["intent_id"], contract };
      return { ...pair, intent, tx: await payOnChain(pair.consumer.did, did, 10_000_000, options) };
    };
    await startClock();
    const early = await paid(await ordered(world), chainOf(LAB).settlement_contract);
    await move();
    const refused = await upgraded.as(pair.consumer, "POST", "/v1/payment-intents", {
      ...{ consumer_did: pair.consumer.did, provider_did: did, amount: "1.00", currency: "USDC", network: LAB },
    });
    expect([refused.status, refused.body.code]).toEqual([409, "market_not_authorized"]);
    await register(did);
    const late = await ordered(upgraded);
    expect(late["contract"]).toBe(inject("lab").otherContract);
    const purchase = await paid(late, inject("lab").otherContract);
    await rpc(LAB, "anvil_mine", ["0x3"]);
    expect(expectStatus(await asProvider(upgraded, early), 200)).toMatchObject({ escrow_balance: "0.00" });
    expect(expectStatus(await asProvider(upgraded, purchase), 200)).toMatchObject({ escrow_balance: "0.9995" });
    expect(await escrowOf(did)).toMatchObject({ balance: 999_500, contributed: 999_500 });
  });
});

it("a payment to the earlier edition's wallet is facilitated although the new edition has another one (FAC-17)", async () => {
  const pair = { consumer: await world.consumer(), provider: await world.provider({}, "GLOBAL-USDC", LAB) };
  const { did } = pair.provider;
  await startClock();
  const intent = await world.intent(pair.consumer, pair.provider, "10.00", { network: LAB });
  const options = { network: LAB, intentId: intent["intent_id"], contract: chainOf(LAB).settlement_contract };
  const tx = await payOnChain(pair.consumer.did, did, 10_000_000, options);
  // A change that waits for its delay in the earlier edition becomes the first wallet in the new one.
  await env.DB.prepare(
    "update agent_markets set pending_wallet = ?, pending_until = ?, pending_nonce = 1 where did = ?",
  )
    .bind(account(7).toLowerCase(), Date.now() + 3_600_000, did)
    .run();
  await move();
  await register(did);
  expect((await escrowOf(did))?.["operational_wallet"]).toBe(account(7).toLowerCase());
  await rpc(LAB, "anvil_mine", ["0x3"]);
  expect(expectStatus(await asProvider(upgraded, { ...pair, intent, tx }), 200).status).toBe("settled");
});

it("a provider's own payment through the earlier edition does not spoil an intent, which its buyer pays in the new one (FAC-22)", async () => {
  const pair = { consumer: await world.consumer(), provider: await provider() };
  const { did } = pair.provider;
  await move();
  await register(did);
  // Blocks have whole seconds, so the wallet has been the provider's for a minute already.
  await env.DB.prepare("update agents set wallets = json_array(json_array(?, ?)) where did = ?")
    .bind(account(8).toLowerCase(), Date.now() - 60_000, did)
    .run();
  await startClock();
  const intent = await upgraded.intent(pair.consumer, pair.provider, "10.00", { network: LAB });
  const named = { network: LAB, intentId: intent["intent_id"] };
  const read = async () => {
    await rpc(LAB, "anvil_mine", ["0x3"]);
    await follow(upgraded, LAB);
    return (await upgraded.as(pair.consumer, "GET", `/v1/payment-intents/${intent["intent_id"]}`)).body.status;
  };
  await payOnChain(pair.consumer.did, did, 10_000_000, { ...named, from: account(8) });
  expect(await read()).toBe("OPEN");
  const { otherContract: contract } = inject("lab");
  const tx = await payOnChain(pair.consumer.did, did, 10_000_000, { ...named, contract });
  expect(await read()).toBe("PAID");
  expect(expectStatus(await asProvider(upgraded, { ...pair, intent, tx }), 200).status).toBe("settled");
});

it("a provider without markets is not moved", async () => {
  const { did } = await provider();
  expectStatus(await world.call("DELETE", `${marketsPath(did)}/DE-USDC?network=${LAB}`), 204);
  const before = await escrowOf(did);
  expect(await move()).toBe(0);
  expect({ ...(await escrowOf(did)), contract: before?.contract }).toEqual(before);
  // When a market is opened again, the provider is registered in the new edition.
  const market = { market: "DE-USDC", network: LAB, operational_wallet: account(8) };
  const again = Object.assign(Object.create(upgraded) as World, { key: world.key });
  const [opened] = expectStatus(await openMarkets(again, did, [market]), 200).markets;
  expect(opened.status).toBe("ACTIVE");
  expect(opened.escrow_wallet).not.toBe(before?.vault);
  expect(await escrowOf(did)).toMatchObject({ vault: opened.escrow_wallet, balance: 0 });
});

it("finds at most as many moves as requested, and continues after the last one", async () => {
  const dids = [(await provider()).did, (await provider()).did, (await provider()).did].sort();
  const deps = { ...upgraded.deps, config: { ...upgraded.deps.config, networks: networksOf(alone().config.networks) } };
  await env.DB.prepare("delete from registered_editions").run();
  const found: string[] = [];
  for (let after = null as Json | null; ; ) {
    const due = await moveEditions.find(deps, after as never, 2);
    found.push(...due.map(({ id }) => id.split(" ")[1] ?? ""));
    if (due.length < 2) break;
    after = due.at(-1) ?? null;
  }
  expect(found).toEqual(dids);
});

describe("all providers are scanned", () => {
  const plans = async (): Promise<Json> =>
    (await env.DB.prepare("select plans, planned_at from registered_editions where network = ?")
      .bind(LAB)
      .first<Json>()) ?? {};

  it("when an edition is new, once again ten minutes later, and never after that", async () => {
    await move();
    const { did } = await provider();
    // This provider was registered by a Worker that still had the earlier configuration.
    expect(await moveOn()).toBe(0);
    await env.DB.prepare("update registered_editions set planned_at = planned_at - 600000").run();
    expect(await moveOn()).toBe(1);
    expect(await marketsOf(did)).toMatchObject([{ status: "PROVISIONING", reason: "new_edition" }]);
    await env.DB.prepare("update registered_editions set planned_at = 0").run();
    const late = await provider();
    expect(await moveOn()).toBe(0);
    expect(await marketsOf(late.did)).toMatchObject([{ status: "ACTIVE" }]);
    expect(await plans()).toEqual({ plans: 2, planned_at: 0 });
  });
});

const networksOf = (networks: World["deps"]["config"]["networks"]) =>
  upgraded.deps.config.networks.filter(({ network }) => networks.some((known) => known.network === network));
