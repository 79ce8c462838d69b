// Awards where the arbiter's payouts wait a day, as in production (DSP-12, CHN-20): they are scheduled, executed after the delay, cancelled by the
// guardian, reduced if the provider refunds meanwhile, and paid once if the isolate that sends one dies. Only this file uses the network `lab-award`.
import { beforeAll, describe, expect, it } from "vitest";
import { DELAYS } from "../../scripts/chain/roles.ts";
import { payAwards } from "../../src/disputes/payout.ts";
import { tendSigner } from "../../src/objects/signers.ts";
import { asProvider } from "../facilitation/support.ts";
import { follow, heldBy, refundOf } from "../follower/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { account, networksWith, payOnChain, rpc, spoil } from "../support/chain.ts";
import { killAt } from "../support/cuts.ts";
import { ageSent, keptHashes } from "../support/signer.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { cancelLast } from "./guardian.ts";
import { arbitrated, escrowOf, eventsAbout, file, keepReserve, paidOutOf, payOut, read, resolve } from "./support.ts";

const LAB = "lab-award";
const ARBITER = account(2);
/** The award consists of a refund of 4 and a bounty of 1. */
const [AWARD, REFUND, BALANCE] = [5_000_000, 4_000_000, 20_000_000];

type Case = { readonly provider: Agent; readonly consumer: Agent; readonly id: string; readonly transaction: string };

let world: World;
const cases: Record<string, Case> = {};

/** A dispute that is decided, but whose payout has not begun. */
async function decided(): Promise<Case> {
  const [provider, consumer] = [await world.provider({}, "GLOBAL-USDC", LAB), await world.consumer()];
  const intent = await world.intent(consumer, provider, "10.00", { network: LAB });
  const tx = await payOnChain(consumer.did, provider.did, 10_000_000, { network: LAB, intentId: intent.intent_id });
  const fac = expectStatus(await asProvider(world, { provider, consumer, intent, tx }), 200);
  await deposit(provider.did, BALANCE, LAB);
  const bought = { provider, consumer, intent, tx, fac, task: fac.task_id };
  const { dispute_id: id } = expectStatus(await file(world, bought), 201);
  await arbitrated(world, { ...bought, id });
  expectStatus(await resolve(world, id, { resolution: "partially_upheld", refund_amount: "4" }), 200);
  return { provider, consumer, id, transaction: fac.transaction_id };
}

/** A dispute that is decided, and whose payout is scheduled. */
async function awarded(): Promise<Case> {
  const one = await decided();
  expect(await payOut(world, one.id, LAB)).toBe(true);
  // Finishes the queue's work on the reserve too.
  await keepReserve(world, one.provider.did, LAB);
  return one;
}

const operationOf = async ({ id }: Case): Promise<Json> =>
  (await rows("select * from chain_operations where kind = 'payout' and subject = ?", id))[0];
const shown = ({ consumer, id }: Case): Promise<Json> => read(world, consumer, id);

async function pass(seconds: number): Promise<void> {
  await rpc(LAB, "evm_increaseTime", [seconds]);
  await rpc(LAB, "anvil_mine", ["0x1"]);
}

beforeAll(async () => {
  world = await createWorld({ NETWORKS: networksWith(LAB) });
  for (const name of ["paid", "given back", "given back in part", "cancelled"]) cases[name] = await awarded();
});

const the = (name: string): Case => {
  const found = cases[name];
  if (!found) throw new Error(`no case ${name}`);
  return found;
};

describe("an award whose payout waits", () => {
  it("is sent, but not paid before the delay is over", async () => {
    const one = the("paid");
    expect(await shown(one)).toMatchObject({
      refund_status: "sent",
      paid_from_vault: "0.00",
      bounty_outstanding: "1.00",
    });
    const { status, reason, wanted, next_check_at } = await operationOf(one);
    expect([status, reason]).toEqual(["waiting", "scheduled"]);
    const { effective_at } = JSON.parse(wanted);
    expect(next_check_at).toBe(Number(effective_at) + 1_000);
    expect(Number(effective_at) - Date.now()).toBeGreaterThan((DELAYS.payOut - 3_600) * 1_000);
    const before = await rpc<string>(LAB, "eth_blockNumber", []);
    expect(await payOut(world, one.id, LAB)).toBe(true);
    expect(await rpc<string>(LAB, "eth_blockNumber", [])).toBe(before);
    expect((await escrowOf(one.provider.did)).owed).toBe(AWARD);
  });

  it("is not paid if the guardian cancels it, and alerts an operator", async () => {
    const one = the("cancelled");
    const held = await heldBy(one.provider.did, LAB);
    await cancelLast(LAB);
    expect(await payOut(world, one.id, LAB)).toBe(true);
    expect(await shown(one)).toMatchObject({ refund_status: "outstanding", paid_from_vault: "0.00" });
    expect(await operationOf(one)).toMatchObject({
      status: "failed",
      reason: "cancelled",
      next_check_at: expect.any(Number),
    });
    // The vault reserves the refund, but not the bounty.
    expect((await escrowOf(one.provider.did)).owed).toBe(REFUND);
    const alerts = await rows("select kind from alerts where subject = ?", `${one.id} on ${LAB}`);
    expect(alerts).toEqual([{ kind: "award" }]);
    expect(await heldBy(one.provider.did, LAB)).toBe(held);
  });

  it("is not scheduled again if the guardian cancelled it, even if a large part was refunded meanwhile", async () => {
    const one = await awarded();
    await cancelLast(LAB);
    await refundOf(one.transaction, 1_000_000, LAB);
    expect(await payOut(world, one.id, LAB)).toBe(true);
    expect(await operationOf(one)).toMatchObject({
      status: "failed",
      reason: "cancelled",
      next_check_at: expect.any(Number),
    });
    expect(await shown(one)).toMatchObject({ refund_status: "outstanding", paid_from_vault: "0.00" });
  });

  it("is not paid if the provider has refunded all of it, as soon as the chain shows the refund", async () => {
    const one = the("given back");
    const held = await heldBy(one.provider.did, LAB);
    await refundOf(one.transaction, AWARD, LAB);
    // The refund is not booked yet.
    expect(await payOut(world, one.id, LAB)).toBe(true);
    expect(await shown(one)).toMatchObject({ refund_status: "owed", paid_from_vault: "0.00" });
    expect(JSON.parse((await operationOf(one)).wanted)).toEqual({});
    await follow(world, LAB);
    expect(await payOut(world, one.id, LAB)).toBe(true);
    expect(await shown(one)).toMatchObject({
      refund_status: "paid",
      paid_from_vault: "0.00",
      bounty_outstanding: "0.00",
    });
    expect((await escrowOf(one.provider.did)).owed).toBe(0);
    expect(await heldBy(one.provider.did, LAB)).toBe(held);
  });

  it("is scheduled again for the rest if the provider has refunded a part", async () => {
    const one = the("given back in part");
    await refundOf(one.transaction, 3_000_000, LAB);
    expect(await payOut(world, one.id, LAB)).toBe(true);
    const operation = await operationOf(one);
    expect(operation).toMatchObject({ status: "waiting", reason: "scheduled" });
    expect(JSON.parse(operation.wanted)).toMatchObject({ before: "0", amount: "2000000" });
    await follow(world, LAB);
  });

  it("is paid once, after the delay", async () => {
    const [whole, rest, back] = [the("paid"), the("given back in part"), the("given back")];
    const held = await Promise.all([whole, rest, back].map(({ provider }) => heldBy(provider.did, LAB)));
    await pass(DELAYS.payOut + 60);
    for (let again = 0; again < 2; again++)
      for (const { id } of [whole, rest, back]) expect(await payOut(world, id, LAB)).toBe(true);
    const paid = { refund_status: "paid", bounty_outstanding: "0.00" };
    expect(await shown(whole)).toMatchObject({ ...paid, paid_from_vault: "5.00" });
    expect(await shown(rest)).toMatchObject({ ...paid, paid_from_vault: "2.00" });
    expect(await shown(back)).toMatchObject({ ...paid, paid_from_vault: "0.00" });
    const left = await Promise.all([whole, rest, back].map(({ provider }) => heldBy(provider.did, LAB)));
    expect(held.map((before, place) => before - (left[place] ?? 0))).toEqual([AWARD, 2_000_000, 0]);
    for (const { provider } of [whole, rest]) expect((await escrowOf(provider.did)).owed).toBe(0);
    expect((await eventsAbout(whole.id)).filter((type) => type === "dispute.updated").length).toBeGreaterThanOrEqual(2);
  });
});

describe("an award whose isolate dies while its payout is scheduled, and while it is executed", () => {
  const sentByArbiter = async () => Number(await rpc<string>(LAB, "eth_getTransactionCount", [ARBITER, "pending"]));
  const kept = async () => (await keptHashes(LAB, "arbiter")).at(-1);

  /** The node spoils the call that sends the transaction, and its one retry. */
  async function dieAfterSubmit(one: Case, how: "lose" | "lose_answer"): Promise<void> {
    await spoil(LAB, { method: "eth_sendRawTransaction", times: 2, how });
    const cut = await killAt(world, { step: 1, moment: "after", of: "CHAIN_SIGNER.submit" }, (dying) =>
      payOut(dying, one.id, LAB),
    );
    await spoil(LAB);
    expect(cut).not.toBeNull();
    // The part was stored before, but its transaction was not recorded.
    const { status, wanted, tx_hash } = await operationOf(one);
    expect([status, JSON.parse(wanted)]).toMatchObject(["waiting", { before: "0", amount: String(AWARD) }]);
    expect(tx_hash).not.toBe(await kept());
  }
  /** The minute's job continues what the dead isolate left. */
  async function minute({ id: disputeId }: Case): Promise<void> {
    world.sent.splice(0);
    await world.run(payAwards);
    const found = world.sent.splice(0).map(({ body }) => body);
    expect(found).toContainEqual({ kind: "pay_award", network: LAB, disputeId });
    expect(await payOut(world, disputeId, LAB)).toBe(true);
  }
  /** Passes the delay, and makes the payout due. */
  async function passDelay({ id }: Case): Promise<void> {
    await pass(DELAYS.payOut + 60);
    await rows("update chain_operations set next_check_at = 1 where kind = 'payout' and subject = ?", id);
  }

  /** The transaction that the arbiter kept reaches the chain, and no other one does. */
  async function sendKept(one: Case, before: number): Promise<void> {
    await dieAfterSubmit(one, "lose");
    const [sent, hash] = [await sentByArbiter(), await kept()];
    expect(sent).toBe(before);
    await ageSent(LAB, 10_000, "arbiter");
    await tendSigner(world.deps.env, "arbiter", LAB);
    await minute(one);
    expect([await sentByArbiter(), await kept()]).toEqual([before + 1, hash]);
  }
  /** The transaction is on the chain, but it was not recorded. */
  async function noteSent(one: Case, before: number): Promise<void> {
    await dieAfterSubmit(one, "lose_answer");
    expect(await sentByArbiter()).toBe(before + 1);
    await minute(one);
    expect(await sentByArbiter()).toBe(before + 1);
  }

  it.each([
    ["is paid once if a transaction was kept, but never reached the node", sendKept],
    ["is paid once if a transaction reached the node, but its answer was lost", noteSent],
  ])("%s", async (_what, recover) => {
    const one = await decided();
    const [held, before] = [await heldBy(one.provider.did, LAB), await sentByArbiter()];
    await recover(one, before);
    expect(await shown(one)).toMatchObject({ refund_status: "sent", paid_from_vault: "0.00" });
    await passDelay(one);
    await recover(one, before + 1);
    expect(await shown(one)).toMatchObject({ refund_status: "paid", paid_from_vault: "5.00" });
    expect(await paidOutOf(one.provider.did, LAB)).toEqual([AWARD]);
    expect(await heldBy(one.provider.did, LAB)).toBe(held - AWARD);
    expect((await escrowOf(one.provider.did)).owed).toBe(0);
  });
});
