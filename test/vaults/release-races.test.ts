// Whatever requests, jobs and followers work on a vault concurrently, each unit leaves it once, and what its provider needs stays in it (MKT-27,
// MKT-29, MKT-30).
import { encodeFunctionData } from "viem/utils";
import { beforeAll, describe, expect, it } from "vitest";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { followThreshold } from "../../src/escrow/follow-threshold.ts";
import { close, givePassword } from "../cascades/account-support.ts";
import { pairOf } from "../facilitation/support.ts";
import { escrowOf, follow, heldBy, linesOf } from "../follower/support.ts";
import { later, marketsPath } from "../markets/support.ts";
import { deposit, openLive, outcome, promoted } from "../promotion/support.ts";
import { account, asRole, chainOf, payOnChain, send } from "../support/chain.ts";
import { createWorld, expectStatus, type Reply, type World } from "../support/world.ts";
import { chainThreshold, drive as driveAs, funded, NETWORK, releasesOf, THRESHOLD, UNIT } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const release = (did: string, amount?: string, key = world.key): Promise<Reply> =>
  world.call("POST", `/v1/agents/${did}/escrow/release`, {
    key,
    body: { network: NETWORK, ...(amount && { amount }) },
  });
const sync = (did: string, key = world.key): Promise<Reply> =>
  world.call("POST", `/v1/agents/${did}/escrow/sync`, { key });
const drive = (did: string, of = world) => driveAs(did, of);
/** Runs the minute's job, in case the contract was left with another threshold. */
const levelled = (did: string): Promise<boolean> =>
  world.serve(() => followThreshold(world.deps, { did, environment: "sandbox", network: NETWORK }, later()));
const market = (did: string) => `${marketsPath(did)}/GLOBAL-USDC?network=${NETWORK}`;
const openMarket = (did: string): Promise<Reply> =>
  world.call("POST", marketsPath(did), {
    body: { markets: [{ market: "GLOBAL-USDC", network: NETWORK, operational_wallet: account(8) }] },
  });
const times = <T>(count: number, act: () => Promise<T>): Promise<T>[] => Array.from({ length: count }, act);
const sumOf = async (did: string) => (await linesOf(did)).reduce((sum, { amount }) => sum + amount, 0);
describe("concurrent calls", () => {
  it("empty the vault of a revoked provider once: releases, syncs, the job and the follower", async () => {
    const did = await funded(world, 20 * UNIT);
    expectStatus(await world.call("POST", `/v1/agents/${did}/revoke`, { body: { reason: "It ends." } }), 200);
    const [asked, synced] = await Promise.all([
      Promise.all(times(5, () => release(did, "20.00"))),
      Promise.all(times(4, () => sync(did))),
      Promise.all(times(2, () => drive(did))),
      follow(world),
    ]);
    const refused = asked.filter(({ status }) => status !== 200);
    expect(refused.map(outcome)).toEqual(refused.map(() => [409, "invalid_status"]));
    expect(synced.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    while (!(await drive(did)));
    await follow(world);
    expect(await releasesOf(did)).toEqual([["release", -20 * UNIT, 0]]);
    expect([await heldBy(did), await sumOf(did)]).toEqual([0, 0]);
    expect(await escrowOf(did)).toMatchObject({ balance: 0, threshold: 0, chain_threshold: 0 });
  });

  it("leave the contract with the threshold of a market that is removed and opened again, and lines that match the vault", async () => {
    for (let round = 0; round < 3; round++) {
      const did = await funded(world, 20 * UNIT);
      await Promise.all([
        world.call("DELETE", market(did)),
        ...times(2, () => release(did)),
        openMarket(did),
        drive(did),
        sync(did),
      ]);
      expectStatus(await openMarket(did), 200);
      while (!(await drive(did)));
      await levelled(did);
      await follow(world);
      const held = await heldBy(did);
      const { chain_threshold, threshold, base_threshold, balance } = await escrowOf(did);
      expect([chain_threshold, threshold, base_threshold]).toEqual([THRESHOLD, THRESHOLD, THRESHOLD]);
      expect(await chainThreshold(did)).toBe(THRESHOLD);
      expect([await sumOf(did), balance]).toEqual([held, held]);
    }
  });
});

describe("a provider that comes back while its low threshold is on its way", () => {
  it("keeps its vault: nothing is released after its market is open", async () => {
    const did = await funded(world, 20 * UNIT);
    expectStatus(await world.call("DELETE", market(did)), 204);
    // After the low threshold, before the release.
    world.meter.beforeBatch(4, async () => void expectStatus(await openMarket(did), 200));
    expect(await drive(did)).toBe(false);
    world.meter.beforeBatch(Number.POSITIVE_INFINITY, async () => undefined);
    while (!(await drive(did)));
    await levelled(did);
    expect([await heldBy(did), await chainThreshold(did)]).toEqual([20 * UNIT, THRESHOLD]);
    expect(await escrowOf(did)).toMatchObject({ balance: 20 * UNIT, chain_threshold: THRESHOLD, state: "ACTIVE" });
  });

  it("gets only what is above its threshold from a release although the contract still has the low one", async () => {
    const did = await funded(world, 20 * UNIT);
    const { token } = chainOf(NETWORK);
    const args = [hashDid(did), token as `0x${string}`, BigInt(THRESHOLD), 0n] as const;
    const { to, data } = asRole(
      NETWORK,
      encodeFunctionData({ abi: settlementAbi, functionName: "setLowThreshold", args }),
    );
    await send(NETWORK, account(1), to, data);
    expect([await chainThreshold(did), (await escrowOf(did)).chain_threshold]).toEqual([0, THRESHOLD]);
    expect(expectStatus(await release(did), 200).amount).toBe("5.00");
    while (!(await drive(did)));
    expect([await heldBy(did), await chainThreshold(did)]).toEqual([THRESHOLD, THRESHOLD]);
    await follow(world);
    expect(await releasesOf(did)).toEqual([["release", -5 * UNIT, THRESHOLD]]);
  });
});

describe("a vault of both environments", () => {
  it("keeps what production needs, whatever the sandbox key removes and requests", async () => {
    const { did } = await world.provider({ principal_id: world.tenantPrincipalId });
    await openLive(world, did);
    await deposit(did, 20 * UNIT);
    await follow(world);
    expectStatus(await world.call("DELETE", market(did)), 204);
    expect(await drive(did)).toBe(true);
    expect(outcome(await release(did, "20.00"))).toEqual([409, "invalid_status"]);
    expect(await heldBy(did)).toBe(20 * UNIT);
    expect(expectStatus(await release(did), 200)).toMatchObject({ amount: "5.00", status: "released" });
    while (!(await drive(did)));
    expect([await heldBy(did), await chainThreshold(did)]).toEqual([THRESHOLD, THRESHOLD]);
    await follow(world);
    expect(await escrowOf(did, "production")).toMatchObject({ balance: THRESHOLD, state: "ACTIVE" });
  });

  it("belongs to the agent's environment only: the other key finds nothing, before and after the promotion", async () => {
    const { did } = await world.provider({ principal_id: world.tenantPrincipalId });
    await openLive(world, did);
    await deposit(did, 20 * UNIT);
    await follow(world);
    const refused = async (key: string) => {
      const report = await world.call("GET", `/v1/agents/${did}/escrow`, { key });
      const answers = [report, await sync(did, key), await release(did, undefined, key)];
      expect(answers.map(outcome)).toEqual(answers.map(() => [404, "not_found"]));
      expect(await heldBy(did)).toBe(20 * UNIT);
    };
    await refused(world.liveKey);
    await promoted(world, did);
    await refused(world.key);
    expect(expectStatus(await release(did, "5.00", world.liveKey), 200).status).toBe("released");
  });
});

describe("settlements that were not facilitated", () => {
  it("go to the wallet of a provider that leaves, make no balance negative, and do not block a closing", async () => {
    const own = await createWorld();
    await givePassword(own);
    const { consumer, provider } = await pairOf(own);
    const { did } = provider;
    await payOnChain(consumer.did, did, 100 * UNIT);
    await follow(own);
    expect([await heldBy(did), (await escrowOf(did)).balance]).toEqual([9_995_000, 0]);
    expectStatus(await own.call("DELETE", market(did)), 204);
    expect(await drive(did, own)).toBe(true);
    await follow(own);
    expect(await heldBy(did)).toBe(0);
    const { escrow } = expectStatus(await own.call("GET", `/v1/agents/${did}/escrow`), 200);
    expect(escrow).toEqual([expect.objectContaining({ balance: "0.00", held: "0.00", contributed: "0.00" })]);
    expectStatus(await close(own), 200);
  });
});
