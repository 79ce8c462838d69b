// One payment settles one intent, even if a reorg moves its transaction within a block (FAC-9), and a node that answers with another transaction is
// not believed (CHN-9). Only this file uses the network `lab-moved`.
import { encodeFunctionData } from "viem/utils";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { tokenAbi } from "../../scripts/chain/abi.ts";
import { account, chainOf, networksWith, payOnChain, spoil } from "../support/chain.ts";
import { labOf } from "../support/lab.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { asClient, asConsumer, asProvider, type Paid, type Pair, refused, stateOf } from "./support.ts";

const LAB = "lab-moved";
const { lab, mine } = labOf(LAB);
const receiptOf = (hash: string) => lab("eth_getTransactionReceipt", hash);

let world: World;
let pair: Pair;
beforeAll(async () => {
  world = await createWorld({ NETWORKS: networksWith(LAB) });
});
afterEach(async () => {
  await spoil(LAB);
  await lab("evm_setAutomine", true);
});

async function newPair(): Promise<Pair> {
  return { consumer: await world.consumer(), provider: await world.provider({}, "GLOBAL-USDC", LAB) };
}
const openIntent = () => world.intent(pair.consumer, pair.provider, "10.00", { network: LAB });
/** Pays without naming an intent, so that it could settle any intent of its amount. */
const pay = () => payOnChain(pair.consumer.did, pair.provider.did, 10_000_000, { network: LAB });

/** Undoes the last block and mines its transaction again, after another one that leaves a log. */
async function mineAgainBehindAnother(hash: string): Promise<void> {
  const signed = await lab("debug_getRawTransaction", hash);
  await lab("evm_setAutomine", false);
  await lab("anvil_rollback", 1);
  expect(await receiptOf(hash)).toBeNull();
  const data = encodeFunctionData({
    abi: tokenAbi,
    functionName: "approve",
    args: [account(7) as `0x${string}`, 1n],
  });
  const fees = { maxPriorityFeePerGas: "0x4a817c800", maxFeePerGas: "0xba43b7400" };
  await lab("eth_sendTransaction", { from: account(7), to: chainOf(LAB).token, data, gas: "0x2dc6c0", ...fees });
  expect(await lab("eth_sendRawTransaction", signed)).toBe(hash);
  await mine();
}

describe("a payment that a reorg moved within its block", () => {
  it("settles no second intent, and stays the same settlement", async () => {
    pair = await newPair();
    const intent = await openIntent();
    const tx = await pay();
    const first = await receiptOf(tx);
    const purchase: Paid = { ...pair, intent, tx };
    const settled = expectStatus(await asProvider(world, purchase), 200);

    const other = { ...purchase, intent: await openIntent() };
    await mineAgainBehindAnother(tx);
    const moved = await receiptOf(tx);
    expect(moved.status).toBe("0x1");
    expect(moved.logs.map(({ data }: Json) => data)).toEqual(first.logs.map(({ data }: Json) => data));
    expect(Number(moved.logs[0].logIndex)).toBeGreaterThan(Number(first.logs[0].logIndex));

    const dids = [pair.provider.did, pair.consumer.did];
    for (const facilitate of [asProvider, asConsumer]) {
      const act = () => facilitate(world, other);
      const { detail } = await refused(world, dids, act, 409, "settlement_verification_failed");
      expect(detail).toEqual({ failed_check: "already_facilitated" });
    }
    // A retry in any form gets the recorded answer.
    const asClientThere = () => asClient(world, purchase, { network: LAB });
    for (const retry of [() => asProvider(world, purchase), () => asConsumer(world, purchase), asClientThere]) {
      expect(expectStatus(await retry(), 200)).toEqual(settled);
    }
    const { transactions, intents } = await stateOf(world, pair.provider.did);
    expect(transactions.map(({ intentId }) => intentId)).toEqual([intent.intent_id]);
    expect(intents.filter(({ status }) => status === "SETTLED").map(({ intentId }) => intentId)).toEqual([
      intent.intent_id,
    ]);
  });

  it("settles its intent once if it was moved before its facilitation", async () => {
    pair = await newPair();
    const intent = await openIntent();
    const tx = await pay();
    await mineAgainBehindAnother(tx);
    const purchase: Paid = { ...pair, intent, tx };
    expectStatus(await asProvider(world, purchase), 200);
    const other = { ...purchase, intent: await openIntent() };
    const act = () => asProvider(world, other);
    await refused(world, [pair.provider.did, pair.consumer.did], act, 409, "settlement_verification_failed");
  });
});

describe("a receipt for another transaction than the one asked for", () => {
  it("is not believed: nothing is settled, and the intent can still be paid", async () => {
    pair = await newPair();
    const intent = await openIntent();
    const tx = await pay();
    const result = await receiptOf(tx);
    const claimed: Paid = { ...pair, intent, tx: `0x${"ab".repeat(32)}` };
    const answering = { method: "eth_getTransactionReceipt", times: 100, how: "answer", result } as const;
    await spoil(LAB, answering);
    const asClientThere = () => asClient(world, claimed, { network: LAB });
    for (const act of [() => asProvider(world, claimed), () => asConsumer(world, claimed), asClientThere]) {
      await refused(world, [pair.provider.did, pair.consumer.did], act, 503, "chain_unavailable");
    }
    await spoil(LAB);
    expectStatus(await asProvider(world, { ...claimed, tx }), 200);
  });
});
