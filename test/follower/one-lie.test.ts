// A node tells one untruth, once or until it is corrected: this ends no hold and no intent (PAY-11, PAY-23, FAC-22). Only this file uses the network
// `lab-once`; the service takes its blocks to come by themselves.
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { ageWallets } from "../facilitation/support.ts";
import { buyer, dailyLimit, orderOf } from "../payments/support.ts";
import { rows } from "../promotion/support.ts";
import { account, chainOf, honestNode, networksWith, payOnChain, spoil } from "../support/chain.ts";
import { forgedReceipt } from "../support/forged.ts";
import { labOf } from "../support/lab.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { follow, followOnce, headTime } from "./support.ts";

const LAB = "lab-once";
const YEAR_SECONDS = 365 * 86_400;
const SKEW = 30_000;
const { lab, mine } = labOf(LAB);

/** `backed` has an honest second node. */
const worlds: Partial<Record<"alone" | "backed", World>> = {};
beforeAll(async () => {
  const networks = (more: Json) =>
    JSON.stringify(
      (JSON.parse(networksWith(LAB)) as Json[]).map((one) =>
        one.network === LAB ? { ...one, block_seconds: 2, ...more } : one,
      ),
    );
  worlds.alone = await createWorld({ NETWORKS: networks({}) });
  worlds.backed = await createWorld({ NETWORKS: networks({ fallback_rpc_url: honestNode(LAB) }) });
});
afterEach(() => spoil(LAB));

type Pair = { readonly consumer: Agent; readonly provider: Agent };
const pairOf = async (world: World): Promise<Pair> => ({
  consumer: await buyer(world, dailyLimit("10.00")),
  provider: await world.provider({}, "GLOBAL-USDC", LAB),
});
const open = (world: World, { consumer, provider }: Pair): Promise<Reply> =>
  world.as(consumer, "POST", "/v1/payment-intents", orderOf(consumer, provider, { network: LAB }));
const cancel = (world: World, { consumer }: Pair, { intent_id: id }: Json): Promise<Reply> =>
  world.as(consumer, "POST", `/v1/payment-intents/${id}/cancel`);
const alertsOf = () => rows("select kind, subject, seen from alerts");
const readThrough = async (): Promise<number> =>
  (await rows("select read_through from followers where network = ?", LAB))[0].read_through;

/** Makes the node date its newest block this many seconds later than it is. */
const dated = async (seconds: number, times: number): Promise<void> => {
  const block = await lab("eth_getBlockByNumber", "latest", false);
  const result = { ...block, timestamp: `0x${(Number(block.timestamp) + seconds).toString(16)}` };
  await spoil(LAB, { method: "eth_getBlockByNumber", first: "latest", times, how: "answer", result });
};

describe.each(["alone", "backed"] as const)("a node (%s) that dates its newest block wrongly", (nodes) => {
  const settle = async (): Promise<World> => {
    const world = worlds[nodes] as World;
    await rows("update followers set read_through = 0 where network = ?", LAB);
    await mine(3);
    await follow(world, LAB);
    await rows("delete from alerts");
    return world;
  };

  it("is believed up to now if it is a year ahead, with one alert, and ends no hold", async () => {
    const world = await settle();
    for (const _ of ["once", "twice"]) {
      await dated(YEAR_SECONDS, 1);
      await followOnce(world, LAB);
    }
    expect(await readThrough()).toBeLessThanOrEqual(Date.now());
    expect(await alertsOf()).toEqual([{ kind: "network", subject: `time of ${LAB}`, seen: 2 }]);
    await spoil(LAB);
    const pair = await pairOf(world);
    const intent = expectStatus(await open(world, pair), 201);
    await mine(1);
    expect(expectStatus(await cancel(world, pair, intent), 200).hold_released).toBe(false);
    await follow(world, LAB);
    expect((await open(world, pair)).body.code).toBe("spend_policy_violation");
  });

  it("is believed without an alert if it is off by no more than clocks differ", async () => {
    const world = await settle();
    const head = await headTime(LAB);
    await dated(Math.floor((Date.now() + SKEW - head) / 1_000) - 1, 1);
    await followOnce(world, LAB);
    expect(await readThrough()).toBeGreaterThan(Date.now() + SKEW / 2);
    expect(await alertsOf()).toEqual([]);
  });

  it("counts as stalled if it is ten minutes back, even right after a level reading", async () => {
    const world = await settle();
    const pair = await pairOf(world);
    const intent = expectStatus(await open(world, pair), 201);
    await mine(1);
    await follow(world, LAB);
    await dated(-600, 99);
    expect((await cancel(world, pair, intent)).body.code).toBe("chain_unavailable");
    await spoil(LAB);
    expectStatus(await cancel(world, pair, intent), 200);
  });
});

it.each(["alone", "backed"] as const)(
  "a node (%s) that lies about the nonce of a payment releases no hold when a reorg removes the payment",
  async (nodes) => {
    const world = worlds[nodes] as World;
    const pair = await pairOf(world);
    await mine(3);
    await follow(world, LAB);
    const intent = expectStatus(await open(world, pair), 201);
    const { consumer, provider } = pair;
    const tx = await payOnChain(consumer.did, provider.did, 10_000_000, { intentId: intent.intent_id, network: LAB });
    const result = { ...(await lab("eth_getTransactionByHash", tx)), nonce: "0x0" };
    await spoil(LAB, { method: "eth_getTransactionByHash", first: tx, times: 1, how: "answer", result });
    await followOnce(world, LAB);
    await spoil(LAB);
    await lab("anvil_rollback", 1);
    await mine(3);
    await follow(world, LAB);
    const [held] = await rows("select expires_at from spend_holds where did = ?", consumer.did);
    expect(held.expires_at).toBeGreaterThan(Date.parse(intent.expires_at) + 50 * 60_000);
  },
);

it.each(["alone", "backed"] as const)(
  "a node (%s) that once shows a payment by the provider itself spoils no intent, and the buyer pays it",
  async (nodes) => {
    const world = worlds[nodes] as World;
    const pair = await pairOf(world);
    await ageWallets(pair.provider.did);
    await mine(3);
    await follow(world, LAB);
    const intent = expectStatus(await open(world, pair), 201);
    const named = { intentId: intent.intent_id, network: LAB };
    // Seven cents settle nothing and spoil nothing.
    const own = await payOnChain(pair.consumer.did, pair.provider.did, 70_000, { ...named, from: account(8) });
    const real = await lab("eth_getTransactionReceipt", own);
    const told = forgedReceipt(real, { gross: 10_000_000, escrow: 999_500, held: 999_500 });
    const contract = chainOf(LAB).settlement_contract.toLowerCase();
    const logs = told.logs.filter((log: Json) => log.address.toLowerCase() === contract);
    await spoil(
      LAB,
      { method: "eth_getTransactionReceipt", first: own, times: 1, how: "answer", result: told },
      { method: "eth_getLogs", times: 1, how: "answer", result: logs },
    );
    const shown = async () =>
      expectStatus(await world.as(pair.consumer, "GET", `/v1/payment-intents/${intent.intent_id}`), 200);
    await followOnce(world, LAB);
    expect((await shown()).status).toBe("OPEN");
    await spoil(LAB);
    const tx = await payOnChain(pair.consumer.did, pair.provider.did, 10_000_000, named);
    await mine(3);
    await follow(world, LAB);
    expect(await shown()).toMatchObject({ status: "PAID", payment: { tx_hash: tx } });
  },
);
