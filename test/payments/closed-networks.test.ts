// Networks that take no new intents (PAY-24): the follower still lags although it was sent, the contract is paused, or gas is low. Only this file
// uses the network `lab-closed`.
import { encodeFunctionData } from "viem/utils";
import { afterEach, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import type { ChainMessage } from "../../src/context.ts";
import { HOUR_MS } from "../../src/core/limits.ts";
import { commit } from "../../src/db/batch.ts";
import { moveFollower } from "../../src/follower/store.ts";
import { tendSigners } from "../../src/markets/trials.ts";
import { follow, followOnce } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { account, asRole, CHAINS, send } from "../support/chain.ts";
import { labOf, REGISTRAR, RICH } from "../support/lab.ts";
import { withDeps, withSilentChain } from "../support/variants.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { buyer, grantMarket, orderOf, seller, spendState } from "./support.ts";

const LAB = "lab-closed";
const { lab, mine } = labOf(LAB);
const [ADMIN, GUARDIAN] = [account(0), account(4)];

let world: World;
let sent: ChainMessage[] = [];
let consumer: Agent;
let provider: Agent;
beforeAll(async () => {
  const NETWORKS = JSON.stringify(CHAINS.filter(({ network }) => [LAB, "base-sepolia"].includes(network)));
  const made = await createWorld({ NETWORKS });
  const CHAIN_QUEUE = { send: async (message: ChainMessage) => void sent.push(message) } as never;
  world = withDeps(made, { ...made.deps, env: { ...made.deps.env, CHAIN_QUEUE } });
  provider = await seller(world, { network: LAB });
  consumer = await buyer(world);
});
// Each test begins as if the network had never been asked for.
beforeEach(async () => {
  await rows("delete from network_standings");
  await rows("delete from followers");
  await rows("delete from booked_blocks");
  await rows("delete from alerts");
  sent = [];
});
afterEach(async () => {
  await lab("anvil_setBalance", REGISTRAR, RICH);
});

const open = (extra: Json = {}): Promise<Reply> =>
  world.as(
    consumer,
    "POST",
    "/v1/payment-intents",
    orderOf(consumer, provider, { amount: "1.00", network: LAB, ...extra }),
  );
const standing = async (): Promise<Json> => (await rows("select * from network_standings where network = ?", LAB))[0];
const followed = () => follow(world, LAB);
const follows = () => sent.filter(({ kind, network }) => kind === "follow_chain" && network === LAB).length;
/** Sets the instant at which the follower's lag was found, in seconds ago. */
const behindSince = (seconds: number) =>
  rows("update network_standings set behind_since = ? where network = ?", Date.now() - 1_000 * seconds, LAB);
const readThrough = (seconds: number) =>
  rows("update followers set read_through = ? where network = ?", Date.now() - 1_000 * seconds, LAB);
const refusedFor = (reply: Reply) => [
  reply.status,
  reply.body.code,
  reply.body.detail?.network,
  reply.body.detail?.reason,
];
const closedFor = (reason: string) => [503, "chain_unavailable", LAB, reason];
const alertsOf = (kind: string) => rows("select subject, message, seen from alerts where kind = ?", kind);

describe("a network that was never read", () => {
  it("is open, and the first call sends the follower within its two trips", async () => {
    const begun = Date.now();
    world.meter.reset();
    expectStatus(await open(), 201);
    const { trips, rowsRead, rowsWritten } = world.meter.reading;
    expect(trips).toBe(2);
    expect(rowsRead).toBeLessThanOrEqual(40);
    expect(rowsWritten).toBeLessThanOrEqual(11);
    expect(follows()).toBe(1);
    const { sent_at, behind_since } = await standing();
    expect(behind_since).toBe(sent_at);
    expect(sent_at).toBeGreaterThanOrEqual(begun);
  });

  it("is sent for once in 30 seconds, however many calls find it lagging", async () => {
    expectStatus(await open(), 201);
    // No step of this test takes as long as that.
    await rows("update network_standings set sent_at = sent_at + ? where network = ?", HOUR_MS, LAB);
    for (let n = 0; n < 2; n++) expectStatus(await open(), 201);
    expect(follows()).toBe(1);
    const { behind_since } = await standing();
    await rows("update network_standings set sent_at = sent_at - ? where network = ?", HOUR_MS + 31_000, LAB);
    expectStatus(await open(), 201);
    expect(follows()).toBe(2);
    // The first time that the lag was found counts.
    expect((await standing()).behind_since).toBe(behind_since);
  });

  it("closes two minutes after the follower was sent, and not before", async () => {
    await open();
    await behindSince(60);
    expectStatus(await open(), 201);
    await behindSince(121);
    const before = await spendState(world, consumer.did);
    const reply = await open();
    expect(refusedFor(reply)).toEqual(closedFor("lag"));
    expect(reply.headers.get("retry-after")).toBe("30");
    expect(reply.body.detail).toEqual({ network: LAB, reason: "lag", lag_seconds: null, retry_after: 30 });
    expect(await spendState(world, consumer.did)).toEqual(before);
  });

  it("closes no other network", async () => {
    await open();
    await behindSince(121);
    await grantMarket(world, provider.did, "GLOBAL-USDC", "base-sepolia");
    expect(refusedFor(await open())).toEqual(closedFor("lag"));
    expectStatus(await open({ network: "base-sepolia" }), 201);
  });
});

describe("a follower that lags", () => {
  it("is sent by a refused call too, and the network opens once it has caught up", async () => {
    await followed();
    await readThrough(150);
    expectStatus(await open(), 201);
    expect(follows()).toBe(1);
    await behindSince(121);
    await rows("update network_standings set sent_at = sent_at - 31000 where network = ?", LAB);
    const reply = await open();
    expect(refusedFor(reply)).toEqual(closedFor("lag"));
    expect(reply.body.detail.lag_seconds).toBeGreaterThanOrEqual(150);
    expect(follows()).toBe(2);
    await followed();
    expect((await standing()).behind_since).toBeNull();
    expectStatus(await open(), 201);
    expect(follows()).toBe(2);
  });

  // The edges are in closures.test.ts.
  it("is not sent while it is level, and closes nothing while it lags by a minute", async () => {
    await followed();
    await readThrough(-3_600);
    expectStatus(await open(), 201);
    expect(follows()).toBe(0);
    await readThrough(60);
    await open();
    await behindSince(600);
    expectStatus(await open(), 201);
  });

  it("records its own lag if no node answers, and raises one alert when the network closes", async () => {
    await followed();
    await readThrough(60);
    const silent = withSilentChain(world);
    await followOnce(silent, LAB);
    expect((await standing()).behind_since).not.toBeNull();
    expect(await alertsOf("follower_lag")).toEqual([]);
    await readThrough(190);
    await behindSince(130);
    await followOnce(silent, LAB);
    await followOnce(silent, LAB);
    const [alert, ...others] = await alertsOf("follower_lag");
    expect(others).toEqual([]);
    expect(alert).toMatchObject({ subject: LAB, seen: 2 });
    expect(alert.message).toMatch(/^The network was last read to its head \d+ seconds ago: it takes no new/);
    expect(refusedFor(await open())).toEqual(closedFor("lag"));
    await followed();
    expectStatus(await open(), 201);
    expect(await alertsOf("follower_lag")).toMatchObject([{ seen: 2 }]);
  });

  it("lags as well if its node answers but stands still", async () => {
    const networks = world.deps.config.networks.map((one) => ({ ...one, block_seconds: 2 }));
    const stale = withDeps(world, { ...world.deps, config: { ...world.deps.config, networks } });
    // The follower is level with a head that is ten minutes old.
    expect(await followOnce(stale, LAB)).toBe(true);
    expect((await standing()).behind_since).not.toBeNull();
    expectStatus(await open(), 201);
    await behindSince(121);
    await followOnce(stale, LAB);
    expect(refusedFor(await open())).toEqual(closedFor("lag"));
    expect(await alertsOf("follower_lag")).toMatchObject([{ subject: LAB, seen: 1 }]);
  });
});

describe("a contract that is paused", () => {
  const act = (from: string, functionName: "pause" | "unpause") => {
    const { to, data } = asRole(LAB, encodeFunctionData({ abi: settlementAbi, functionName }));
    return send(LAB, from, to, data);
  };

  it("closes its network at the head, and opens it when the pause is lifted", async () => {
    await followed();
    await act(GUARDIAN, "pause");
    await followed();
    const reply = await open();
    expect(refusedFor(reply)).toEqual(closedFor("paused"));
    expect(reply.headers.get("retry-after")).toBe("60");
    await act(ADMIN, "unpause");
    expect(refusedFor(await open())).toEqual(closedFor("paused"));
    await followed();
    expectStatus(await open(), 201);
  });

  it("is found by the first reading of the network", async () => {
    await act(GUARDIAN, "pause");
    await followed();
    expect(refusedFor(await open())).toEqual(closedFor("paused"));
    await act(ADMIN, "unpause");
    await followed();
    expectStatus(await open(), 201);
  });

  it("is open again if a reorg removes the block that paused it", async () => {
    await followed();
    await act(GUARDIAN, "pause");
    await followed();
    expect(refusedFor(await open())).toEqual(closedFor("paused"));
    await lab("anvil_rollback", 1);
    await mine(2);
    await followed();
    expectStatus(await open(), 201);
  });

  it("stays closed if an older reading ends after a newer one", async () => {
    await followed();
    const [before] = await rows("select * from followers where network = ?", LAB);
    await act(GUARDIAN, "pause");
    await followed();
    const [after] = await rows("select * from followers where network = ?", LAB);
    expect([before.paused, after.paused]).toEqual([0, 1]);
    const named = {
      network: LAB,
      beganBlock: after.began_block,
      bookedBlock: after.booked_block,
      bookedHash: after.booked_hash,
      bookedAt: after.booked_at,
      headBlock: before.head_block,
      readThrough: before.read_through,
      readAt: before.read_at,
      checkedDid: "",
      checkedReceipt: 0,
      ...{ bound: [], seen: null, rereadFor: null, turned: [], paused: false },
    };
    await commit(world.deps.db, moveFollower(world.deps.db, named, named));
    const [now] = await rows("select * from followers where network = ?", LAB);
    expect([now.paused, now.read_at, now.read_through]).toEqual([1, after.read_at, after.read_through]);
    await act(ADMIN, "unpause");
  });
});

describe("a key without gas", () => {
  const tend = () => world.run(tendSigners, { ...world.deps, config: onlyLab() });
  const onlyLab = () => ({
    ...world.deps.config,
    networks: world.deps.config.networks.filter(({ network }) => network === LAB),
  });

  it("closes its network until it is refilled and is not found short again", async () => {
    await followed();
    await tend();
    expectStatus(await open(), 201);
    await lab("anvil_setBalance", REGISTRAR, "0x1");
    await tend();
    const reply = await open();
    expect(refusedFor(reply)).toEqual(closedFor("low_gas"));
    expect(await alertsOf("low_gas")).toMatchObject([{ subject: `registrar on ${LAB}` }]);
    await lab("anvil_setBalance", REGISTRAR, RICH);
    await tend();
    const { low_gas_until } = await standing();
    expect(low_gas_until - Date.now()).toBeLessThanOrEqual(120_000);
    await rows("update network_standings set low_gas_until = ? where network = ?", Date.now(), LAB);
    expectStatus(await open(), 201);
  });
});

describe("a caller that asks about a closed network", () => {
  beforeEach(async () => {
    await open();
    await behindSince(121);
    sent = [];
  });

  it("gets a 403 as an AEA/P client, which would pay without an intent after any other status (PAY-19)", async () => {
    const query = new URLSearchParams({
      market: "DE-USDC",
      network: LAB,
      consumer_did: consumer.did,
      provider_did: provider.did,
      amount: "1.0",
    });
    const before = await spendState(world, consumer.did);
    const reply = await world.as(provider, "GET", `/v1/payment-address?${query}`);
    expect([reply.status, reply.body.code]).toEqual([403, "spend_policy_violation"]);
    expect(reply.body.detail).toMatchObject({ failed_check: "chain_unavailable", reason: "lag", retry_after: 30 });
    expect(await spendState(world, consumer.did)).toEqual(before);
    // The call still answers where to pay.
    const plain = await world.as(provider, "GET", `/v1/payment-address?market=DE-USDC&network=${LAB}`);
    expect(plain.status).toBe(200);
  });

  it("gets it as the last check of the dry run, which writes and sends nothing (PAY-20)", async () => {
    const body = { provider_did: provider.did, amount: "1.00", currency: "USDC", network: LAB };
    await rows("update network_standings set sent_at = 0");
    world.meter.reset();
    const reply = await world.call("POST", `/v1/agents/${consumer.did}/spend-policy/evaluate`, { body });
    const { allowed, checks } = expectStatus(reply, 200);
    expect([world.meter.reading.trips, world.meter.reading.rowsWritten]).toEqual([1, 0]);
    expect(allowed).toBe(false);
    expect(checks.at(-1)).toMatchObject({ check: "network", passed: false, code: "chain_unavailable" });
    expect(checks.filter(({ passed }: Json) => !passed)).toHaveLength(1);
    expect(sent).toEqual([]);
  });

  it("gets another refusal of the order instead, if there is one", async () => {
    const reply = await world.as(
      consumer,
      "POST",
      "/v1/payment-intents",
      orderOf(consumer, provider, { network: "base" }),
    );
    expect(reply.status).toBe(422);
    const poor = await buyer(world, { max_transaction_value: "0.50" });
    const order = orderOf(poor, provider, { amount: "1.00", network: LAB });
    expect((await world.as(poor, "POST", "/v1/payment-intents", order)).body.code).toBe("spend_policy_violation");
  });

  it("reads lag and reason among the jobs as an operator (JOB-6)", async () => {
    const headers = { Authorization: `Bearer ${inject("operatorKey")}` };
    const read = async () => {
      const { networks } = expectStatus(await world.call("GET", "/v1/operator/jobs", { key: null, headers }), 200);
      return networks.find(({ network }: Json) => network === LAB);
    };
    expect(await read()).toEqual({
      network: LAB,
      lag_seconds: null,
      head_block: null,
      booked_block: null,
      closed: "lag",
    });
    await followed();
    const [{ read_through }] = (await rows("select read_through from followers where network = ?", LAB)) as [Json];
    const level = await read();
    expect(level).toMatchObject({ network: LAB, closed: null });
    expect(level.lag_seconds).toBeLessThanOrEqual((Date.now() - read_through) / 1_000);
    expect(level.head_block).toBeGreaterThanOrEqual(level.booked_block);
  });
});
