// An award whose settlement got another `refundTo` (CHN-25, DSP-12) is paid to the new address once the follower has booked it, and to the address of
// the payment if a reorg removes the new one.
import { beforeAll, expect, it } from "vitest";
import { balanceOf, follow, followOnce, moveRefundTo, turnRefundTo } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { account, rpc } from "../support/chain.ts";
import { cutsOf, killAtEveryStep, momentsOfMany, namesOf } from "../support/cuts.ts";
import { type Agent, createWorld, expectStatus, type World } from "../support/world.ts";
import {
  arbitrated,
  disputed,
  keepReserve,
  paidOutOf,
  payOut,
  read,
  resolve,
  richProvider,
  workMinute,
} from "./support.ts";

/** The refund and the bounty. */
const AWARD = 5_000_000;
const ELSEWHERE = `0x${"e15e".padStart(40, "0")}`;

let world: World;
let provider: Agent;
beforeAll(async () => {
  world = await createWorld();
  provider = await richProvider(world);
});

/** Each address names the next one. */
async function moveInOneBlock(transactionId: string, payer: string, to: readonly string[]): Promise<void> {
  const network = "base-sepolia";
  await rpc(network, "evm_setAutomine", [false]);
  try {
    for (const [n, next] of to.entries()) {
      await rpc(network, "anvil_impersonateAccount", [next]);
      await rpc(network, "anvil_setBalance", [next, "0xde0b6b3a7640000"]);
      await turnRefundTo(transactionId, { from: to[n - 1] ?? payer, to: next });
    }
    await rpc(network, "anvil_mine", ["0x1"]);
  } finally {
    await rpc(network, "evm_setAutomine", [true]);
  }
}

async function decided() {
  const one = await disputed(world, { pair: { provider, consumer: await world.consumer() } });
  await arbitrated(world, one);
  expectStatus(await resolve(world, one.id, { resolution: "partially_upheld", refund_amount: "4" }), 200);
  return one;
}

it("an award goes to the new address once that is booked, and nowhere before", async () => {
  const one = await decided();
  await moveRefundTo(one.fac.transaction_id, ELSEWHERE);
  const before = await balanceOf(ELSEWHERE);
  expect(await payOut(world, one.id)).toBe(true);
  expect(await read(world, one.consumer, one.id)).toMatchObject({ refund_status: "owed", paid_from_vault: "0.00" });
  await follow(world);
  const booked = await rows(
    "select refund_to from refund_addresses where settlement_key = (select settlement_key from disputes where dispute_id = ?)",
    one.id,
  );
  expect(booked).toEqual([{ refund_to: ELSEWHERE }]);
  expect(await payOut(world, one.id)).toBe(true);
  await follow(world);
  expect(await read(world, one.consumer, one.id)).toMatchObject({ refund_status: "paid", paid_from_vault: "5.00" });
  expect((await balanceOf(ELSEWHERE)) - before).toBe(AWARD);
});

it("an award goes to the last of eleven addresses that were named in one block", async () => {
  const one = await decided();
  const [row] = await rows("select * from transactions where transaction_id = ?", one.fac.transaction_id);
  const to = Array.from({ length: 11 }, (_, n) => `0x${(0xa77ae + n).toString(16).padStart(40, "0")}`);
  const last = to.at(-1) as string;
  const before = await balanceOf(last);
  await moveInOneBlock(one.fac.transaction_id, row.refund_to || row.payer, to);
  await follow(world);
  const booked = await rows("select refund_to from refund_addresses where settlement_key = ?", row.settlement_key);
  expect(booked).toEqual([{ refund_to: last }]);
  expect(await payOut(world, one.id)).toBe(true);
  await follow(world);
  expect(await read(world, one.consumer, one.id)).toMatchObject({ refund_status: "paid", paid_from_vault: "5.00" });
  expect((await balanceOf(last)) - before).toBe(AWARD);
});

it("an award goes to the address of the payment if the booked address is not the contract's", async () => {
  const one = await decided();
  await rows(
    `insert into refund_addresses select network, block_number, tx_hash, log_index + 9, contract, settlement_key, ?
      from transactions where transaction_id = ?`,
    ELSEWHERE,
    one.fac.transaction_id,
  );
  const before = await balanceOf(account(9));
  expect(await payOut(world, one.id)).toBe(true);
  await follow(world);
  expect(await read(world, one.consumer, one.id)).toMatchObject({ refund_status: "paid", paid_from_vault: "5.00" });
  expect((await balanceOf(account(9))) - before).toBe(AWARD);
});

it("an award is paid once to the new address if the isolate dies at any step of the booking and the payout", async () => {
  const cuts = await killAtEveryStep(
    async () => {
      const one = await decided();
      await moveRefundTo(one.fac.transaction_id, ELSEWHERE);
      const [elsewhere, payer] = [await balanceOf(ELSEWHERE), await balanceOf(account(9))];
      return { ...one, world, elsewhere, payer, paid: (await paidOutOf(provider.did)).length };
    },
    async (dying, { id }) => {
      // Before the address is booked, and after it.
      expect(await payOut(dying, id)).toBe(true);
      expect(await followOnce(dying)).toBe(true);
      expect(await payOut(dying, id)).toBe(true);
      expect(await keepReserve(dying, provider.did)).toBe(true);
    },
    async ({ id, consumer, ...before }, cut) => {
      await follow(world);
      for (const _ of [1, 2]) await workMinute(world, id, provider.did);
      await follow(world);
      const left = {
        dispute: await read(world, consumer, id),
        paid: (await paidOutOf(provider.did)).slice(before.paid),
        got: [(await balanceOf(ELSEWHERE)) - before.elsewhere, (await balanceOf(account(9))) - before.payer],
      };
      expect([cut, left]).toMatchObject([
        cut,
        { dispute: { refund_status: "paid", paid_from_vault: "5.00" }, paid: [AWARD], got: [AWARD, 0] },
      ]);
    },
    momentsOfMany(),
  );
  expect(namesOf(cuts)).toEqual(
    cutsOf(
      [
        // The part that waits for the address, the booking, and the part again.
        ...Array.from({ length: 16 }, () => "DB.batch"),
        ...["CHAIN_SIGNER.address", "CHAIN_SIGNER.submit", "DB.batch", "OUTBOX_QUEUE.send", "CHAIN_QUEUE.send"],
        // The contract reserves nothing.
        ...["DB.batch", "CHAIN_SIGNER.withdraw", "DB.batch"],
      ],
      momentsOfMany(),
    ),
  );
});
