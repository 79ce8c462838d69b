// A provider's refund is booked under its settlement (CHN-25). The effects of reorgs on it are in reorganised.test.ts.
import { beforeAll, describe, expect, it } from "vitest";
import type { SettlementRef } from "../../src/chain/store.ts";
import { readBatch } from "../../src/db/batch.ts";
import { findRefundedAmount } from "../../src/escrow/refund-store.ts";
import { facilitated, pairOf } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { createWorld, type World } from "../support/world.ts";
import { bookedOf, follow, refundOf, settlementOf } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const refunded = async (settlement: SettlementRef): Promise<number> =>
  (await readBatch(world.deps.db, { sum: findRefundedAmount(world.deps.db, settlement) })).sum;

describe("a refund", () => {
  it("is booked once, adds up with others of its settlement, and moves no vault", async () => {
    const { fac, provider } = await facilitated(world);
    await follow(world);
    const before = await bookedOf(provider.did);
    const settlement = await settlementOf(fac.transaction_id);
    expect(await refunded(settlement)).toBe(0);
    await refundOf(fac.transaction_id, 400_000);
    await follow(world);
    await follow(world);
    expect(await refunded(settlement)).toBe(400_000);
    await refundOf(fac.transaction_id, 1);
    await refundOf(fac.transaction_id, 2);
    await follow(world);
    expect(await refunded(settlement)).toBe(400_003);
    expect(await bookedOf(provider.did)).toEqual(before);
    const booked = await rows("select payer, amount from refunds where settlement_key = ?", settlement.settlementKey);
    expect(booked.map(({ amount }) => amount).sort()).toEqual([1, 2, 400_000]);
    // Another settlement has no refunds.
    const other = await facilitated(world, await pairOf(world));
    expect(await refunded(await settlementOf(other.fac.transaction_id))).toBe(0);
  });
});
