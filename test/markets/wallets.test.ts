// A wallet that is no longer wanted while its transaction is on its way to the contract or has just arrived: the contract, the markets and the
// document end with the wanted wallet (MKT-9, MKT-12 to MKT-14). Only this file uses the network `lab-wallets`.
import { eq } from "drizzle-orm";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import type { ChainMessage } from "../../src/context.ts";
import { agentMarkets } from "../../src/db/tables/agents.ts";
import { chainOperations } from "../../src/db/tables/chain.ts";
import { alerts } from "../../src/db/tables/journal.ts";
import { escrows } from "../../src/db/tables/money.ts";
import { followThreshold, followThresholds } from "../../src/escrow/follow-threshold.ts";
import { provisionMarkets, resumeProvisioning } from "../../src/markets/provision.ts";
import { watchRegistrations } from "../../src/markets/watch.ts";
import { account, networksWith, plannedClone, rpc, spoil, vaultImplementationOf } from "../support/chain.ts";
import { deliver } from "../support/queue.ts";
import { ageSent } from "../support/signer.ts";
import { withSilentChain } from "../support/variants.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { impatient, later, marketsPath, takeMessages, walletHeldFor } from "./support.ts";

const LAB = "lab-wallets";
const HOUR_MS = 3_600_000;
const A = account(8).toLowerCase();
const B = account(7).toLowerCase();

let world: World;
beforeAll(async () => {
  world = await createWorld({ NETWORKS: networksWith(LAB) });
});
afterEach(async () => {
  await spoil(LAB);
  await rpc(LAB, "evm_setAutomine", [true]);
  await rpc(LAB, "anvil_mine", ["0x1"]);
});

const ask = (by: World, did: string, market: string, wallet: string) =>
  by.call("POST", marketsPath(did), { body: { markets: [{ market, network: LAB, operational_wallet: wallet }] } });
const remove = (did: string, market: string) => world.call("DELETE", `${marketsPath(did)}/${market}?network=${LAB}`);
const job = (did: string, environment: "sandbox" | "production" = "sandbox") => ({ did, environment, network: LAB });
/** Drives the waiting markets, and checks once for a block. */
const drive = (did: string, environment?: "sandbox" | "production") =>
  provisionMarkets(impatient(world).deps, job(did, environment), later());
const stopBlocks = () => rpc(LAB, "evm_setAutomine", [false]);
async function resumeBlocks(): Promise<void> {
  await rpc(LAB, "evm_setAutomine", [true]);
  await rpc(LAB, "anvil_mine", ["0x1"]);
}

/** A provider that has DE-USDC open with A and requests EU-USDC with B: that transaction waits. */
async function withOtherOnItsWay(): Promise<string> {
  const { did } = await world.agent("PROVIDER");
  expectStatus(await ask(world, did, "DE-USDC", A), 200);
  await watched(did);
  await stopBlocks();
  expectStatus(await ask(withSilentChain(world), did, "EU-USDC", B), 200);
  expect(await drive(did)).toBeNull();
  return did;
}

const walletOnChain = (did: string) => walletHeldFor(world, did, LAB);
const markets = async (did: string) =>
  (await world.deps.db.select().from(agentMarkets).where(eq(agentMarkets.did, did)))
    .map((row) => [row.environment, row.market, row.status, row.operationalWallet])
    .sort();
const documented = async (did: string): Promise<string[]> => {
  const { escrow } = expectStatus(await world.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200);
  return [...new Set<string>(escrow.wallets.map((wallet: Json) => wallet.operational_wallet))];
};
const operation = async (did: string) => {
  const [row] = await world.deps.db.select().from(chainOperations).where(eq(chainOperations.subject, did));
  if (!row) throw new Error("no operation");
  return row;
};
const alertsAbout = async (did: string) =>
  (await world.deps.db.select().from(alerts)).filter(({ subject }) => subject.startsWith(did));

/** Runs the jobs of one minute, with all waiting work due. Returns the messages without delivering them. */
async function minute(did: string): Promise<ChainMessage[]> {
  takeMessages(world, did);
  if ((await operation(did)).nextCheckAt !== null) await due(did);
  await world.run(watchRegistrations);
  await world.run(followThresholds);
  await world.run(resumeProvisioning, { ...world.deps, clock: { now: () => Date.now() + HOUR_MS } });
  return takeMessages(world, did);
}
const due = (did: string) =>
  world.deps.db
    .update(chainOperations)
    .set({ nextCheckAt: Date.now() - 1 })
    .where(eq(chainOperations.subject, did));
/** Runs some minutes, including the work that their jobs find. */
async function minutes(did: string, many = 4): Promise<void> {
  for (let i = 0; i < many; i++) for (const message of await minute(did)) await deliver(world, "chain", [message]);
}
/** Runs until no check is left. */
async function watched(did: string): Promise<void> {
  while ((await operation(did)).nextCheckAt !== null) await minute(did);
}
/** Expects this wallet, and no other, in the contract, the open markets and the document. */
async function expectEverywhere(did: string, wallet: string): Promise<void> {
  expect(await walletOnChain(did)).toBe(wallet);
  const open = (await markets(did)).filter(([, , status]) => status === "ACTIVE");
  expect(new Set(open.map(([, , , named]) => named))).toEqual(new Set([wallet]));
  expect(await documented(did)).toEqual([wallet]);
}

describe("a market that is removed while its wallet is on its way", () => {
  it("takes its wallet back: the transaction is never mined", async () => {
    const did = await withOtherOnItsWay();
    expect((await remove(did, "EU-USDC")).status).toBe(204);
    await minute(did);
    await resumeBlocks();
    await minutes(did);
    expect(await markets(did)).toEqual([["sandbox", "DE-USDC", "ACTIVE", A]]);
    await expectEverywhere(did, A);
    expect(await operation(did)).toMatchObject({ status: "done", wanted: { wallet: A } });
    expect(await alertsAbout(did)).toEqual([]);
  });

  it("and whose transaction is mined nevertheless gets the open markets' wallet into the contract again", async () => {
    const did = await withOtherOnItsWay();
    expect((await remove(did, "EU-USDC")).status).toBe(204);
    await resumeBlocks();
    expect(await walletOnChain(did)).toBe(B);
    await minute(did);
    // Until then the document states no wallet that the contract does not have.
    expect(await documented(did)).toEqual([]);
    await minutes(did);
    await expectEverywhere(did, A);
    expect(await alertsAbout(did)).toEqual([]);
  });

  it("between its block and its record gets the open markets' wallet into the contract again", async () => {
    const { did } = await world.agent("PROVIDER");
    expectStatus(await ask(world, did, "DE-USDC", A), 200);
    await watched(did);
    world.meter.beforeBatch(4, () => remove(did, "EU-USDC"));
    expectStatus(await ask(world, did, "EU-USDC", B), 200);
    expect(await walletOnChain(did)).toBe(B);
    await minutes(did);
    await expectEverywhere(did, A);
  });

  it("is not forgotten when a threshold is written meanwhile", async () => {
    const did = await withOtherOnItsWay();
    expect((await remove(did, "EU-USDC")).status).toBe(204);
    await resumeBlocks();
    await world.deps.db.update(escrows).set({ threshold: 9_000_000 }).where(eq(escrows.did, did));
    expect(await followThreshold(world.deps, job(did), later())).toBe(true);
    await minutes(did);
    await expectEverywhere(did, A);
  });
});

describe("a wallet that is withdrawn while its transaction waits", () => {
  it("does not arrive later: the market waits until the transaction is replaced", async () => {
    const did = await withOtherOnItsWay();
    expectStatus(await ask(withSilentChain(world), did, "EU-USDC", A), 200);
    expect(await drive(did)).toBeNull();
    await resumeBlocks();
    await minutes(did);
    expect(await markets(did)).toEqual([
      ["sandbox", "DE-USDC", "ACTIVE", A],
      ["sandbox", "EU-USDC", "ACTIVE", A],
    ]);
    await expectEverywhere(did, A);
  });

  it("for a third one: only the third one arrives", async () => {
    const did = await withOtherOnItsWay();
    const third = account(6).toLowerCase();
    expectStatus(await ask(withSilentChain(world), did, "EU-USDC", third), 200);
    expect(await drive(did)).toBeNull();
    await resumeBlocks();
    expect(await walletOnChain(did)).toBe(third);
    await minutes(did);
    await expectEverywhere(did, third);
  });
});

describe("a sandbox key's wallet that is on its way", () => {
  it("does not arrive once a live key has opened a market with the contract's wallet", async () => {
    const did = await withOtherOnItsWay();
    const body = { markets: [{ market: "DE-USDC", network: LAB, operational_wallet: A }] };
    expectStatus(await withSilentChain(world).call("POST", marketsPath(did), { key: world.liveKey, body }), 200);
    expect(await drive(did, "production")).toBeNull();
    await resumeBlocks();
    await minutes(did);
    expect(await markets(did)).toEqual([
      ["production", "DE-USDC", "ACTIVE", A],
      ["sandbox", "DE-USDC", "ACTIVE", A],
      ["sandbox", "EU-USDC", "FAILED", B],
    ]);
    await expectEverywhere(did, A);
  });

  it("is removed again if it arrives after the production market is open", async () => {
    const did = await withOtherOnItsWay();
    const now = Date.now();
    const open = {
      operationalWallet: A,
      escrowWallet: account(6),
      status: "ACTIVE",
      createdAt: now,
      updatedAt: now,
    } as const;
    // Simulates a live key's call that read the contract before the sandbox key's transaction was sent.
    await world.deps.db.insert(agentMarkets).values({ ...job(did, "production"), market: "DE-USDC", ...open });
    await resumeBlocks();
    expect(await walletOnChain(did)).toBe(B);
    // The sandbox market is refused without asking the chain.
    await drive(did);
    await minutes(did);
    expect((await markets(did)).at(-1)).toEqual(["sandbox", "EU-USDC", "FAILED", B]);
    await expectEverywhere(did, A);
  });
});

describe("a check of the contract while another wallet is being registered", () => {
  /** The market is stored, and the chain has not been asked yet. */
  async function asked(): Promise<string> {
    const { did } = await world.agent("PROVIDER");
    expectStatus(await ask(world, did, "DE-USDC", A), 200);
    expectStatus(await ask(withSilentChain(world), did, "EU-USDC", B), 200);
    return did;
  }

  it("between its block and its record changes nothing back", async () => {
    const did = await asked();
    const sent: ChainMessage[] = [];
    world.meter.beforeBatch(2, async () => void sent.push(...(await minute(did))));
    await provisionMarkets(world.deps, job(did), later());
    expect(sent).toContainEqual({ kind: "provision_market", ...job(did) });
    for (const message of sent) await deliver(world, "chain", [message]);
    await minutes(did);
    await expectEverywhere(did, B);
    expect(await alertsAbout(did)).toEqual([]);
  });

  it("after a crash between its block and its record gets the record written", async () => {
    const did = await asked();
    world.meter.beforeBatch(2, () => Promise.reject(new Error("died")));
    await expect(provisionMarkets(world.deps, job(did), later())).rejects.toThrow("died");
    expect(await walletOnChain(did)).toBe(B);
    expect(await minute(did)).toContainEqual({ kind: "provision_market", ...job(did) });
    expect((await markets(did))[0]).toEqual(["sandbox", "DE-USDC", "ACTIVE", A]);
    await minutes(did);
    await expectEverywhere(did, B);
    expect(await alertsAbout(did)).toEqual([]);
  });
});

async function vaultOfNobody(): Promise<string> {
  const { address, make } = plannedClone(await vaultImplementationOf(LAB), LAB);
  await make();
  return address;
}

describe("a registration that a reorg undoes", () => {
  const blocks = async () => Number(await rpc<string>(LAB, "eth_blockNumber", []));
  it.each([
    ["was refused", vaultOfNobody, "FAILED"],
    ["waits", async () => B, "PROVISIONING"],
  ])("is noticed although another market %s since", async (_name, walletFor, status) => {
    const { did } = await world.agent("PROVIDER");
    const wallet = await walletFor();
    const before = await blocks();
    expectStatus(await ask(world, did, "DE-USDC", A), 200);
    const depth = (await blocks()) - before;
    await stopBlocks();
    expectStatus(await ask(withSilentChain(world), did, "EU-USDC", wallet), 200);
    await drive(did);
    expect((await markets(did))[1]?.[2]).toBe(status);
    await rpc(LAB, "anvil_rollback", [depth]);
    await minute(did);
    expect((await markets(did))[0]?.[2]).toBe("PROVISIONING");
    expect(await documented(did)).toEqual([]);
    expect(await alertsAbout(did)).toMatchObject([{ kind: "chain_reorganised" }]);
    await ageSent(LAB, 10_000);
    await resumeBlocks();
    await minutes(did);
    await expectEverywhere(did, status === "FAILED" ? A : B);
  });
});
