// Another wallet waits for the contract's delay unless the present one confirms it: until then the present one is paid and shown, and a
// cancellation on-chain is noticed (MKT-21, CHN-20). Only this file uses the network `lab-delayed`.
import { and, eq } from "drizzle-orm";
import { encodeFunctionData } from "viem/utils";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { authorityAbi, settlementAbi } from "../../scripts/chain/abi.ts";
import { DELAYS } from "../../scripts/chain/roles.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import type { ChainMessage } from "../../src/context.ts";
import { WALLET_CHANGES_A_DAY } from "../../src/core/limits.ts";
import { agentMarkets } from "../../src/db/tables/agents.ts";
import { chainOperations } from "../../src/db/tables/chain.ts";
import { alerts, events } from "../../src/db/tables/journal.ts";
import { applyWalletChanges, provisionMarkets } from "../../src/markets/provision.ts";
import { watchRegistrations } from "../../src/markets/watch.ts";
import { MESSAGE_CONSEQUENCES } from "../consequences/table.ts";
import { asProvider } from "../facilitation/support.ts";
import { account, chainOf, networksWith, payOnChain, rpc, send } from "../support/chain.ts";
import { expectedOf, observe, type Seen } from "../support/consequences.ts";
import { REGISTRAR, restoreLab } from "../support/lab.ts";
import { noticesOf } from "../support/notices.ts";
import { deliver } from "../support/queue.ts";
import { withSilentChain } from "../support/variants.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { noteAccepted } from "./accepted.ts";
import {
  entriesAbout,
  later,
  market,
  marketsPath,
  openMarkets,
  refusedWallet,
  takeMessages,
  walletHeldFor,
} from "./support.ts";

const LAB = "lab-delayed";
const [A, B, C] = [account(8), account(7), account(6)].map((wallet) => wallet.toLowerCase()) as [
  string,
  string,
  string,
];
const GUARDIAN = account(4);
const DAY_SECONDS = 86_400;
const hex = (text: string) => text as `0x${string}`;

let world: World;
beforeAll(async () => {
  world = await createWorld({ NETWORKS: networksWith(LAB) });
});
afterEach(() => restoreLab(LAB));

const ask = async (did: string, wallet: string): Promise<Json> => {
  const answer = await openMarkets(world, did, [
    market({ market: "GLOBAL-USDC", network: LAB, operational_wallet: wallet }),
  ]);
  return expectStatus(answer, 200).markets[0];
};
const shown = async (did: string): Promise<Json> => (await world.call("GET", marketsPath(did))).body.data[0];
const walletOnChain = (did: string) => walletHeldFor(world, did, LAB);
const documented = async (did: string): Promise<string[]> => {
  const { escrow } = expectStatus(await world.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200);
  return escrow.wallets.map((wallet: Json) => wallet.operational_wallet);
};
const alertsAbout = async (did: string) =>
  (
    await world.deps.db
      .select()
      .from(alerts)
      .where(eq(alerts.subject, `${did} on ${LAB}`))
  ).map(({ kind }) => kind);
const provisioned = async (did: string) =>
  (
    await world.deps.db
      .select()
      .from(events)
      .where(and(eq(events.type, "market.provisioned"), eq(events.agentDid, did)))
  ).length;

/** A provider whose wallet is A and whose change to B is waiting. */
async function waitingForB(): Promise<string> {
  const { did } = await world.provider({}, "GLOBAL-USDC", LAB);
  expect(await ask(did, B)).toMatchObject({ status: "ACTIVE", operational_wallet: A });
  return did;
}

async function pass(seconds: number): Promise<void> {
  await rpc(LAB, "evm_increaseTime", [seconds]);
  await rpc(LAB, "anvil_mine", ["0x1"]);
}

/** Runs a minute's jobs when the change is due by the service's clock too, and the work that they find. */
async function dueMinute(did: string, wallet = B): Promise<number> {
  const mine = and(eq(agentMarkets.did, did), eq(agentMarkets.pendingWallet, wallet));
  await world.deps.db
    .update(agentMarkets)
    .set({ pendingUntil: Date.now() - 1 })
    .where(mine);
  const sent = await minute(did);
  for (const message of sent) await deliver(world, "chain", [message]);
  return sent.length;
}
async function minute(did: string): Promise<ChainMessage[]> {
  takeMessages(world, did);
  await world.deps.db
    .update(chainOperations)
    .set({ nextCheckAt: Date.now() - 1 })
    .where(eq(chainOperations.subject, did));
  await world.run(watchRegistrations);
  await world.run(applyWalletChanges);
  return takeMessages(world, did);
}

const changeTo = (did: string, wallet: string): `0x${string}` => {
  const args = [hashDid(did), hex(chainOf(LAB).token), hex(A), hex(wallet)] as const;
  return encodeFunctionData({ abi: settlementAbi, functionName: "setOperationalWallet", args });
};
async function cancel(did: string): Promise<void> {
  const args = [hex(REGISTRAR), hex(chainOf(LAB).settlement_contract), changeTo(did, B)] as const;
  const data = encodeFunctionData({ abi: authorityAbi, functionName: "cancel", args });
  await send(LAB, GUARDIAN, chainOf(LAB).authority, data);
}
async function confirmByPresent(did: string): Promise<void> {
  const args = [hashDid(did), hex(chainOf(LAB).token), hex(B)] as const;
  const data = encodeFunctionData({ abi: settlementAbi, functionName: "moveOperationalWallet", args });
  await send(LAB, A, chainOf(LAB).settlement_contract, data);
}

const acceptedLast = noteAccepted();

describe("another wallet", () => {
  it("of twenty requested at once is the last accepted one, and becomes effective after the delay", async () => {
    const { did } = await world.provider({}, "GLOBAL-USDC", LAB);
    const wallets = Array.from({ length: 20 }, (_, n) => `0x${(n + 1).toString(16).padStart(40, "b")}`);
    const replies = await Promise.all(
      wallets.map((wallet) =>
        openMarkets(world, did, [market({ market: "GLOBAL-USDC", network: LAB, operational_wallet: wallet })]),
      ),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([
      ...Array(WALLET_CHANGES_A_DAY).fill(200),
      ...Array(20 - WALLET_CHANGES_A_DAY).fill(429),
    ]);
    const last = await acceptedLast(did, LAB, "GLOBAL-USDC");
    expect(await shown(did)).toMatchObject({
      status: "ACTIVE",
      operational_wallet: A,
      pending_wallet: { operational_wallet: last },
    });
    expect(await walletOnChain(did)).toBe(A);
    await pass(DELAYS.wallet + 1);
    await dueMinute(did, last);
    expect(await shown(did)).toMatchObject({ status: "ACTIVE", operational_wallet: last });
    expect(await walletOnChain(did)).toBe(last);
  });

  it("is scheduled: the present one stays in the contract, in the market and in the document", async () => {
    const { did } = await world.provider({}, "GLOBAL-USDC", LAB);
    const blockTime = async () => Number((await rpc<Json>(LAB, "eth_getBlockByNumber", ["latest", false])).timestamp);
    const earliest = await blockTime();
    const asked = await ask(did, B);
    expect(asked).toMatchObject({ status: "ACTIVE", operational_wallet: A, pending_wallet: { operational_wallet: B } });
    const scheduled = Date.parse(asked.pending_wallet.effective_at) / 1_000 - DELAYS.wallet;
    expect(scheduled).toBeGreaterThanOrEqual(earliest);
    expect(scheduled).toBeLessThanOrEqual(await blockTime());
    expect(await shown(did)).toEqual(asked);
    expect([await walletOnChain(did), await documented(did)]).toEqual([A, [A]]);
    // The minute's jobs change nothing.
    expect(await minute(did)).toEqual([]);
    expect(await shown(did)).toEqual(asked);
    // A repeated request is no second change.
    expect(await ask(did, B)).toEqual(asked);
  });

  it("that the contract would refuse is refused at once, not after the delay", async () => {
    const { did } = await world.provider({}, "GLOBAL-USDC", LAB);
    const refused = await ask(did, await refusedWallet(world, LAB));
    expect(refused).toMatchObject({ status: "ACTIVE", operational_wallet: A, reason: "InvalidWallet" });
    expect(refused).not.toHaveProperty("pending_wallet");
    // Requests cannot name the contract itself, so the row does, and the contract itself refuses.
    const { db } = world.deps;
    const operationalWallet = chainOf(LAB).settlement_contract.toLowerCase();
    await db.update(agentMarkets).set({ status: "PROVISIONING", operationalWallet }).where(eq(agentMarkets.did, did));
    await provisionMarkets(world.deps, { did, environment: "sandbox", network: LAB }, later());
    expect(await shown(did)).toEqual(refused);
  });

  it("is set once the delay is over", async () => {
    const did = await waitingForB();
    const before = await provisioned(did);
    await pass(DELAYS.wallet + 60);
    expect(await dueMinute(did)).toBe(1);
    expect(await shown(did)).toMatchObject({ status: "ACTIVE", operational_wallet: B });
    expect(await shown(did)).not.toHaveProperty("pending_wallet");
    expect([await walletOnChain(did), await documented(did)]).toEqual([B, [B]]);
    expect(await provisioned(did)).toBe(before + 1);
    expect(await dueMinute(did)).toBe(0);
  });

  it("is not set before, whatever the service's clock says", async () => {
    const did = await waitingForB();
    expect(await dueMinute(did)).toBe(1);
    expect([await walletOnChain(did), await documented(did)]).toEqual([A, [A]]);
    expect(await shown(did)).toMatchObject({ pending_wallet: { operational_wallet: B } });
  });

  it("that the guardian cancelled is not set, with a reason and an alert, until it is requested again", async () => {
    const did = await waitingForB();
    await cancel(did);
    await pass(DELAYS.wallet + 60);
    await dueMinute(did);
    expect(await shown(did)).toMatchObject({ status: "ACTIVE", operational_wallet: A, reason: "cancelled" });
    expect(await shown(did)).not.toHaveProperty("pending_wallet");
    expect([await walletOnChain(did), await documented(did)]).toEqual([A, [A]]);
    expect(await alertsAbout(did)).toEqual(["operational_wallet"]);
    expect(await dueMinute(did)).toBe(0);
    expect(await ask(did, B)).toMatchObject({ pending_wallet: { operational_wallet: B } });
  });

  it("that the present one confirms is set as soon as it is requested again", async () => {
    const did = await waitingForB();
    await confirmByPresent(did);
    expect(await ask(did, B)).toMatchObject({ status: "ACTIVE", operational_wallet: B });
    expect(await shown(did)).not.toHaveProperty("pending_wallet");
    expect([await walletOnChain(did), await documented(did)]).toEqual([B, [B]]);
  });

  it("that the present one confirmed is found by the minute's jobs, and earlier payments to it are settled", async () => {
    const provider = await world.provider({}, "GLOBAL-USDC", LAB);
    const consumer = await world.consumer();
    await ask(provider.did, B);
    const intent = await world.intent(consumer, provider, "10.00", { network: LAB });
    await confirmByPresent(provider.did);
    const tx = await payOnChain(consumer.did, provider.did, 10_000_000, { network: LAB, intentId: intent.intent_id });
    expectStatus(await asProvider(world, { provider, consumer, intent, tx }), 200);
    for (const message of await minute(provider.did)) await deliver(world, "chain", [message]);
    expect(await shown(provider.did)).toMatchObject({ status: "ACTIVE", operational_wallet: B });
    expect(await alertsAbout(provider.did)).toEqual([]);
  });

  it("that is no longer wanted is never set", async () => {
    const did = await waitingForB();
    expect(await ask(did, A)).toMatchObject({ status: "ACTIVE", operational_wallet: A });
    expect(await shown(did)).not.toHaveProperty("pending_wallet");
    const [newest] = (await entriesAbout(world, did, "agent.markets_changed")).slice(-1);
    expect(newest?.changes).toMatchObject({ [`operational_wallet.${LAB}`]: { from: B, to: A } });
    await pass(DELAYS.wallet + 60);
    expect(await dueMinute(did)).toBe(0);
    expect(await walletOnChain(did)).toBe(A);
  });

  it("is replaced by a third one, whose delay starts again", async () => {
    const did = await waitingForB();
    expect(await ask(did, C)).toMatchObject({ operational_wallet: A, pending_wallet: { operational_wallet: C } });
    await pass(DELAYS.wallet + 60);
    const mine = eq(agentMarkets.did, did);
    await world.deps.db
      .update(agentMarkets)
      .set({ pendingUntil: Date.now() - 1 })
      .where(mine);
    for (const message of await minute(did)) await deliver(world, "chain", [message]);
    expect([await walletOnChain(did), await documented(did)]).toEqual([C, [C]]);
  });

  it("that was not executed within a week is scheduled again", async () => {
    const did = await waitingForB();
    const first = (await shown(did)).pending_wallet.effective_at;
    await pass(DELAYS.wallet + 8 * DAY_SECONDS);
    const mine = eq(agentMarkets.did, did);
    await world.deps.db
      .update(agentMarkets)
      .set({ pendingUntil: Date.now() - 1 })
      .where(mine);
    for (const message of await minute(did)) await deliver(world, "chain", [message]);
    const { pending_wallet } = await shown(did);
    expect(Date.parse(pending_wallet.effective_at)).toBeGreaterThan(Date.parse(first));
    expect(await walletOnChain(did)).toBe(A);
  });
});

describe("the mails and the entries", () => {
  it("report a change when it is scheduled, and again when it is made", async () => {
    const own = await createWorld({ NETWORKS: networksWith(LAB) });
    const { did } = await own.provider({}, "GLOBAL-USDC", LAB);
    const entry = market({ market: "GLOBAL-USDC", network: LAB, operational_wallet: B });
    const asked = async (): Promise<Json> => expectStatus(await openMarkets(own, did, [entry]), 200).markets[0];
    const { pending_wallet } = await asked();
    const change = { did, network: LAB, wallet: B, previous: A, asked: true };
    const scheduled = { ...change, effectiveAt: Date.parse(pending_wallet.effective_at) };
    const told = async () => (await noticesOf(own)).map(({ data }) => data);
    expect(await told()).toMatchObject([scheduled]);
    // Requested again, and found still waiting, it is no further change.
    await asked();
    await provisionMarkets(own.deps, { did, environment: "sandbox", network: LAB }, later());
    expect(await told()).toHaveLength(1);
    await pass(DELAYS.wallet + 60);
    await provisionMarkets(own.deps, { did, environment: "sandbox", network: LAB }, later());
    expect(await told()).toMatchObject([scheduled, { ...change, effectiveAt: null }]);
    expect((await entriesAbout(own, did, "agent.wallet_changed")).map(({ changes }) => changes)).toEqual([
      {
        [`pending_wallet.${LAB}`]: { from: A, to: B },
        [`effective_at.${LAB}`]: { from: null, to: pending_wallet.effective_at },
      },
      { [`operational_wallet.${LAB}`]: { from: A, to: B } },
    ]);
  });
});

describe("writes exactly its row:", () => {
  const rowOf = (when: string): Seen => {
    const row = MESSAGE_CONSEQUENCES.provision_market.find((each) => each.when === when);
    if (!row) throw new Error(`no row: ${when}`);
    return expectedOf(row);
  };
  const job = (did: string) => ({ did, environment: "sandbox" as const, network: LAB });
  const provision = (did: string) => async () => {
    expect(await provisionMarkets(world.deps, job(did), later())).not.toBeNull();
    return { agent: [did] };
  };
  const openAlerts = () => world.deps.db.update(alerts).set({ acknowledgedAt: world.now() });

  it("a change that begins to wait", async () => {
    const { did } = await world.provider({}, "GLOBAL-USDC", LAB);
    const silent = withSilentChain(world);
    const entry = market({ market: "GLOBAL-USDC", network: LAB, operational_wallet: B });
    expectStatus(await openMarkets(silent, did, [entry]), 200);
    expect(await observe(world, provision(did))).toEqual(rowOf("another wallet waits for the contract's delay"));
  });

  it("a change that still waits, which writes nothing", async () => {
    const did = await waitingForB();
    await observe(world, provision(did)).then(({ events: seen, directory, document }) =>
      expect([seen, directory, document]).toEqual([{}, {}, {}]),
    );
  });

  it("a change whose delay is over", async () => {
    const did = await waitingForB();
    await pass(DELAYS.wallet + 60);
    expect(await observe(world, provision(did))).toEqual(rowOf("the delay is over"));
  });

  it("a change that was cancelled", async () => {
    const did = await waitingForB();
    await cancel(did);
    await openAlerts();
    expect(await observe(world, provision(did))).toEqual(rowOf("the change was cancelled on-chain"));
  });
});
