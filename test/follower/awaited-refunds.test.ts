// An awaited refund is a chain operation of its settlement (CHN-27). The effects of reorgs on it are in reorganised.test.ts.
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { SettlementRef } from "../../src/chain/store.ts";
import { commit, readBatch } from "../../src/db/batch.ts";
import { findRefundedAmount, insertRefunds } from "../../src/escrow/refund-store.ts";
import { bookRefunds, failUnpaidRefunds } from "../../src/follower/refunds.ts";
import { watchRegistrations } from "../../src/markets/watch.ts";
import { facilitated } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { account } from "../support/chain.ts";
import { createWorld, type World } from "../support/world.ts";
import { awaitedOf, expectRefund, follow, headTime, mineBehind, refundOf, settlementOf } from "./support.ts";

const NETWORK = "base-sepolia";
const WALLET = account(8);
const CONCEDED = 400_000;
const HOUR = 3_600_000;

let world: World;
let id: string;
let settlement: SettlementRef;
beforeAll(async () => {
  world = await createWorld();
});
beforeEach(async () => {
  await rows("delete from chain_operations where kind = 'refund'");
  ({
    fac: { transaction_id: id },
  } = await facilitated(world));
  settlement = await settlementOf(id);
  await follow(world);
});

const awaited = () => awaitedOf(settlement);
const fail = () => world.run(failUnpaidRefunds);
const DONE = { status: "done", reason: null, next_check_at: null };
const FAILED = { status: "failed", reason: "unpaid", next_check_at: null, tx_hash: null };

describe("an awaited refund", () => {
  it("is done when the provider pays it in one payment from its own wallet", async () => {
    const until = Date.now() + HOUR;
    await expectRefund(world, settlement, CONCEDED, until);
    await follow(world);
    expect(await awaited()).toEqual({ status: "waiting", reason: null, tx_hash: null, next_check_at: until });
    const tx = await refundOf(id, CONCEDED, NETWORK, WALLET);
    expect((await awaited()).status).toBe("waiting");
    await follow(world);
    expect(await awaited()).toEqual({ ...DONE, tx_hash: tx });
  });

  it("is done when the parts that the provider and a stranger pay add up to the amount", async () => {
    await expectRefund(world, settlement, CONCEDED);
    await refundOf(id, CONCEDED - 1, NETWORK, WALLET);
    await follow(world);
    expect(await awaited()).toMatchObject({ status: "waiting", tx_hash: null });
    const tx = await refundOf(id, 1);
    await follow(world);
    expect(await awaited()).toEqual({ ...DONE, tx_hash: tx });
  });

  it("is done at once if it was paid before", async () => {
    const tx = await refundOf(id, CONCEDED);
    await follow(world);
    await expectRefund(world, settlement, CONCEDED);
    expect(await awaited()).toEqual({ ...DONE, tx_hash: tx });
    await follow(world);
    expect(await fail()).toBe(0);
    expect(await awaited()).toEqual({ ...DONE, tx_hash: tx });
  });

  it("counts what was paid before towards the amount", async () => {
    await refundOf(id, CONCEDED - 1);
    await follow(world);
    await expectRefund(world, settlement, CONCEDED);
    expect((await awaited()).status).toBe("waiting");
    await refundOf(id, 1);
    await follow(world);
    expect((await awaited()).status).toBe("done");
  });

  it("waits again if another amount is awaited", async () => {
    await refundOf(id, CONCEDED);
    await follow(world);
    await expectRefund(world, settlement, CONCEDED);
    await expectRefund(world, settlement, CONCEDED + 1);
    expect(await awaited()).toMatchObject({ status: "waiting", tx_hash: null });
    await expectRefund(world, settlement, CONCEDED);
    expect((await awaited()).status).toBe("done");
  });

  it("is not paid by refunds for the same key in another edition of the contract", async () => {
    await expectRefund(world, { ...settlement, contract: account(7).toLowerCase() }, CONCEDED);
    await refundOf(id, CONCEDED);
    await follow(world);
    expect((await awaited()).status).toBe("waiting");
  });

  it("is left alone by the job that watches registrations", async () => {
    await expectRefund(world, settlement, CONCEDED, Date.now() - HOUR);
    const before = await rows("select * from chain_operations where kind = 'refund'");
    await world.run(watchRegistrations);
    expect(await rows("select * from chain_operations where kind = 'refund'")).toEqual(before);
  });
});

describe("the deadline of an awaited refund", () => {
  it("fails a refund of which too little was paid, and later payments change nothing", async () => {
    await refundOf(id, CONCEDED - 1);
    const until = await headTime();
    await expectRefund(world, settlement, CONCEDED, until);
    await mineBehind(until);
    await refundOf(id, 1);
    await follow(world);
    expect((await awaited()).status).toBe("waiting");
    expect(await fail()).toBe(1);
    expect(await awaited()).toEqual(FAILED);
    expect(await fail()).toBe(0);
    await follow(world);
    expect(await awaited()).toEqual(FAILED);
    // A later deadline changes this.
    await expectRefund(world, settlement, CONCEDED, Date.now() + HOUR);
    expect((await awaited()).status).toBe("done");
  });

  it("is the instant of the last block that counts", async () => {
    await refundOf(id, CONCEDED);
    const paidAt = await headTime();
    await expectRefund(world, settlement, CONCEDED, paidAt);
    await mineBehind(paidAt);
    await follow(world);
    await fail();
    expect((await awaited()).status).toBe("done");
    await expectRefund(world, settlement, CONCEDED, paidAt - 1);
    expect((await awaited()).status).toBe("waiting");
    expect(await fail()).toBe(1);
    expect(await awaited()).toEqual(FAILED);
  });

  it("fails nothing that a lagging follower has not read yet, so a refund that was paid is done", async () => {
    await refundOf(id, CONCEDED);
    const until = await headTime();
    await expectRefund(world, settlement, CONCEDED, until);
    await mineBehind(until);
    await rows("update followers set booked_at = ?, read_through = ? where network = ?", until, until, NETWORK);
    expect(await fail()).toBe(0);
    expect((await awaited()).status).toBe("waiting");
    await follow(world);
    expect((await awaited()).status).toBe("done");
    expect(await fail()).toBe(0);
  });

  it("is over when the last booked block is later, or when a stalled chain was read to its head half a minute later", async () => {
    const until = Date.now() - HOUR;
    await expectRefund(world, settlement, CONCEDED, until);
    const place = (bookedAt: number, readThrough: number, behind = 0) =>
      rows(
        "update followers set booked_at = ?, read_through = ?, booked_block = head_block - ? where network = ?",
        ...[bookedAt, readThrough, behind, NETWORK],
      );
    const before = await rows("select booked_block, head_block from followers where network = ?", NETWORK);
    expect(before[0].booked_block).toBe(before[0].head_block);
    for (const [bookedAt, readThrough, behind] of [
      [until, until + 30_000, 0],
      // The newest block that was read lacks confirmations.
      [until, until + HOUR, 1],
    ] as const) {
      await place(bookedAt, readThrough, behind);
      expect(await fail()).toBe(0);
    }
    await place(until, until + 30_001);
    expect(await fail()).toBe(1);
    await expectRefund(world, settlement, CONCEDED, until);
    await place(until + 1, 0, 1);
    expect(await fail()).toBe(1);
    expect(await awaited()).toEqual(FAILED);
    await place(Date.now() - HOUR, 0);
  });

  it("is not over on a network that was never read", async () => {
    const unread = { ...settlement, network: "base" };
    await expectRefund(world, unread, CONCEDED, Date.now() - HOUR);
    expect(await rows("select * from followers where network = 'base'")).toEqual([]);
    expect(await fail()).toBe(0);
    expect((await awaitedOf(unread)).status).toBe("waiting");
  });
});

describe("concurrent runs", () => {
  it("leave one outcome each: two callers, two runs of the follower and two of the job", async () => {
    const [paid, unpaid] = [settlement, await settlementOf((await facilitated(world)).fac.transaction_id)];
    const until = await headTime();
    await Promise.all([1, 2].map(() => expectRefund(world, paid, CONCEDED)));
    await Promise.all([1, 2].map(() => expectRefund(world, unpaid, CONCEDED, until)));
    await refundOf(id, CONCEDED);
    await mineBehind(until);
    await Promise.all([follow(world), follow(world)]);
    const failed = await Promise.all([fail(), fail()]);
    expect(failed[0] + failed[1]).toBe(1);
    expect((await awaitedOf(paid)).status).toBe("done");
    expect(await awaitedOf(unpaid)).toEqual(FAILED);
    const kept = await rows("select count(*) as kept from chain_operations where subject = ?", paid.settlementKey);
    expect(kept).toEqual([{ kept: 1 }]);
    const alerts = await rows("select kind from alerts where kind in ('job_failed', 'chain_reorganised')");
    expect(alerts).toEqual([]);
  });
});

describe("the cost of booking refunds", () => {
  const rowsOf = (count: number, settlementKey: (at: number) => string, contract = "0x02") =>
    Array.from({ length: count }, (_, logIndex) => ({
      ...{ network: NETWORK, blockNumber: 1, txHash: "0x01", logIndex, contract },
      ...{ settlementKey: settlementKey(logIndex), payer: "0x03", amount: 1, minedAt: 1 },
    }));
  const costOf = async (work: () => Promise<unknown>) => {
    world.meter.reset();
    await work();
    const { rowsRead, rowsWritten } = world.meter.reading;
    return { rowsRead, rowsWritten };
  };
  const forget = () => rows("delete from refunds where tx_hash = '0x01'");
  const bookedCost = (refunds: ReturnType<typeof rowsOf>) =>
    costOf(() => commit(world.deps.db, bookRefunds(world.deps.db, { network: NETWORK }, refunds)));

  it("is an index lookup in addition to their own rows if none is awaited", async () => {
    const ten = rowsOf(10, (at) => `0xa${at}`);
    const alone = await costOf(() => commit(world.deps.db, insertRefunds(world.deps.db, ten)));
    await forget();
    for (let other = 0; other < 50; other++)
      await expectRefund(world, { ...settlement, settlementKey: `0xd${other}` }, 1);
    const booked = await bookedCost(ten);
    expect(booked.rowsWritten).toBe(alone.rowsWritten);
    // For each key: its place in the list, and a lookup, both among the awaited refunds and among the disputes.
    expect(booked.rowsRead - alone.rowsRead).toBeLessThanOrEqual(2 * 2 * 10 + 2);
    expect(await rows("select * from chain_operations where subject >= '0xa' and subject < '0xb'")).toEqual([]);
    expect(await bookedCost([])).toEqual({ rowsRead: 0, rowsWritten: 0 });
    await forget();
  });

  it("does not grow with the refunds of the network", async () => {
    const own = { network: NETWORK, contract: "0x02", settlementKey: "0xb0" };
    const one = () => rowsOf(1, () => "0xb0");
    const few = await costOf(() => expectRefund(world, own, 1));
    const fewBooked = await bookedCost(one());
    expect((await awaitedOf(own)).status).toBe("done");
    await forget();
    await commit(
      world.deps.db,
      insertRefunds(
        world.deps.db,
        rowsOf(300, (at) => `0xc${at}`),
      ),
    );
    await rows("delete from chain_operations where subject = '0xb0'");
    const many = await costOf(() => expectRefund(world, own, 1));
    // A lookup may end on a neighbour.
    expect(many.rowsRead - few.rowsRead).toBeLessThanOrEqual(2);
    const last = one().map((row) => ({ ...row, logIndex: 1_000 }));
    const manyBooked = await bookedCost(last);
    expect((await awaitedOf(own)).status).toBe("done");
    expect(manyBooked.rowsRead - fewBooked.rowsRead).toBeLessThanOrEqual(3);
    expect(manyBooked.rowsWritten).toBe(fewBooked.rowsWritten);
    const sum = await costOf(() => readBatch(world.deps.db, { sum: findRefundedAmount(world.deps.db, own) }));
    expect(sum.rowsRead).toBeLessThanOrEqual(2);
    await forget();
  });
});
