// Awards that a provider tries to delay, or whose settlement the nodes lose (DSP-12, DSP-17): small refunds while a part waits for the contract's
// delay, nodes that no longer have the settlement, and the end of the contract's 400 days. Only this file uses the network `lab-stalled`.
import { beforeAll, describe, expect, it } from "vitest";
import { DELAYS } from "../../scripts/chain/roles.ts";
import type { Network } from "../../src/chain/networks.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../src/core/limits.ts";
import { commit, readBatch } from "../../src/db/batch.ts";
import { findFollowerPlace } from "../../src/disputes/store.ts";
import { undoRefunds } from "../../src/follower/refunds.ts";
import { asProvider } from "../facilitation/support.ts";
import { follow, heldBy, refundOf } from "../follower/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { networksWith, payOnChain, rpc, spoil } from "../support/chain.ts";
import { ageSent } from "../support/signer.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { arbitrated, escrowOf, file, payOut, read, resolve } from "./support.ts";

const LAB = "lab-stalled";
/** The award consists of a refund of 4 and a bounty of 1. */
const [REFUND, AWARD, BALANCE] = [4_000_000, 5_000_000, 20_000_000];
type Case = Awaited<ReturnType<typeof awarded>>;

let world: World;
beforeAll(async () => {
  world = await createWorld({ NETWORKS: networksWith(LAB) });
});

/** A dispute that is decided, but whose payout has not begun. */
async function awarded() {
  const [provider, consumer] = [await world.provider({}, "GLOBAL-USDC", LAB), await world.consumer()];
  const intent = await world.intent(consumer, provider, "10.00", { network: LAB });
  const tx = await payOnChain(consumer.did, provider.did, 10_000_000, { network: LAB, intentId: intent.intent_id });
  const fac = expectStatus(await asProvider(world, { provider, consumer, intent, tx }), 200);
  await deposit(provider.did, BALANCE, LAB);
  await follow(world, LAB);
  const bought = { provider, consumer, intent, tx, fac, task: fac.task_id };
  const { dispute_id: id } = expectStatus(await file(world, bought), 201);
  await arbitrated(world, { ...bought, id });
  expectStatus(await resolve(world, id, { resolution: "partially_upheld", refund_amount: "4" }), 200);
  return { ...bought, id };
}
async function scheduled(): Promise<Case> {
  const one = await awarded();
  expect(await payOut(world, one.id, LAB)).toBe(true);
  return one;
}

const operationOf = async ({ id }: Case): Promise<Json> => {
  const [found] = await rows("select * from chain_operations where kind = 'payout' and subject = ?", id);
  return { ...found, wanted: JSON.parse(found?.["wanted"] ?? "{}") };
};
const shown = ({ consumer, id }: Case): Promise<Json> => read(world, consumer, id);
const alertsOf = async ({ id }: Case): Promise<string[]> =>
  (await rows("select message from alerts where kind = 'award' and subject = ?", `${id} on ${LAB}`)).map(
    ({ message }) => message,
  );
const dueNow = ({ id }: Case) =>
  rows("update chain_operations set next_check_at = 1 where kind = 'payout' and subject = ?", id);
const again = async (one: Case): Promise<void> => {
  await dueNow(one);
  expect(await payOut(world, one.id, LAB)).toBe(true);
};
async function pass(seconds: number): Promise<void> {
  await rpc(LAB, "evm_increaseTime", [seconds]);
  await rpc(LAB, "anvil_mine", ["0x1"]);
}
async function givesBack({ fac }: Case, amount: number): Promise<void> {
  await refundOf(fac.transaction_id, amount, LAB);
  await follow(world, LAB);
}

/** Makes the nodes lose a transaction. */
const forgets = (tx: string) =>
  spoil(
    LAB,
    ...["eth_getTransactionReceipt", "eth_getTransactionByHash"].map(
      (method) => ({ method, times: 1_000, how: "answer", result: null, first: tx }) as const,
    ),
  );
const followed = async () => (await readBatch(world.deps.db, { place: findFollowerPlace(world.deps.db, LAB) })).place;

describe("a refund while a part waits", () => {
  it("does not delay the part if it is small, however often it comes", async () => {
    const one = await scheduled();
    const { effective_at: planned } = (await operationOf(one)).wanted;
    const held = await heldBy(one.provider.did, LAB);
    for (let dust = 0; dust < 3; dust++) {
      await pass(DELAYS.payOut / 4);
      await givesBack(one, 1);
      await again(one);
      expect((await operationOf(one)).wanted).toMatchObject({ amount: String(AWARD), effective_at: planned });
    }
    await pass(DELAYS.payOut / 4 + 60);
    await again(one);
    // The part was more than what was left to pay, and it is shown in full.
    expect(await shown(one)).toMatchObject({
      refund_status: "paid",
      paid_from_vault: "5.00",
      bounty_outstanding: "0.00",
    });
    expect(held - (await heldBy(one.provider.did, LAB))).toBe(AWARD);
    expect((await escrowOf(one.provider.did)).owed).toBe(0);
  });

  it("makes the part smaller if it is a tenth of it, up to three times", async () => {
    const one = await scheduled();
    const amounts: string[] = [];
    for (let time = 0; time < 4; time++) {
      await givesBack(one, 600_000);
      await again(one);
      amounts.push((await operationOf(one)).wanted.amount);
    }
    expect(amounts).toEqual(["4400000", "3800000", "3200000", "3200000"]);
    const held = await heldBy(one.provider.did, LAB);
    await pass(DELAYS.payOut + 60);
    await again(one);
    expect(held - (await heldBy(one.provider.did, LAB))).toBe(3_200_000);
    expect(await shown(one)).toMatchObject({ refund_status: "paid", paid_from_vault: "3.20" });
    expect((await escrowOf(one.provider.did)).owed).toBe(0);
  });

  it("of the awarded refund leaves the bounty for the vault to pay", async () => {
    const one = await scheduled();
    await givesBack(one, REFUND);
    await again(one);
    expect((await operationOf(one)).wanted).toMatchObject({ amount: String(AWARD - REFUND) });
    expect(await shown(one)).toMatchObject({ refund_status: "paid", bounty_outstanding: "1.00" });
    expect((await escrowOf(one.provider.did)).owed).toBe(AWARD - REFUND);
    await pass(DELAYS.payOut + 60);
    await again(one);
    expect(await shown(one)).toMatchObject({
      refund_status: "paid",
      paid_from_vault: "1.00",
      bounty_outstanding: "0.00",
    });
    expect((await escrowOf(one.provider.did)).owed).toBe(0);
  });

  it("drops the part if nothing is owed any longer, even after three smaller parts", async () => {
    const one = await scheduled();
    await rows("update disputes set parts_remade = 3 where dispute_id = ?", one.id);
    await givesBack(one, AWARD);
    const held = await heldBy(one.provider.did, LAB);
    await again(one);
    await again(one);
    await pass(DELAYS.payOut + 60);
    await again(one);
    expect(await shown(one)).toMatchObject({ refund_status: "paid", paid_from_vault: "0.00" });
    expect(await heldBy(one.provider.did, LAB)).toBe(held);
  });
});

describe("a refund that a reorg removes", () => {
  it("is owed again if it had paid an award", async () => {
    const one = await scheduled();
    const { bookedBlock: before = 0 } = (await followed()) ?? {};
    await givesBack(one, AWARD);
    await again(one);
    await again(one);
    expect(await shown(one)).toMatchObject({ refund_status: "paid", paid_from_vault: "0.00" });
    expect((await operationOf(one)).next_check_at).toBeNull();
    await commit(world.deps.db, undoRefunds(world.deps.db, { network: LAB } as Network, before));
    expect(await payOut(world, one.id, LAB)).toBe(true);
    expect(await operationOf(one)).toMatchObject({ status: "waiting", wanted: { before: "0", amount: String(AWARD) } });
    expect((await escrowOf(one.provider.did)).owed).toBe(AWARD);
  });
});

describe("a settlement that no node has any longer", () => {
  it("keeps its award: it is looked for again, an operator is alerted after an hour, and the award is paid once a node has it", async () => {
    const one = await awarded();
    await forgets(one.tx);
    const begun = Date.now();
    await dueNow(one);
    expect(await payOut(world, one.id, LAB)).toBe(true);
    const due = (await operationOf(one)).next_check_at;
    expect(due).toBeGreaterThanOrEqual(begun + MINUTE_MS);
    expect(due).toBeLessThanOrEqual(Date.now() + MINUTE_MS);
    expect(await shown(one)).toMatchObject({ refund_status: "owed" });
    expect((await escrowOf(one.provider.did)).owed).toBe(REFUND);
    expect(await alertsOf(one)).toEqual([]);
    await rows(
      "update chain_operations set created_at = created_at - ? where kind = 'payout' and subject = ?",
      ...[2 * HOUR_MS, one.id],
    );
    await again(one);
    expect((await operationOf(one)).next_check_at).toBeGreaterThanOrEqual(begun + HOUR_MS);
    expect(await alertsOf(one)).toEqual([expect.stringMatching(/^No node finds the settlement/)]);
    await spoil(LAB);
    await again(one);
    await pass(DELAYS.payOut + 60);
    await again(one);
    expect(await shown(one)).toMatchObject({ refund_status: "paid", paid_from_vault: "5.00" });
  });
});

describe("the end of the contract's 400 days", () => {
  /** Ages the settlement in the database. */
  const older = ({ fac }: Case) =>
    rows(
      "update transactions set settled_at = settled_at - ? where transaction_id = ?",
      401 * DAY_MS,
      fac.transaction_id,
    );
  const isGivenUp = async (one: Case, held: number) => {
    expect(await operationOf(one)).toMatchObject({ status: "failed", reason: "expired", next_check_at: null });
    expect(await shown(one)).toMatchObject({ refund_status: "outstanding", paid_from_vault: "0.00" });
    expect((await escrowOf(one.provider.did)).owed).toBe(0);
    expect(await alertsOf(one)).toEqual([expect.stringContaining("expired")]);
    expect(await heldBy(one.provider.did, LAB)).toBe(held);
  };

  it("ends an award with a waiting part and one without a part, and releases the reserve", async () => {
    const [waits, none, both] = [await scheduled(), await awarded(), await scheduled()];
    const held = await heldBy(waits.provider.did, LAB);
    for (const one of [waits, none, both]) await older(one);
    await pass(401 * 86_400);
    for (const one of [waits, none]) {
      await again(one);
      await isGivenUp(one, held);
    }
    await givesBack(both, 1_000_000);
    await again(both);
    await isGivenUp(both, held);
  });

  it("ends an award whose settlement no node has any longer", async () => {
    const one = await scheduled();
    const held = await heldBy(one.provider.did, LAB);
    await older(one);
    await forgets(one.tx);
    await again(one);
    await spoil(LAB);
    await isGivenUp(one, held);
  });

  it("is not judged by a node's block times", async () => {
    const one = await awarded();
    const receipt = await rpc<Json>(LAB, "eth_getTransactionReceipt", [one.tx]);
    const logs = receipt["logs"].map((log: Json) => ({ ...log, blockTimestamp: "0x0" }));
    const result = { ...receipt, logs };
    await spoil(LAB, { method: "eth_getTransactionReceipt", times: 1_000, how: "answer", result, first: one.tx });
    await again(one);
    expect((await operationOf(one)).status).toBe("waiting");
    await spoil(LAB);
    await again(one);
    expect(await shown(one)).toMatchObject({ refund_status: "sent" });
    expect((await escrowOf(one.provider.did)).owed).toBe(AWARD);
  });

  it("is not judged by the contract alone: the award is tried again each hour", async () => {
    const one = await scheduled();
    await pass(401 * 86_400);
    await again(one);
    expect(await operationOf(one)).toMatchObject({ status: "waiting" });
    expect(await shown(one)).toMatchObject({ refund_status: "sent" });
    expect((await escrowOf(one.provider.did)).owed).toBe(AWARD);
    expect((await alertsOf(one)).length).toBe(1);
    await older(one);
    await again(one);
    await isGivenUp(one, BALANCE + Number(one.fac.escrow_credited) * 1e6);
  });
});

// This is the last test, because the reorg also removes later transactions of the arbiter.
describe("a payout that a reorg removes", () => {
  it("is paid again, once, and shown as owed meanwhile", async () => {
    const one = await scheduled();
    await pass(DELAYS.payOut + 60);
    await follow(world, LAB);
    const before = await rpc<string>(LAB, "evm_snapshot", []);
    await again(one);
    expect(await shown(one)).toMatchObject({ refund_status: "paid", paid_from_vault: "5.00" });
    await follow(world, LAB);
    const held = await heldBy(one.provider.did, LAB);
    // No further check is scheduled, so that only the reorg can cause one.
    await rows("update chain_operations set next_check_at = null where kind = 'payout' and subject = ?", one.id);
    await rpc(LAB, "evm_revert", [before]);
    await rpc(LAB, "anvil_mine", ["0x8"]);
    expect(await heldBy(one.provider.did, LAB)).toBe(held + AWARD);
    await follow(world, LAB);
    await follow(world, LAB);
    expect((await operationOf(one)).next_check_at).not.toBeNull();
    await pass(DELAYS.payOut + 60);
    // The signer resends a transaction that has waited for ten seconds.
    await ageSent(LAB, 10 * SECOND_MS, "arbiter");
    await again(one);
    expect(await heldBy(one.provider.did, LAB)).toBe(held);
    expect(await shown(one)).toMatchObject({ refund_status: "paid", paid_from_vault: "5.00" });
    expect((await escrowOf(one.provider.did)).owed).toBe(0);
  });
});
