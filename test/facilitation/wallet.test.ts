// The wallet that a settlement paid must be one that the service had registered, in force at the payment's block (FAC-17). The contract alone would
// pay whatever wallet a stolen key had given it.
import { and, eq } from "drizzle-orm";
import { encodeFunctionData } from "viem/utils";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { authorityAbi, settlementAbi } from "../../scripts/chain/abi.ts";
import { ROLES } from "../../scripts/chain/roles.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { HOUR_MS, SECOND_MS } from "../../src/core/limits.ts";
import { agentMarkets } from "../../src/db/tables/agents.ts";
import { alerts } from "../../src/db/tables/journal.ts";
import { escrows } from "../../src/db/tables/money.ts";
import { follow, headTime } from "../follower/support.ts";
import { account, asRole, chainOf, send } from "../support/chain.ts";
import { moveClock } from "../support/clock.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import { asClient, asConsumer, asProvider, type Pair, paid, pairOf, refused } from "./support.ts";

const NETWORK = "base-sepolia";
const OWNER = account(5);
const THIEF = account(5);
const hex = (text: string) => text as `0x${string}`;
const member = (functionName: "grantRole" | "revokeRole") => {
  const { id } = ROLES.REGISTRAR_DELAYED;
  return functionName === "grantRole"
    ? encodeFunctionData({ abi: authorityAbi, functionName, args: [id, hex(THIEF), 0] })
    : encodeFunctionData({ abi: authorityAbi, functionName, args: [id, hex(THIEF)] });
};

let world: World;
beforeAll(async () => {
  world = await createWorld();
  await send(NETWORK, OWNER, chainOf(NETWORK).authority, member("grantRole"));
});
afterAll(() => send(NETWORK, OWNER, chainOf(NETWORK).authority, member("revokeRole")));

const db = () => world.deps.db;
const ofProvider = (did: string) => and(eq(escrows.did, did), eq(escrows.network, NETWORK));

async function walletOf(did: string): Promise<string> {
  const [escrow] = await db().select().from(escrows).where(ofProvider(did));
  return escrow?.operationalWallet ?? "";
}

/** Sets the wallet with a registrar's key, bypassing the service. */
async function repoint(did: string, from: string, to: string): Promise<void> {
  const args = [hashDid(did), hex(chainOf(NETWORK).token), hex(from), hex(to)] as const;
  const data = encodeFunctionData({ abi: settlementAbi, functionName: "setOperationalWallet", args });
  const call = asRole(NETWORK, data);
  await send(NETWORK, THIEF, call.to, call.data);
}

/** Changes the wallet as the platform does. */
async function moveWallet(did: string, wallet: string): Promise<void> {
  const body = { markets: [{ market: "GLOBAL-USDC", network: NETWORK, operational_wallet: wallet }] };
  const answer = await world.call("POST", `/v1/agents/${did}/scope/authorized_markets`, { body });
  expect(expectStatus(answer, 200).markets).toMatchObject([{ status: "ACTIVE" }]);
}

const alertsOf = async (did: string) =>
  (
    await db()
      .select()
      .from(alerts)
      .where(eq(alerts.subject, `${did} on ${NETWORK}`))
  ).map(({ kind }) => kind);

describe("a payment to a wallet that the service did not register", () => {
  it.each([
    ["by the provider", asProvider],
    ["with the consumer's proof", asConsumer],
    ["in the client form", asClient],
  ] as const)("is refused %s, with an alert and nothing recorded", async (_form, facilitate) => {
    const pair = await pairOf(world);
    const { provider, consumer } = pair;
    await repoint(provider.did, await walletOf(provider.did), THIEF);
    const before = await walletOf(provider.did);
    const purchase = await paid(world, pair);
    const act = () => facilitate(world, purchase);
    // Until the follower has read which wallet named it, the call is to be repeated.
    await refused(world, [provider.did, consumer.did], act, 503, "chain_unavailable");
    expect(await alertsOf(provider.did)).toEqual([]);
    await follow(world);
    const { detail } = await refused(world, [provider.did, consumer.did], act, 409, "settlement_verification_failed");
    const facts = { paid_wallet: THIEF.toLowerCase(), registered_wallet: before, block: expect.any(Number) };
    expect(detail).toEqual({ failed_check: "other_wallet", ...facts, confirmed_by: null });
    expect(await alertsOf(provider.did)).toEqual(["operational_wallet"]);
  });

  it("is refused if a market was refused that wallet, or has it on another network", async () => {
    const pair = await pairOf(world);
    const { did } = pair.provider;
    const row = {
      did,
      environment: "sandbox",
      operationalWallet: THIEF.toLowerCase(),
      createdAt: 1,
      updatedAt: 1,
    } as const;
    await db()
      .insert(agentMarkets)
      .values([
        { ...row, market: "DE-USDC", network: NETWORK, status: "FAILED" },
        { ...row, market: "DE-USDC", network: "lab", status: "ACTIVE" },
      ]);
    await repoint(did, await walletOf(did), THIEF);
    const purchase = await paid(world, pair);
    await follow(world);
    const { detail } = await refused(
      world,
      [did],
      () => asProvider(world, purchase),
      409,
      "settlement_verification_failed",
    );
    expect(detail).toMatchObject({ failed_check: "other_wallet" });
  });

  it("counts again once the contract has the registered wallet", async () => {
    const pair = await pairOf(world);
    const { did } = pair.provider;
    const wallet = await walletOf(did);
    await repoint(did, wallet, THIEF);
    await repoint(did, THIEF, wallet);
    expectStatus(await asProvider(world, await paid(world, pair)), 200);
    expect(await alertsOf(did)).toEqual([]);
  });
});

describe("a wallet that the platform changed", () => {
  const NEXT = account(6);
  let pair: Pair;
  let first: string;
  beforeAll(async () => {
    pair = await pairOf(world);
    first = await walletOf(pair.provider.did);
  });

  /** Dates the change before the second of the next block, because block times are whole seconds. */
  const datedBefore = async (did: string, until: number): Promise<void> => {
    const formerWallets = JSON.stringify([{ wallet: first, until }]);
    await db().update(escrows).set({ formerWallets }).where(ofProvider(did));
  };

  it("was in force for payments before the change, and is not for payments to it after", async () => {
    const { did } = pair.provider;
    const before = await paid(world, pair);
    await moveWallet(did, NEXT);
    const after = await paid(world, pair, "11.00");
    expectStatus(await asProvider(world, before), 200);
    expectStatus(await asProvider(world, after), 200);
    await datedBefore(did, (await headTime()) - SECOND_MS);
    await repoint(did, NEXT, first);
    const late = await paid(world, pair, "12.00");
    await follow(world);
    const act = () => asProvider(world, late);
    const { detail } = await refused(world, [did], act, 409, "settlement_verification_failed");
    expect(detail).toMatchObject({ failed_check: "other_wallet" });
    await repoint(did, first, NEXT);
  });

  it("was in force by the chain's time, however far the sandbox clock was moved", async () => {
    await moveClock(world, 6 * HOUR_MS);
    for (const facilitate of [asProvider, asClient]) {
      const moved = await pairOf(world);
      const before = await paid(world, moved);
      await moveWallet(moved.provider.did, NEXT);
      expectStatus(await facilitate(world, before), 200);
    }
    await moveClock(world, 0);
  });

  it("is accepted while a market still waits for the contract's answer", async () => {
    const { did } = pair.provider;
    const asked = and(eq(agentMarkets.did, did), eq(agentMarkets.network, NETWORK));
    const purchase = await paid(world, pair, "13.00");
    // The state that a crash between the block and the answer leaves: the contract has the wallet, and the rows do not.
    await db().update(agentMarkets).set({ status: "PROVISIONING" }).where(asked);
    await db().update(escrows).set({ operationalWallet: first }).where(ofProvider(did));
    expectStatus(await asProvider(world, purchase), 200);
  });

  it("keeps its former wallets for 31 days", async () => {
    const other = await pairOf(world);
    const { did } = other.provider;
    const old = JSON.stringify([
      { wallet: "0xold", until: Date.now() - 32 * 86_400_000 },
      { wallet: "0xnew", until: Date.now() - 30 * 86_400_000 },
    ]);
    await db().update(escrows).set({ formerWallets: old }).where(ofProvider(did));
    const present = await walletOf(did);
    await moveWallet(did, NEXT);
    const [escrow] = await db().select().from(escrows).where(ofProvider(did));
    const kept = JSON.parse(escrow?.formerWallets ?? "").map(({ wallet }: { wallet: string }) => wallet);
    expect(kept).toEqual(["0xnew", present]);
  });
});
