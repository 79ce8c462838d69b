// A payment that comes back in another block after a reorg is facilitated again for the same intent. A reversal that the follower's own blocks do not
// show is found too (FAC-18). Only this file uses its network.
import { describe, expect, it } from "vitest";
import { requireNetwork } from "../../src/chain/networks.ts";
import { Conflict } from "../../src/core/retry.ts";
import { readBatch } from "../../src/db/batch.ts";
import { checkSettlements } from "../../src/follower/settlements.ts";
import { findFollower } from "../../src/follower/store.ts";
import { abandonIntents } from "../../src/payments/abandon.ts";
import { asClient, asConsumer, asProvider, confirm } from "../facilitation/support.ts";
import { spendState } from "../payments/support.ts";
import { rows } from "../promotion/support.ts";
import { spoil } from "../support/chain.ts";
import { labOf } from "../support/lab.ts";
import { expectStatus, type Json, type World } from "../support/world.ts";
import {
  eventsOf,
  holdsOf,
  intentOf,
  MINUTE,
  type Reversals,
  ratingOf,
  transactionOf,
  UNIT,
  useReversals,
} from "./reversals.ts";
import { escrowOf } from "./support.ts";

const LAB = "lab-anew";
const { lab, mine } = labOf(LAB);

let chain: Reversals;
let world: World;
useReversals(LAB, (opened) => {
  chain = opened;
  world = opened.world;
});

describe("a settlement that the follower's own blocks do not show", () => {
  it("is reversed if its block was removed before the follower reached it", async () => {
    const purchase = await chain.facilitated(await chain.pairOf());
    const [{ booked_block }] = (await rows("select booked_block from followers where network = ?", LAB)) as [Json];
    expect(booked_block).toBeLessThan((await transactionOf(purchase.id)).block_number);
    await chain.takeAway(purchase);
    await chain.followed();
    expect((await transactionOf(purchase.id)).reversed_at).toEqual(expect.any(Number));
  });

  it("is reversed if it was judged before a reorg and recorded after the follower had passed it", async () => {
    const purchase = await chain.paid(await chain.pairOf());
    await mine(3);
    const receipt = await lab("eth_getTransactionReceipt", purchase.tx);
    await chain.takeAway(purchase);
    await mine(3);
    await chain.followed();
    await chain.spoilReceipt(receipt);
    const { transaction_id: id } = expectStatus(await asProvider(world, purchase), 200);
    await spoil(LAB);
    await chain.followed();
    expect((await transactionOf(id)).reversed_at).toEqual(expect.any(Number));
  });

  it("is not reversed by a run that another one has overtaken", async () => {
    const purchase = await chain.facilitated(await chain.pairOf());
    const { deps } = world;
    await chain.followed();
    const { known } = await readBatch(deps.db, { known: findFollower(deps.db, LAB) });
    if (!known) throw new Error("the network was never read");
    const network = requireNetwork(deps.config.networks, LAB);
    const { block_number: blockNumber, block_hash: blockHash } = await transactionOf(purchase.id);
    const recorded = [{ number: 1, network: LAB, blockNumber, transactionId: purchase.id }];
    const set = (hash: string) =>
      rows("update transactions set block_hash = ? where transaction_id = ?", hash, purchase.id);
    await set(`0x${"00".repeat(32)}`);
    const other = { ...known, bookedHash: `0x${"00".repeat(32)}` };
    await expect(checkSettlements(deps, network, other, recorded)).rejects.toThrow(Conflict);
    expect((await transactionOf(purchase.id)).reversed_at).toBeNull();
    await set(blockHash);
    expect(await checkSettlements(deps, network, known, recorded)).toBe("checked");
  });
});

describe("a payment that comes back in another block", () => {
  it.each([
    ["it names its intent", true],
    ["it names no intent", false],
  ])("is facilitated again for the same intent, once, even after the intent's end: %s", async (_, named) => {
    const purchase = await chain.facilitated(await chain.pairOf(), "10.00", named);
    await chain.followed();
    world.advance(6 * MINUTE);
    await chain.moveOn(purchase);
    await chain.followed();
    await chain.followed();
    expect(await intentOf(purchase)).toMatchObject({ status: "PAID", payment_tx: purchase.tx, transaction_id: null });
    expect(await holdsOf(purchase.consumer.did)).toEqual([{ expires_at: Number.MAX_SAFE_INTEGER, amount: 10 * UNIT }]);
    const again = expectStatus(await asProvider(world, purchase), 200);
    expect(again.intent_id).toBe(purchase.intent.intent_id);
    expect([again.transaction_id, again.task_id, again.receipt]).not.toEqual(
      expect.arrayContaining([purchase.id, purchase.task, purchase.fac.receipt]),
    );
    for (const retry of [asProvider(world, purchase), asConsumer(world, purchase)])
      expect(expectStatus(await retry, 200)).toEqual(again);
    expect(expectStatus(await asClient(world, purchase, { network: LAB }), 200)).toEqual(again);
    expect(await escrowOf(purchase.provider.did)).toMatchObject({ balance: 999_500, contributed: 999_500 });
    expect(await spendState(world, purchase.consumer.did)).toMatchObject([{ settled: 10 * UNIT, open: 0 }]);
    await chain.followed();
    expect((await transactionOf(again.transaction_id)).reversed_at).toBeNull();
    expectStatus(await confirm(world, purchase.consumer, again.task_id), 200);
    expect(await ratingOf(purchase.provider.did)).toMatchObject({ rating_interactions: 1 });
  });

  it("is facilitated again by the same proof once the first settlement is reversed", async () => {
    const purchase = await chain.paid(await chain.pairOf());
    await mine(3);
    const headers = await world.proveBound(purchase.consumer, purchase.provider.did);
    const body = { intent_id: purchase.intent.intent_id, payment_tx: purchase.tx };
    const send = async () =>
      expectStatus(await world.call("POST", "/v1/facilitate", { key: null, headers, body }), 200);
    const first = await send();
    await chain.followed();
    await chain.moveOn(purchase);
    await chain.followed();
    await chain.followed();
    const second = await send();
    expect(second.transaction_id).not.toBe(first.transaction_id);
    expect(await send()).toEqual(second);
  });

  it("pays the same intent again after it was gone and the intent had ended", async () => {
    const purchase = await chain.facilitated(await chain.pairOf());
    await chain.followed();
    await chain.takeAway(purchase);
    await chain.followed();
    world.advance(61 * MINUTE);
    await chain.followed();
    await world.run(abandonIntents);
    expect(await intentOf(purchase)).toMatchObject({ status: "ABANDONED" });
    await chain.bringBack(purchase);
    await chain.followed();
    expect(await intentOf(purchase)).toMatchObject({ status: "PAID" });
    expect(await holdsOf(purchase.consumer.did)).toEqual([{ expires_at: Number.MAX_SAFE_INTEGER, amount: 10 * UNIT }]);
    const again = expectStatus(await asProvider(world, purchase), 200);
    expect(again.transaction_id).not.toBe(purchase.id);
    expect(await eventsOf("transaction.reversed", purchase.id)).toHaveLength(1);
  });

  it("is facilitated before the follower has seen it, for the intent that it was paid for", async () => {
    const pair = await chain.pairOf();
    const purchase = await chain.facilitated(pair, "10.00", false);
    await chain.followed();
    await chain.takeAway(purchase);
    await chain.followed();
    const newer = await world.intent(pair.consumer, pair.provider, "10.00", { network: LAB });
    world.advance(6 * MINUTE);
    await chain.bringBack(purchase);
    const again = expectStatus(await asClient(world, purchase, { network: LAB }), 200);
    expect([again.intent_id, again.intent_id === newer.intent_id]).toEqual([purchase.intent.intent_id, false]);
  });

  it("leaves one settlement after it was removed and brought back several times", async () => {
    const purchase = await chain.facilitated(await chain.pairOf());
    for (let round = 0; round < 2; round++) {
      await chain.moveOn(purchase);
      await chain.followed();
      await chain.followed();
      expectStatus(await asProvider(world, purchase), 200);
    }
    await chain.followed();
    const settled = await rows("select reversed_at from transactions where tx_hash = ?", purchase.tx);
    expect(settled.filter(({ reversed_at }) => reversed_at === null)).toHaveLength(1);
    expect(settled).toHaveLength(3);
    expect(await escrowOf(purchase.provider.did)).toMatchObject({ balance: 999_500, contributed: 999_500 });
    expect(await spendState(world, purchase.consumer.did)).toMatchObject([{ settled: 10 * UNIT, open: 0 }]);
  });
});
