// A reorganisation takes away the block in which a settlement's `refundTo` was turned to another address, before and after its award was paid there
// (CHN-25, DSP-12, DSP-17): the dispute shows what stands on the chain, and what the chain does not have any more is paid again, once, to whom it is
// owed now. The network `lab-turned` belongs to this file alone; what it books has three confirmations.
import { expect, it } from "vitest";
import { type Reversals, type Settled, useReversals } from "../follower/reversals.ts";
import { balanceOf, heldBy, moveRefundTo } from "../follower/support.ts";
import { impatient } from "../markets/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { account } from "../support/chain.ts";
import { expectStatus, type Json, type World } from "../support/world.ts";
import { arbitrated, escrowOf, file, keepReserve, paidOutOf, payOut, read, resolve, workMinute } from "./support.ts";

const LAB = "lab-turned";
const PAYER = account(9);
/** Refund and bounty. */
const [AWARD, BALANCE] = [5_000_000, 20_000_000];

let chain: Reversals;
let world: World;
useReversals(LAB, (opened) => {
  chain = opened;
  world = opened.world;
});

type Turned = Settled & { readonly dispute: string; readonly elsewhere: string; readonly moved: string };
let addresses = 0;

/** Decided for the consumer, and turned by its payer to an address of its own. Neither is booked. */
async function turned(): Promise<Turned> {
  const purchase = await chain.facilitated(await chain.pairOf());
  await deposit(purchase.provider.did, BALANCE, LAB);
  await chain.mine(3);
  await chain.followed();
  const { dispute_id: dispute } = expectStatus(await file(world, purchase), 201);
  await arbitrated(world, { ...purchase, id: dispute });
  expectStatus(await resolve(world, dispute, { resolution: "partially_upheld", refund_amount: "4" }), 200);
  // A block that stays.
  await chain.mine(3);
  await chain.followed();
  addresses += 1;
  const elsewhere = `0x${`e15e${addresses}`.padStart(40, "0")}`;
  const moved = await moveRefundTo(purchase.id, elsewhere, LAB);
  return { ...purchase, dispute, elsewhere, moved };
}
const booked = async (): Promise<void> => {
  await chain.mine(3);
  await chain.followed();
};
/** Paid there, and booked. Its transaction is the newest one. */
async function paid(): Promise<Turned> {
  const one = await turned();
  await booked();
  expect(await payOut(world, one.dispute, LAB)).toBe(true);
  await booked();
  await minutes(one);
  expect(await stateOf(one)).toEqual({ ...PAID, elsewhere: AWARD });
  return one;
}
async function minutes({ dispute, provider }: Turned): Promise<void> {
  for (const _ of [1, 2]) {
    // What a reorganisation makes doubtful is due at once, also where it is done.
    expect(await payOut(world, dispute, LAB)).toBe(true);
    await workMinute(world, dispute, provider.did, LAB);
    await booked();
  }
  expect(await keepReserve(world, provider.did, LAB)).toBe(true);
}

const shown = ({ consumer, dispute }: Turned): Promise<Json> => read(world, consumer, dispute);
/** What the dispute shows, what the chain has, and who has it. `payer`: since the award. */
async function stateOf(one: Turned) {
  const { refund_status: status, paid_from_vault: told } = await shown(one);
  const [lines] = await rows(
    "select coalesce(-sum(amount), 0) as sum from ledger_lines where did = ? and reversed = 0 and kind = 'payout'",
    one.provider.did,
  );
  return {
    ...{ status, told, booked: lines.sum, paid: await paidOutOf(one.provider.did, LAB) },
    ...{ elsewhere: await balanceOf(one.elsewhere, LAB), owed: (await escrowOf(one.provider.did)).owed },
  };
}
const PAID = { status: "paid", told: "5.00", booked: AWARD, paid: [AWARD], owed: 0 };

it("with its payout is paid again to the address of the payment, once", async () => {
  const one = await paid();
  const payer = await balanceOf(PAYER, LAB);
  await chain.takeAway({ tx: one.moved });
  await chain.followed();
  expect(await balanceOf(one.elsewhere, LAB)).toBe(0);
  await minutes(one);
  expect(await stateOf(one)).toEqual({ ...PAID, elsewhere: 0 });
  expect((await balanceOf(PAYER, LAB)) - payer).toBe(AWARD);
  expect(await rows("select 1 from refund_addresses where refund_to = ?", one.elsewhere)).toEqual([]);
});

it("with its payout, and comes back alone, shows as not paid, and is paid there again, once", async () => {
  const one = await paid();
  const [moving] = await chain.minedSince(one.moved);
  await chain.takeAway({ tx: one.moved });
  if (moving) await chain.sendAgain(moving);
  await chain.followed();
  // Neither address is known to be the present one, and nothing is paid of it.
  expect(await payOut(world, one.dispute, LAB)).toBe(true);
  expect(await stateOf(one)).toEqual({
    status: "owed",
    told: "0.00",
    booked: 0,
    paid: [],
    elsewhere: 0,
    owed: 4_000_000,
  });
  await booked();
  await minutes(one);
  expect(await stateOf(one)).toEqual({ ...PAID, elsewhere: AWARD });
});

it("with its payout, and comes back with it in other blocks, stays paid, and nothing is sent", async () => {
  const one = await paid();
  const mined = await chain.minedSince(one.moved);
  await chain.takeAway({ tx: one.moved });
  for (const each of mined) await chain.sendAgain(each);
  await booked();
  await minutes(one);
  expect(await stateOf(one)).toEqual({ ...PAID, elsewhere: AWARD });
});

it("stays where its payout alone is gone, which is paid there again", async () => {
  const one = await paid();
  const [payout] = await rows(
    "select tx_hash as tx from ledger_lines where did = ? and kind = 'payout'",
    one.provider.did,
  );
  await chain.takeAway(payout);
  await chain.followed();
  await minutes(one);
  expect(await stateOf(one)).toEqual({ ...PAID, elsewhere: AWARD });
});

it.each([
  ["before it is booked", false],
  ["after it was booked", true],
])("%s, and before anything was paid, leaves the award to the address of the payment", async (_when, isBooked) => {
  const one = await turned();
  if (isBooked) await booked();
  const payer = await balanceOf(PAYER, LAB);
  await chain.takeAway({ tx: one.moved });
  await chain.followed();
  await minutes(one);
  expect(await stateOf(one)).toEqual({ ...PAID, elsewhere: 0 });
  expect((await balanceOf(PAYER, LAB)) - payer).toBe(AWARD);
});

it("while its payout is sent and has no block leaves that payout to nobody: it is paid to the address of the payment, once", async () => {
  const one = await turned();
  await booked();
  const [held, payer] = [await heldBy(one.provider.did, LAB), await balanceOf(PAYER, LAB)];
  await chain.lab("evm_setAutomine", false);
  // It waits in the node's pool, for a block that comes after the reorganisation.
  expect(await payOut(impatient(world), one.dispute, LAB)).toBe(false);
  await chain.takeAway({ tx: one.moved });
  await chain.lab("evm_setAutomine", true);
  await booked();
  await minutes(one);
  expect(await stateOf(one)).toEqual({ ...PAID, elsewhere: 0 });
  expect([held - (await heldBy(one.provider.did, LAB)), (await balanceOf(PAYER, LAB)) - payer]).toEqual([AWARD, AWARD]);
});
