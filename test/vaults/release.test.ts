// A vault's surplus above threshold and reserve goes to the provider's wallet, and everything once the provider leaves (MKT-29, MKT-30, CHN-28).

import { encodeFunctionData } from "viem/utils";
import { beforeAll, describe, expect, it } from "vitest";
import { authorityAbi, settlementAbi, tokenAbi } from "../../scripts/chain/abi.ts";
import { ROLES } from "../../scripts/chain/roles.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { DAY_MS, HOUR_MS } from "../../src/core/limits.ts";
import { autoConfirmTasks } from "../../src/tasks/confirm.ts";
import { findLeaving, releaseEscrows } from "../../src/vaults/exit.ts";
import { close, givePassword } from "../cascades/account-support.ts";
import { facilitated, pairOf } from "../facilitation/support.ts";
import { bookedOf, escrowOf, follow, heldBy, linesOf } from "../follower/support.ts";
import { marketsPath } from "../markets/support.ts";
import { deposit, openLive, promoted, rows } from "../promotion/support.ts";
import { account, asRole, chainOf, rpc, send } from "../support/chain.ts";
import { withSilentChain } from "../support/variants.ts";
import { createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import {
  chainThreshold,
  drive as driveAs,
  funded,
  NETWORK,
  operationOf,
  releasesOf,
  THRESHOLD,
  UNIT,
} from "./support.ts";

type Hex = `0x${string}`;

/** This account gives and takes the roles of the contract. */
const OWNER = account(5);
let world: World;
beforeAll(async () => {
  world = await createWorld();
});

type Asked = { amount?: string; network?: string; key?: string; headers?: Record<string, string> };
const release = (did: string, { network = NETWORK, amount, ...sent }: Asked = {}, of = world): Promise<Reply> =>
  of.call("POST", `/v1/agents/${did}/escrow/release`, { ...sent, body: { network, ...(amount && { amount }) } });
const released = async (did: string, asked: Asked = {}): Promise<Json> => expectStatus(await release(did, asked), 200);
const outcome = ({ status, body }: Reply) => [status, body.code];
const drive = (did: string, of = world) => driveAs(did, of);
const removeMarket = async (did: string, key = world.key) =>
  expectStatus(await world.call("DELETE", `${marketsPath(did)}/GLOBAL-USDC?network=${NETWORK}`, { key }), 204);
async function walletHolds(): Promise<number> {
  const { token: to } = chainOf(NETWORK);
  const data = encodeFunctionData({ abi: tokenAbi, functionName: "balanceOf", args: [account(8) as Hex] });
  return Number(await rpc<string>(NETWORK, "eth_call", [{ to, data }, "latest"]));
}

describe("a release (MKT-29)", () => {
  it("sends everything above the threshold to the wallet, and the follower books it", async () => {
    const did = await funded(world, 20 * UNIT);
    const before = await walletHolds();
    const answer = await released(did);
    expect(answer).toEqual({
      did,
      network: NETWORK,
      caip2: "eip155:84532",
      currency: "USDC",
      amount: "5.00",
      operational_wallet: account(8).toLowerCase(),
      status: "released",
      tx_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      reason: null,
      effective_at: null,
    });
    expect([await heldBy(did), (await walletHolds()) - before]).toEqual([THRESHOLD, 5 * UNIT]);
    await follow(world);
    expect(await releasesOf(did)).toEqual([["release", -5 * UNIT, THRESHOLD]]);
    expect(await escrowOf(did)).toMatchObject({ balance: THRESHOLD, state: "ACTIVE" });
    const entries = await rows(
      "select action from activity_entries where subject_id = ? order by seq desc limit 1",
      did,
    );
    expect(entries).toEqual([{ action: "agent.escrow_release_requested" }]);
    const again = await release(did);
    expect(outcome(again)).toEqual([409, "invalid_status"]);
    expect(again.body.detail.last_release).toEqual({ status: "released", tx_hash: answer.tx_hash });
  });

  it("compares the amount with what is releasable: another amount is refused, and nothing is sent", async () => {
    const did = await funded(world, 20 * UNIT);
    for (const amount of ["4.99", "5.01"]) {
      const refused = await release(did, { amount });
      expect(outcome(refused)).toEqual([409, "invalid_status"]);
      expect(refused.body.detail).toMatchObject({
        releasable: "5.00",
        held: "20.00",
        threshold: "15.00",
        reserve: "0.00",
      });
    }
    expect(await operationOf(did)).toBeUndefined();
    expect((await released(did, { amount: "5.00" })).status).toBe("released");
  });

  it("is refused if nothing is above the threshold, on an unknown network, for a consumer and for another platform", async () => {
    const did = await funded(world, THRESHOLD);
    expect(outcome(await release(did))).toEqual([409, "invalid_status"]);
    expect(outcome(await release(did, { network: "nowhere" }))).toEqual([422, "validation_failed"]);
    expect(outcome(await release(did, { network: "base" }))).toEqual([409, "invalid_status"]);
    expect(outcome(await release(did, { amount: "0.0000001" }))).toEqual([422, "validation_failed"]);
    const { did: consumer } = await world.consumer();
    expect(outcome(await release(consumer))).toEqual([403, "role_not_permitted"]);
    expect(outcome(await release(did, {}, await createWorld()))).toEqual([404, "not_found"]);
    await rows("update escrows set state = 'CONSTRAINED' where did = ?", did);
    expect(outcome(await release(did))).toEqual([409, "escrow_constrained"]);
    expect(await operationOf(did)).toBeUndefined();
  });

  it("is 503 and requests nothing if the chain does not answer", async () => {
    const did = await funded(world, 20 * UNIT);
    expect(outcome(await release(did, {}, withSilentChain(world)))).toEqual([503, "chain_unavailable"]);
    expect(await operationOf(did)).toBeUndefined();
  });

  it("leaves the reserve of open disputes in the vault", async () => {
    const did = await funded(world, 20 * UNIT);
    const { token } = chainOf(NETWORK);
    const args = [hashDid(did), token as Hex, BigInt(3 * UNIT)] as const;
    const { to, data } = asRole(NETWORK, encodeFunctionData({ abi: settlementAbi, functionName: "setReserve", args }));
    await send(NETWORK, account(2), to, data);
    expect((await released(did)).amount).toBe("2.00");
    expect(await heldBy(did)).toBe(18 * UNIT);
  });

  it("writes the exact threshold to the contract first", async () => {
    const did = await funded(world, 20 * UNIT);
    await rows("update escrows set threshold = ? where did = ?", 14_900_000, did);
    expect((await released(did)).amount).toBe("5.10");
    expect([await chainThreshold(did), await heldBy(did)]).toEqual([14_900_000, 14_900_000]);
  });

  it("is sent once if it is requested ten times concurrently", async () => {
    const did = await funded(world, 20 * UNIT);
    const answers = await Promise.all(Array.from({ length: 10 }, () => release(did)));
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
    await follow(world);
    expect(await releasesOf(did)).toEqual([["release", -5 * UNIT, THRESHOLD]]);
  });

  it("is answered again under its Idempotency-Key", async () => {
    const did = await funded(world, 20 * UNIT);
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    await released(did, { headers });
    const again = await release(did, { headers });
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    expect(again.body).toMatchObject({ amount: "5.00", status: "waiting" });
  });

  it("is resumed by the job if it dies between any two trips, and is sent once", async () => {
    for (const batch of [3, 4, 5]) {
      const did = await funded(world, 20 * UNIT);
      world.meter.beforeBatch(batch, () => Promise.reject(new Error("the Worker died")));
      await release(did).catch(() => null);
      world.meter.beforeBatch(Number.POSITIVE_INFINITY, async () => undefined);
      const due = await releaseEscrows.find(world.deps, null, 1_000);
      const operation = await operationOf(did);
      if (operation.status === "waiting") expect(due.map(({ id }) => id)).toContain(`${NETWORK} ${did}`);
      expect(await drive(did)).toBe(true);
      expect(await drive(did)).toBe(true);
      await follow(world);
      expect(await releasesOf(did)).toEqual([["release", -5 * UNIT, THRESHOLD]]);
      // This holds also if the Worker had sent it and noted nothing: the event names the transaction.
      const [{ tx_hash }] = (await linesOf(did)).filter(({ kind }) => kind === "release") as [Json];
      expect(await operationOf(did)).toMatchObject({ status: "done", tx_hash });
    }
  });

  it("is checked again by its transaction: later deposits stay", async () => {
    const did = await funded(world, 20 * UNIT);
    await released(did);
    await deposit(did, 7 * UNIT);
    await rows("update chain_operations set next_check_at = 1 where subject = ? and kind = 'release'", did);
    expect(await drive(did)).toBe(true);
    expect(await heldBy(did)).toBe(22 * UNIT);
    // A reorg has removed the release.
    const gone = `0x${"0".repeat(64)}`;
    await rows("update chain_operations set tx_hash = ? where subject = ? and kind = 'release'", gone, did);
    expect(await drive(did)).toBe(true);
    expect(await operationOf(did)).toMatchObject({ status: "waiting", tx_hash: null });
    const told = await rows("select kind from alerts where subject = ?", `${did} on ${NETWORK}`);
    expect(told).toEqual([{ kind: "chain_reorganised" }]);
  });
});

describe("a provider that leaves (MKT-30)", () => {
  it("gets all of its vault once its task is closed and its dispute window is over, and not before", async () => {
    const own = await createWorld();
    const pair = await pairOf(own);
    const { did } = pair.provider;
    await facilitated(own, pair, "100.00");
    await deposit(did, 20 * UNIT);
    await follow(own);
    const at = `${marketsPath(did)}/GLOBAL-USDC?network=${NETWORK}`;
    expectStatus(await own.call("DELETE", at), 204);
    const ask = () => release(did, {}, own);
    // The other 15.00 stay while something is open.
    expect((await ask()).body.amount).toBe("14.995");
    expect(await drive(did, own)).toBe(true);
    expect(await heldBy(did)).toBe(THRESHOLD);
    own.advance(73 * HOUR_MS);
    await own.run(autoConfirmTasks);
    // The rating has lowered the threshold: the amount above it is released, and nothing else while the window is open.
    await ask();
    const { threshold } = await escrowOf(did);
    expect([threshold > THRESHOLD / 2, await heldBy(did)]).toEqual([true, threshold]);
    expect(outcome(await ask())).toEqual([409, "invalid_status"]);
    own.advance(14 * DAY_MS);
    expect((await ask()).body).toMatchObject({ amount: String(threshold / UNIT), status: "released" });
    expect([await heldBy(did), await chainThreshold(did)]).toEqual([0, 0]);
    await follow(own);
    expect(await escrowOf(did)).toMatchObject({ threshold: 0, chain_threshold: 0, state: "FUNDING", balance: 0 });
    const report = expectStatus(await own.call("GET", `/v1/agents/${did}/escrow`), 200);
    expect(report.escrow[0]).toMatchObject({ held: "0.00", threshold: "0.00", chain_threshold: "0.00" });
  });

  it("is found by the job, and its account can be closed afterwards", async () => {
    const own = await createWorld();
    await givePassword(own);
    const { did } = await own.agent("PROVIDER");
    await openLive(own, did);
    await deposit(did, 20 * UNIT);
    await follow(own);
    await promoted(own, did);
    const blocked = await close(own);
    expect([blocked.status, blocked.body.code]).toEqual([409, "close_blocked_escrow"]);
    const at = `${marketsPath(did)}/GLOBAL-USDC?network=${NETWORK}`;
    expectStatus(await own.call("DELETE", at, { key: own.liveKey }), 204);
    const found = (await findLeaving.find(own.deps, null, 100)).map(({ id }) => id);
    // One slice reads forty escrows, and others may come before this one.
    if ((await rows("select count(*) as n from escrows"))[0].n <= 40) expect(found).toContain(`${did} ${NETWORK}`);
    expect(await drive(did, own)).toBe(true);
    await follow(own);
    expect(await heldBy(did)).toBe(0);
    expect(await escrowOf(did, "production")).toMatchObject({ balance: 0, threshold: 0 });
    expectStatus(await close(own), 200);
  });

  it("gets all of its vault as a revoked agent too, whatever markets it had", async () => {
    const did = await funded(world, 20 * UNIT);
    expectStatus(await world.call("POST", `/v1/agents/${did}/revoke`, { body: { reason: "It ends." } }), 200);
    expect(await drive(did)).toBe(true);
    expect(await heldBy(did)).toBe(0);
    await follow(world);
    expect((await linesOf(did)).reduce((sum, { amount }) => sum + amount, 0)).toBe(0);
  });

  it("has its threshold back, in the contract too, if it opens a market again", async () => {
    const did = await funded(world, 20 * UNIT);
    await removeMarket(did);
    expect(await drive(did)).toBe(true);
    expect(await chainThreshold(did)).toBe(0);
    await follow(world);
    const markets = [{ market: "GLOBAL-USDC", network: NETWORK, operational_wallet: account(8) }];
    expectStatus(await world.call("POST", marketsPath(did), { body: { markets } }), 200);
    expect(await chainThreshold(did)).toBe(THRESHOLD);
    expect(await escrowOf(did)).toMatchObject({
      base_threshold: THRESHOLD,
      threshold: THRESHOLD,
      chain_threshold: THRESHOLD,
      state: "FUNDING",
      balance: 0,
    });
    await deposit(did, THRESHOLD);
    await rows("update chain_operations set next_check_at = 1 where subject = ? and kind = 'release'", did);
    expect(await drive(did)).toBe(true);
    await follow(world);
    expect(await heldBy(did)).toBe(THRESHOLD);
    expect(await escrowOf(did)).toMatchObject({ state: "ACTIVE" });
  });

  it("keeps its escrow if it opens a market again before the release is driven", async () => {
    const did = await funded(world, 20 * UNIT);
    await removeMarket(did);
    const markets = [{ market: "GLOBAL-USDC", network: NETWORK, operational_wallet: account(8) }];
    expectStatus(await world.call("POST", marketsPath(did), { body: { markets } }), 200);
    expect(await drive(did)).toBe(true);
    expect([await heldBy(did), await chainThreshold(did)]).toEqual([20 * UNIT, THRESHOLD]);
  });

  it("raises an alert if the contract refuses its low threshold, and gets its vault an hour later", async () => {
    const did = await funded(world, 20 * UNIT);
    await removeMarket(did);
    const { authority } = chainOf(NETWORK);
    const args = [ROLES.REGISTRAR_DELAYED.id, account(1) as Hex] as const;
    await send(NETWORK, OWNER, authority, encodeFunctionData({ abi: authorityAbi, functionName: "revokeRole", args }));
    try {
      expect(await drive(did)).toBe(true);
    } finally {
      const again = [...args, 0] as const;
      const data = encodeFunctionData({ abi: authorityAbi, functionName: "grantRole", args: again });
      await send(NETWORK, OWNER, authority, data);
    }
    const told = await rows("select kind, message from alerts where subject = ?", `${did} on ${NETWORK}`);
    const message = expect.stringContaining("AccessManagerUnauthorizedCall");
    expect([told, await heldBy(did)]).toEqual([[{ kind: "escrow_release", message }], 20 * UNIT]);
    const { status, next_check_at, updated_at } = await operationOf(did);
    expect([status, next_check_at - updated_at]).toEqual(["failed", HOUR_MS]);
    await rows("update chain_operations set next_check_at = 1 where subject = ? and kind = 'release'", did);
    expect(await drive(did)).toBe(true);
    expect(await heldBy(did)).toBe(0);
  });

  it("gets its vault once even if the job dies between any two steps", async () => {
    for (const batch of [2, 3, 4]) {
      const did = await funded(world, 20 * UNIT);
      await removeMarket(did);
      world.meter.beforeBatch(batch, () => Promise.reject(new Error("the Worker died")));
      await drive(did).catch(() => null);
      world.meter.beforeBatch(Number.POSITIVE_INFINITY, async () => undefined);
      for (let run = 0; run < 2; run++) expect(await drive(did)).toBe(true);
      await follow(world);
      expect((await bookedOf(did)).filter(([kind]) => kind === "release").map(([, amount]) => amount)).toEqual([
        -20 * UNIT,
      ]);
      expect(await operationOf(did)).toMatchObject({ status: "done" });
      expect(await escrowOf(did)).toMatchObject({ chain_threshold: 0, threshold: 0, balance: 0 });
    }
  });
});
