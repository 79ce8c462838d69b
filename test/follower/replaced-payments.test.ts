// A payment that a reorg removes leaves its intent open to another one in the same run of the follower (PAY-21), and a movement that comes back with
// another amount is booked with that amount (CHN-24). Only this file uses the network `lab-bound`; it books with three confirmations.
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { requireNetwork } from "../../src/chain/networks.ts";
import { readBatch } from "../../src/db/batch.ts";
import { rewindToKept } from "../../src/follower/rewind.ts";
import { findFollower } from "../../src/follower/store.ts";
import { asProvider } from "../facilitation/support.ts";
import { buyer, dailyLimit, orderOf } from "../payments/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { account, networksWith, payOnChain } from "../support/chain.ts";
import { labOf } from "../support/lab.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { bookedOf, escrowOf, follow, releaseSurplus } from "./support.ts";

const LAB = "lab-bound";
const UNIT = 1_000_000;
const DAY = 86_400_000;
const THRESHOLD = 15 * UNIT;
const [OTHER, THIRD] = [account(6), account(5)];
const { lab, mine } = labOf(LAB);

let world: World;
beforeAll(async () => {
  world = await createWorld({ NETWORKS: networksWith(LAB) });
});
afterEach(() => lab("evm_setAutomine", true));

const followed = () => follow(world, LAB);
const shop = () => world.provider({}, "GLOBAL-USDC", LAB);
type Purchase = { consumer: Agent; provider: Agent; intent: Json };

const opened = async (provider: Agent, consumer: Agent): Promise<Purchase> => {
  const body = orderOf(consumer, provider, { network: LAB });
  return {
    consumer,
    provider,
    intent: expectStatus(await world.as(consumer, "POST", "/v1/payment-intents", body), 201),
  };
};
/** Pays the intent, or its terms without a name. */
const pay = (
  { consumer, provider, intent }: Purchase,
  from: string,
  { units = 10 * UNIT, named = true, ...how }: Json = {},
) =>
  payOnChain(consumer.did, provider.did, units, {
    ...{ network: LAB, from, ...how },
    ...(named && { intentId: intent.intent_id }),
  });
/** Removes the payment's block and all later ones. */
const takeAway = async (tx: string): Promise<void> => {
  const { blockNumber } = await lab("eth_getTransactionReceipt", tx);
  await lab("anvil_rollback", Number(await lab("eth_blockNumber")) - Number(blockNumber) + 1);
};
const seen = async ({ intent }: Purchase): Promise<Json> =>
  (
    await rows(
      "select status, payment_tx, payment_block, lost_tx from payment_intents where intent_id = ?",
      intent.intent_id,
    )
  )[0];
const told = async ({ intent }: Purchase) =>
  (await rows("select object from events where type = 'intent.paid' order by id"))
    .map(({ object }) => JSON.parse(object))
    .filter(({ intent_id }) => intent_id === intent.intent_id)
    .map(({ payment }) => payment.tx_hash);
/** The holds of an agent, and the sums that are stored of them. */
const held = async ({ consumer }: Purchase) => {
  const holds = await rows("select expires_at, amount from spend_holds where did = ?", consumer.did);
  const [sums] = await rows("select open, settled from spend_sums where did = ?", consumer.did);
  return { holds, ...sums };
};
const HELD = { holds: [{ expires_at: Number.MAX_SAFE_INTEGER, amount: 10 * UNIT }], open: 10 * UNIT, settled: 0 };
const blockOf = async (tx: string) => Number((await lab("eth_getTransactionReceipt", tx)).blockNumber);

describe("a bound payment", () => {
  it("is checked again until its block is booked, and not afterwards, however far ahead its intent's clock is", async () => {
    const purchase = await opened(await shop(), await buyer(world, dailyLimit("10.00")));
    const { intent_id: id } = purchase.intent;
    const looked = async () => JSON.parse((await rows("select bound from followers where network = ?", LAB))[0].bound);
    const tx = await pay(purchase, account(9));
    await followed();
    expect(await looked()).toEqual([id]);
    await followed();
    expect(await looked()).toEqual([id]);
    await rows("update payment_intents set paid_at = paid_at + ? where intent_id = ?", 400 * DAY, id);
    await mine(3);
    await followed();
    expect(await looked()).toEqual([]);
    await takeAway(tx);
    await mine(5);
    const { db, config } = world.deps;
    const { known } = await readBatch(db, { known: findFollower(db, LAB) });
    if (!known) throw new Error("the network was never read");
    expect(await rewindToKept(world.deps, requireNetwork(config.networks, LAB), known)).toBe(true);
    expect([await looked(), (await seen(purchase)).status]).toEqual([[id], "PAID"]);
    await followed();
    expect([await looked(), (await seen(purchase)).status]).toEqual([[], "OPEN"]);
  });
});

describe("a payment that replaces another one after a reorg", () => {
  it.each([
    ["names the intent", true],
    ["names none", false],
  ])("is bound in the same run if it %s, and holds once", async (_, named) => {
    const purchase = await opened(await shop(), await buyer(world, dailyLimit("10.00")));
    const first = await pay(purchase, account(9), { named });
    await followed();
    expect(await seen(purchase)).toMatchObject({ status: "PAID", payment_tx: first });
    await takeAway(first);
    const second = await pay(purchase, OTHER, { named });
    await followed();
    const bound = { status: "PAID", payment_tx: second, payment_block: await blockOf(second), lost_tx: first };
    expect(await seen(purchase)).toEqual(bound);
    expect([await held(purchase), await told(purchase)]).toEqual([HELD, [first, second]]);
    await followed();
    expect([await seen(purchase), await held(purchase), await told(purchase)]).toEqual([bound, HELD, [first, second]]);
    await mine(3);
    expectStatus(await asProvider(world, { ...purchase, tx: second }), 200);
    expect(await held(purchase)).toEqual({ holds: [], open: 0, settled: 10 * UNIT });
  });

  it("is not bound if its amount differs: the hold stays, and the next payment is bound", async () => {
    const purchase = await opened(await shop(), await buyer(world, dailyLimit("10.00")));
    const first = await pay(purchase, account(9));
    await followed();
    await takeAway(first);
    await pay(purchase, OTHER, { units: 9 * UNIT });
    await followed();
    expect([await seen(purchase), (await held(purchase)).open]).toEqual([
      { status: "OPEN", payment_tx: null, payment_block: null, lost_tx: first },
      10 * UNIT,
    ]);
    const third = await pay(purchase, THIRD);
    await followed();
    expect([(await seen(purchase)).payment_tx, await held(purchase)]).toEqual([third, HELD]);
  });

  it("is bound to its own intent among several that lost theirs, and a payment that comes back to the intent that it was for", async () => {
    const provider = await shop();
    const consumer = await buyer(world, dailyLimit("30.00"));
    const [one, two, three] = [
      await opened(provider, consumer),
      await opened(provider, consumer),
      await opened(provider, consumer),
    ];
    const first = await pay(one, account(9));
    const signed = await lab("debug_getRawTransaction", first);
    const others = [await pay(two, OTHER), await pay(three, THIRD)];
    await followed();
    expect(await Promise.all([one, two, three].map(seen))).toMatchObject(
      [first, ...others].map((tx) => ({ status: "PAID", payment_tx: tx })),
    );
    await takeAway(first);
    const second = await pay(two, account(4));
    expect(await lab("eth_sendRawTransaction", signed)).toBe(first);
    await mine(5);
    await followed();
    expect(await Promise.all([one, two, three].map(seen))).toMatchObject([
      { status: "PAID", payment_tx: first },
      { status: "PAID", payment_tx: second },
      { status: "OPEN", payment_tx: null },
    ]);
    const { holds, open } = await held(one);
    expect([holds.map(({ expires_at }: Json) => expires_at === Number.MAX_SAFE_INTEGER).sort(), open]).toEqual([
      [false, true, true],
      30 * UNIT,
    ]);
  });

  it("is bound on a chain that has become shorter, too", async () => {
    const purchase = await opened(await shop(), await buyer(world, dailyLimit("10.00")));
    let first = "";
    let before = 0;
    const prepared = async () => {
      first = await pay(purchase, account(9));
      await followed();
      before = await blockOf(first);
      await lab("anvil_rollback", 2);
    };
    const second = await pay(purchase, OTHER, { prepared });
    expect(await lab("eth_blockNumber")).toBe(`0x${(before - 1).toString(16)}`);
    await followed();
    expect(await seen(purchase)).toMatchObject({ status: "PAID", payment_tx: second, lost_tx: first });
    expect([await held(purchase), await told(purchase)]).toEqual([HELD, [first, second]]);
  });
});

describe("a movement that has another amount in its new block", () => {
  it("is booked with that amount: a release finds less if an earlier deposit is gone", async () => {
    const { did } = await shop();
    await deposit(did, THRESHOLD + 2 * UNIT, LAB);
    await mine(3);
    await deposit(did, 3 * UNIT, LAB);
    await releaseSurplus(did, LAB, OTHER);
    const [hash] = (await lab("eth_getBlockByNumber", "latest", false)).transactions;
    const signed = await lab("debug_getRawTransaction", hash);
    await mine(3);
    await followed();
    expect((await bookedOf(did)).at(-1)).toEqual(["release", -5 * UNIT, THRESHOLD]);
    // The deposit consists of three transactions: the mint, the approval, and the deposit itself.
    await lab("evm_setAutomine", false);
    await lab("anvil_rollback", 5);
    await mine(1);
    expect(await lab("eth_sendRawTransaction", signed)).toBe(hash);
    await mine(1);
    await lab("evm_setAutomine", true);
    await mine(5);
    await followed();
    await followed();
    expect(await bookedOf(did)).toEqual([
      ["deposit", THRESHOLD + 2 * UNIT, THRESHOLD + 2 * UNIT],
      ["release", -2 * UNIT, THRESHOLD],
    ]);
    expect((await escrowOf(did)).balance).toBe(THRESHOLD);
  });
});
