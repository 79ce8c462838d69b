// A reorg removes the block in which a settlement got another `refundTo`, before or after its award was paid there (CHN-25, DSP-12, DSP-17). The
// dispute shows what is on the chain, and a payout that the chain lost is paid again, once, to the present address. Only this file uses the network
// `lab-turned`, whose blocks are booked after three confirmations.
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
/** The refund and the bounty. */
const [AWARD, BALANCE] = [5_000_000, 20_000_000];

let chain: Reversals;
let world: World;
useReversals(LAB, (opened) => {
  chain = opened;
  world = opened.world;
});

type Turned = Settled & { readonly dispute: string; readonly elsewhere: string; readonly moved: string };
let addresses = 0;

/** A dispute that is decided for the consumer, and whose payer has named another refund address. The new address is not booked yet. */
async function turned(): Promise<Turned> {
  const purchase = await chain.facilitated(await chain.pairOf());
  await deposit(purchase.provider.did, BALANCE, LAB);
  await chain.mine(3);
  await chain.followed();
  const { dispute_id: dispute } = expectStatus(await file(world, purchase), 201);
  await arbitrated(world, { ...purchase, id: dispute });
  expectStatus(await resolve(world, dispute, { resolution: "partially_upheld", refund_amount: "4" }), 200);
  // The reorg keeps these blocks.
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
/** An award that is paid to the new address, and booked. Its payout is the newest transaction. */
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
    // A reorg makes the operations that it puts in doubt due at once, even if they were done.
    expect(await payOut(world, dispute, LAB)).toBe(true);
    await workMinute(world, dispute, provider.did, LAB);
    await booked();
  }
  expect(await keepReserve(world, provider.did, LAB)).toBe(true);
}

const shown = ({ consumer, dispute }: Turned): Promise<Json> => read(world, consumer, dispute);
/** The refund that the dispute shows, the payouts that are booked and on the chain, the balance of the new address, and the amount owed. */
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

it("an award is paid again, once, to the payment's address if a reorg removes the new address and the payout", async () => {
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

it("an award shows as not paid if a reorg removes the payout, and is paid again, once, to a new address that is mined again", async () => {
  const one = await paid();
  const [moving] = await chain.minedSince(one.moved);
  await chain.takeAway({ tx: one.moved });
  if (moving) await chain.sendAgain(moving);
  await chain.followed();
  // It is not known which address is the present one, so nothing is paid.
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

it("an award stays paid, and nothing is sent, if the new address and the payout are mined again in other blocks", async () => {
  const one = await paid();
  const mined = await chain.minedSince(one.moved);
  await chain.takeAway({ tx: one.moved });
  for (const each of mined) await chain.sendAgain(each);
  await booked();
  await minutes(one);
  expect(await stateOf(one)).toEqual({ ...PAID, elsewhere: AWARD });
});

it("an award is paid to the new address again if a reorg removes the payout alone", async () => {
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
])("an unpaid award goes to the payment's address if a reorg removes the new one %s", async (_when, isBooked) => {
  const one = await turned();
  if (isBooked) await booked();
  const payer = await balanceOf(PAYER, LAB);
  await chain.takeAway({ tx: one.moved });
  await chain.followed();
  await minutes(one);
  expect(await stateOf(one)).toEqual({ ...PAID, elsewhere: 0 });
  expect((await balanceOf(PAYER, LAB)) - payer).toBe(AWARD);
});

it("an award is paid once, to the payment's address, if a reorg removes the new address while a payout to it waits for a block", async () => {
  const one = await turned();
  await booked();
  const [held, payer] = [await heldBy(one.provider.did, LAB), await balanceOf(PAYER, LAB)];
  await chain.lab("evm_setAutomine", false);
  // The payout waits in the node's pool for a block after the reorg.
  expect(await payOut(impatient(world), one.dispute, LAB)).toBe(false);
  await chain.takeAway({ tx: one.moved });
  await chain.lab("evm_setAutomine", true);
  await booked();
  await minutes(one);
  expect(await stateOf(one)).toEqual({ ...PAID, elsewhere: 0 });
  expect([held - (await heldBy(one.provider.did, LAB)), (await balanceOf(PAYER, LAB)) - payer]).toEqual([AWARD, AWARD]);
});
