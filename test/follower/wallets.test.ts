// The follower follows the wallets that the contract gets (CHN-29), and a wallet that was not requested is never taken over (MKT-31). Only this file
// uses the network `lab-split`, whose roles have the delays of production; it books with three confirmations.
import { encodeFunctionData } from "viem/utils";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { authorityAbi, settlementAbi } from "../../scripts/chain/abi.ts";
import { DELAYS } from "../../scripts/chain/roles.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import type { ChainMessage } from "../../src/context.ts";
import { HOUR_MS } from "../../src/core/limits.ts";
import { applyWalletChanges, provisionMarkets, resumeProvisioning } from "../../src/markets/provision.ts";
import { watchRegistrations } from "../../src/markets/watch.ts";
import { JOB_CONSEQUENCES, MESSAGE_CONSEQUENCES } from "../consequences/table.ts";
import type { Consequence } from "../consequences/words.ts";
import { asProvider } from "../facilitation/support.ts";
import { market, marketsPath, openMarkets } from "../markets/support.ts";
import { orderOf } from "../payments/support.ts";
import { rows } from "../promotion/support.ts";
import { account, asRole, chainOf, networksWith, payOnChain, send } from "../support/chain.ts";
import { expectedOf, observe } from "../support/consequences.ts";
import { labOf, REGISTRAR, restoreLab } from "../support/lab.ts";
import { noticesOf } from "../support/notices.ts";
import { deliver } from "../support/queue.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { escrowOf, follow, moveWallet as moveOn } from "./support.ts";

type Hex = `0x${string}`;
const LAB = "lab-split";
const { lab, mine } = labOf(LAB);
const [A, B, X] = [account(8), account(7), account(6)].map((wallet) => wallet.toLowerCase()) as [
  string,
  string,
  string,
];
const UNIT = 1_000_000;
const LAST = Number.MAX_SAFE_INTEGER;

let world: World;
beforeAll(async () => {
  world = await createWorld({ NETWORKS: networksWith(LAB) });
});
beforeEach(() => settledAndFollowed());
afterEach(() => restoreLab(LAB));

const followed = () => follow(world, LAB);
async function settledAndFollowed(): Promise<void> {
  await mine(3);
  await followed();
}

// ---- On the chain --------------------------------------------------------------------------------------------------------

const moveWallet = (did: string, from: string, to: string) => moveOn(did, from, to, LAB);
const token = () => chainOf(LAB).token as Hex;
/** Changes the wallet with the registrar's key, without the service, once the delay is over. */
async function changeByRegistrar(did: string, to: string): Promise<void> {
  const contract = chainOf(LAB).settlement_contract as Hex;
  const args = [hashDid(did), token(), A as Hex, to as Hex] as const;
  const change = encodeFunctionData({ abi: settlementAbi, functionName: "setOperationalWallet", args });
  const schedule = encodeFunctionData({ abi: authorityAbi, functionName: "schedule", args: [contract, change, 0] });
  await send(LAB, REGISTRAR, chainOf(LAB).authority, schedule);
  await pass(DELAYS.wallet + 60);
  const { to: authority, data } = asRole(LAB, change);
  await send(LAB, REGISTRAR, authority, data);
}
async function pass(seconds: number): Promise<void> {
  await lab("evm_increaseTime", seconds);
  await mine();
}
async function walletOnChain(did: string): Promise<string | null> {
  const read = await world.deps.chain.readProvider(LAB, hashDid(did));
  if (!read.ok) throw new Error("the chain does not answer");
  return read.value.operationalWallet;
}

// ---- In the service ------------------------------------------------------------------------------------------------------

const provider = () => world.provider({}, "GLOBAL-USDC", LAB);
const ask = async (did: string, wallet: string): Promise<Json> => {
  const entry = market({ market: "GLOBAL-USDC", network: LAB, operational_wallet: wallet });
  return expectStatus(await openMarkets(world, did, [entry]), 200).markets[0];
};
const shown = async (did: string): Promise<Json> => (await world.call("GET", marketsPath(did))).body.data[0];
const aidOf = async (did: string): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200);
const documented = async (did: string): Promise<string[]> =>
  (await aidOf(did)).escrow.wallets.map((wallet: Json) => wallet.operational_wallet);
const alertsAbout = (did: string): Promise<Json[]> =>
  rows("select kind, seen from alerts where subject = ? and acknowledged_at is null", `${did} on ${LAB}`);
const operationOf = async (did: string): Promise<Json> =>
  (
    await rows(
      "select status, next_check_at from chain_operations where kind = 'provider_split' and network = ? and subject = ?",
      LAB,
      did,
    )
  )[0];
/** Removes the checks that the operation itself has planned. */
const checked = (did: string) =>
  rows("update chain_operations set next_check_at = null where network = ? and subject = ?", LAB, did);
const DUE = { status: "waiting", next_check_at: expect.any(Number) };
const STRANGE = [{ kind: "operational_wallet", seen: 1 }];

/** Runs the minute's jobs, and the work about the provider that they find. */
async function minute(did: string): Promise<void> {
  const sent: ChainMessage[] = [];
  const take = async (message: ChainMessage) => void ("did" in message && message.did === did && sent.push(message));
  const deps = { ...world.deps, env: { ...world.deps.env, CHAIN_QUEUE: { send: take } as never } };
  await rows("update agent_markets set updated_at = 0 where did = ? and status = 'PROVISIONING'", did);
  await rows(
    "update agent_markets set pending_until = ? where did = ? and pending_until is not null",
    Date.now() - 1,
    did,
  );
  await world.run(watchRegistrations, deps);
  await world.run(resumeProvisioning, deps);
  await world.run(applyWalletChanges, deps);
  const [first] = sent;
  if (first) await deliver(world, "chain", [first]);
}

/** A provider whose wallet A has named X, which was not requested; the service has noticed. */
async function moved(): Promise<string> {
  const { did } = await provider();
  await moveWallet(did, A, X);
  await settledAndFollowed();
  return did;
}

describe("a wallet that the contract gets", () => {
  it("is looked up at once, without an alert, if a market asks for it", async () => {
    const { did } = await provider();
    expect(await ask(did, B)).toMatchObject({ operational_wallet: A, pending_wallet: { operational_wallet: B } });
    await checked(did);
    await moveWallet(did, A, B);
    await settledAndFollowed();
    expect([await operationOf(did), await alertsAbout(did)]).toEqual([DUE, []]);
    await minute(did);
    expect(await shown(did)).toMatchObject({ status: "ACTIVE", operational_wallet: B });
    expect([await documented(did), await alertsAbout(did)]).toEqual([[B], []]);
  });

  it("is not looked up before it has its confirmations", async () => {
    const { did } = await provider();
    await checked(did);
    await moveWallet(did, A, X);
    await mine(1);
    await followed();
    expect([await operationOf(did), await alertsAbout(did)]).toEqual([{ status: "done", next_check_at: null }, []]);
  });

  it("raises one alert if no market asks for it, however often and by however many runs it is read", async () => {
    const { did } = await provider();
    await checked(did);
    await moveWallet(did, A, X);
    await mine(3);
    await Promise.all([followed(), followed(), followed()]);
    await followed();
    expect([await operationOf(did), await alertsAbout(did)]).toEqual([DUE, STRANGE]);
  });

  it("changes nothing if its provider is unknown or in another edition", async () => {
    const unknown = "did:aeap:00000000-0000-4000-8000-000000000000";
    const args = [hashDid(unknown), token(), A as Hex, 15_000_000n] as const;
    const { to, data } = asRole(
      LAB,
      encodeFunctionData({ abi: settlementAbi, functionName: "registerProvider", args }),
    );
    await send(LAB, REGISTRAR, to, data);
    const { did } = await provider();
    await checked(did);
    await rows("update escrows set contract = ? where did = ?", `0x${"ed".repeat(20)}`, did);
    await moveWallet(unknown, A, X);
    await moveWallet(did, A, X);
    await mine(3);
    const alerts = () => rows("select * from alerts where kind = 'operational_wallet' order by alert_id");
    const before = await alerts();
    expect([await followed(), await alerts()]).toEqual([true, before]);
    expect(await operationOf(did)).toEqual({ status: "done", next_check_at: null });
  });
});

describe("a wallet that was not requested", () => {
  it("closes the market until the platform asks for it, and payments to it count if the former wallet has named it", async () => {
    const shop = await provider();
    const { did } = shop;
    const consumer = await world.consumer();
    const intent = await world.intent(consumer, shop, "10.00", { network: LAB });
    const { version } = await aidOf(did);
    await moveWallet(did, A, X);
    const tx = await payOnChain(consumer.did, did, 10 * UNIT, { network: LAB, intentId: intent.intent_id });
    await settledAndFollowed();
    await minute(did);
    const [{ message }] = await rows("select message from alerts where subject = ?", `${did} on ${LAB}`);
    expect(message).toContain(`pays ${X}`);
    expect(message).toContain(`the service has ${A}. ${A}, a wallet of the provider, made the change`);
    const waits = { status: "PROVISIONING", operational_wallet: A, reason: "other_wallet" };
    expect(await shown(did)).toMatchObject({ ...waits, pending_wallet: { operational_wallet: A } });
    expect((await escrowOf(did)).operational_wallet).toBe(A);
    const document = await aidOf(did);
    expect([document.version, document.escrow.wallets, document.identity.authorized_markets]).toEqual([
      version + 1,
      [],
      [],
    ]);
    const order = await world.as(consumer, "POST", "/v1/payment-intents", orderOf(consumer, shop, { network: LAB }));
    expect([order.status, order.body.code]).toEqual([409, "market_not_authorized"]);
    expectStatus(await asProvider(world, { provider: shop, consumer, intent, tx }), 200);
    // Further minutes change nothing.
    await minute(did);
    expect(await shown(did)).toMatchObject(waits);
    expect(await ask(did, X)).toMatchObject({ status: "ACTIVE", operational_wallet: X });
    expect(await shown(did)).not.toHaveProperty("reason");
    expect([await documented(did), (await escrowOf(did)).operational_wallet]).toEqual([[X], X]);
  });

  it("is reported to the platform once, and again when the platform asks for it", async () => {
    const did = await moved();
    const asked = async () =>
      (await noticesOf(world)).flatMap(({ data }) => (data.did === did && data.wallet === X ? [data.asked] : []));
    for (const _ of [1, 2]) await minute(did);
    expect(await asked()).toEqual([false]);
    await ask(did, X);
    expect(await asked()).toEqual([false, true]);
  });

  it("is looked up again after a reorg removes it, and the market is open as before", async () => {
    const { did } = await provider();
    await settledAndFollowed();
    const tx = await moveWallet(did, A, X);
    await settledAndFollowed();
    await minute(did);
    expect(await shown(did)).toMatchObject({ status: "PROVISIONING", reason: "other_wallet" });
    const { blockNumber } = await lab("eth_getTransactionReceipt", tx);
    const behind = Number(await lab("eth_blockNumber")) - Number(blockNumber);
    await checked(did);
    await lab("anvil_rollback", behind + 1);
    await mine(behind + 4);
    await followed();
    expect([await walletOnChain(did), await operationOf(did)]).toEqual([A, DUE]);
    await minute(did);
    expect(await shown(did)).toMatchObject({ status: "ACTIVE", operational_wallet: A });
    expect(await shown(did)).not.toHaveProperty("reason");
    expect(await documented(did)).toEqual([A]);
  });

  it("is changed back at most ten times a day, counted with the requested changes", async () => {
    const did = await moved();
    const asks = Array.from({ length: 9 }, () => world.now());
    await rows("update agents set wallet_asks = ? where did = ?", JSON.stringify(asks), did);
    const sent = async () => Number(await lab("eth_getTransactionCount", REGISTRAR, "latest"));
    const before = await sent();
    await minute(did);
    await minute(did);
    expect(await sent()).toBe(before + 1);
    await moveWallet(did, X, B);
    await settledAndFollowed();
    await minute(did);
    expect(await sent()).toBe(before + 1);
    expect(await shown(did)).toMatchObject({ status: "PROVISIONING", operational_wallet: A, reason: "other_wallet" });
    await rows("update agents set wallet_asks = '[]' where did = ?", did);
    await minute(did);
    expect(await sent()).toBe(before + 2);
  });
});

describe("with the delay of production", () => {
  const provisionOf = (did: string) => async () => {
    await provisionMarkets(world.deps, { did, environment: "sandbox", network: LAB }, Date.now() + HOUR_MS);
    return { agent: [did] };
  };

  it("makes a change back wait, with exactly the consequences of its row", async () => {
    const did = await moved();
    await rows(
      "update chain_operations set next_check_at = ? where subject <> ? and next_check_at is not null",
      LAST,
      did,
    );
    const silent = { ...world.deps, env: { ...world.deps.env, CHAIN_QUEUE: { send: async () => undefined } as never } };
    const found = async () => {
      await world.run(watchRegistrations, silent);
      return { agent: [did] };
    };
    const rowOf = (cases: readonly Consequence[] | undefined, when: string) => {
      const row = cases?.find((each) => each.when === when);
      if (!row) throw new Error(`no row: ${when}`);
      return expectedOf(row);
    };
    expect(await observe(world, found)).toEqual(
      rowOf(JOB_CONSEQUENCES["watch_registrations"], "the contract has a wallet that no market has requested"),
    );
    expect(await observe(world, provisionOf(did))).toEqual(
      rowOf(MESSAGE_CONSEQUENCES.provision_market, "a wallet that was not requested stays until the delay is over"),
    );
    await pass(DELAYS.wallet + 60);
    await minute(did);
    expect(await shown(did)).toMatchObject({ status: "ACTIVE", operational_wallet: A });
    expect(await shown(did)).not.toHaveProperty("pending_wallet");
    expect([await walletOnChain(did), await documented(did), (await alertsAbout(did)).length]).toEqual([A, [A], 1]);
  });

  it("raises an alert about a change that the registrar's key made without the service, and closes the market", async () => {
    const { did } = await provider();
    await changeByRegistrar(did, X);
    await checked(did);
    await settledAndFollowed();
    expect([await operationOf(did), await alertsAbout(did)]).toEqual([DUE, STRANGE]);
    await minute(did);
    expect(await shown(did)).toMatchObject({ status: "PROVISIONING", operational_wallet: A, reason: "other_wallet" });
    expect(await documented(did)).toEqual([]);
  });

  it("raises no alert about a change that the service made itself", async () => {
    const { did } = await provider();
    await ask(did, B);
    await pass(DELAYS.wallet + 60);
    await minute(did);
    expect(await shown(did)).toMatchObject({ status: "ACTIVE", operational_wallet: B });
    await checked(did);
    await settledAndFollowed();
    expect(await walletOnChain(did)).toBe(B);
    expect([await operationOf(did), await alertsAbout(did)]).toEqual([{ status: "done", next_check_at: null }, []]);
  });

  it("schedules a change back again that the guardian cancels", async () => {
    const did = await moved();
    await minute(did);
    const contract = chainOf(LAB).settlement_contract as Hex;
    const change = encodeFunctionData({
      abi: settlementAbi,
      functionName: "setOperationalWallet",
      args: [hashDid(did), token(), X as Hex, A as Hex],
    });
    const cancel = encodeFunctionData({
      abi: authorityAbi,
      functionName: "cancel",
      args: [REGISTRAR as Hex, contract, change],
    });
    await send(LAB, account(4), chainOf(LAB).authority, cancel);
    await minute(did);
    const waits = { status: "PROVISIONING", operational_wallet: A, reason: "other_wallet" };
    expect(await shown(did)).toMatchObject(waits);
    expect(await shown(did)).not.toHaveProperty("pending_wallet");
    await minute(did);
    expect(await shown(did)).toMatchObject({ ...waits, pending_wallet: { operational_wallet: A } });
  });
});
