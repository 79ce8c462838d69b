// An award of a settlement whose `refundTo` was turned to another address (CHN-25, DSP-12): it is paid there, once the follower has booked it, and where
// a reorganisation takes that away it is paid to the address of the payment.
import { encodeFunctionData } from "viem/utils";
import { beforeAll, expect, it } from "vitest";
import { tokenAbi } from "../../src/chain/contracts/abi.ts";
import { follow, moveRefundTo } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { account, chainOf, rpc } from "../support/chain.ts";
import { type Agent, createWorld, expectStatus, type World } from "../support/world.ts";
import { arbitrated, disputed, payOut, read, resolve, richProvider } from "./support.ts";

/** Refund and bounty. */
const AWARD = 5_000_000;
const ELSEWHERE = `0x${"e15e".padStart(40, "0")}`;

async function balanceOf(address: string): Promise<number> {
  const args = [address as `0x${string}`] as const;
  const data = encodeFunctionData({ abi: tokenAbi, functionName: "balanceOf", args });
  return Number(await rpc<string>("base-sepolia", "eth_call", [{ to: chainOf("base-sepolia").token, data }, "latest"]));
}

let world: World;
let provider: Agent;
beforeAll(async () => {
  world = await createWorld();
  provider = await richProvider(world);
});

async function decided() {
  const one = await disputed(world, { pair: { provider, consumer: await world.consumer() } });
  await arbitrated(world, one);
  expectStatus(await resolve(world, one.id, { resolution: "partially_upheld", refund_amount: "4" }), 200);
  return one;
}

it("goes to the new address once it is booked, and nowhere before", async () => {
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

it("goes to the address of the payment where another one is booked that the contract does not have", async () => {
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
