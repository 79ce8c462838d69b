// The money of disputes on a real chain (DSP-12, DSP-15): the reserve, awards in parts, an award that the database has lost, and refunds that the
// provider pays itself, in time or late.
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import { endDisputeDays } from "../../src/disputes/deadlines.ts";
import { startJobs } from "../../src/jobs/start.ts";
import { facilitated, pairOf } from "../facilitation/support.ts";
import { follow, heldBy, refundOf, releaseSurplus } from "../follower/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { isWhole } from "../support/scale.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import { reserveOf, THRESHOLD } from "../vaults/support.ts";
import {
  act,
  arbitrated,
  countsOf,
  disputed,
  endDays,
  escrowOf,
  eventsAbout,
  file,
  keepReserve,
  pass,
  payOut,
  read,
  resolve,
} from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const operationOf = async (kind: string, subject: string) =>
  (await rows("select * from chain_operations where kind = ? and subject = ?", kind, subject))[0];

describe("the reserve", () => {
  it("is set in the contract while a dispute is open, and cannot be released", async () => {
    const pair = await pairOf(world);
    await facilitated(world, pair, "100.00");
    const one = await disputed(world, { pair, amount: "5.00" });
    expect(await operationOf("reserve", pair.provider.did)).toMatchObject({ status: "waiting" });
    expect(await keepReserve(world, pair.provider.did)).toBe(true);
    expect(await reserveOf(pair.provider.did)).toBe(5_000_000);
    expect(await operationOf("reserve", pair.provider.did)).toMatchObject({
      status: "done",
      wanted: '{"reserve":"5000000"}',
    });
    await deposit(pair.provider.did, 20_000_000);
    await releaseSurplus(pair.provider.did);
    expect(await heldBy(pair.provider.did)).toBe(THRESHOLD + 5_000_000);
    expectStatus(await act(world, one.consumer, one.id, "withdraw"), 200);
    await keepReserve(world, pair.provider.did);
    expect(await reserveOf(pair.provider.did)).toBe(0);
  });

  it("constrains a provider whose vault holds less than is disputed, until a deposit covers it", async () => {
    const pair = await pairOf(world);
    const one = await disputed(world, { pair, amount: "10.00" });
    expect((await escrowOf(pair.provider.did)).state).toBe("CONSTRAINED");
    const order = {
      consumer_did: pair.consumer.did,
      provider_did: pair.provider.did,
      amount: "1.00",
      currency: "USDC",
    };
    const refused = await world.as(pair.consumer, "POST", "/v1/payment-intents", order);
    expect([refused.status, refused.body.code]).toEqual([409, "escrow_constrained"]);
    await deposit(pair.provider.did, 10_000_000);
    await follow(world);
    expect((await escrowOf(pair.provider.did)).state).toBe("FUNDING");
    expectStatus(await world.as(pair.consumer, "POST", "/v1/payment-intents", order), 201);
    const status = expectStatus(await world.call("GET", `/v1/agents/${pair.provider.did}/status`, { key: null }), 200);
    expect([status.status, status.escrow_state]).toEqual(["ACTIVE", "FUNDING"]);
    expect((await read(world, one.consumer, one.id)).status).toBe("pre_arbitration");
  });
});

describe("an award", () => {
  it("takes the whole vault, and the rest from later contributions", async () => {
    const pair = await pairOf(world);
    const one = await disputed(world, { pair, amount: "10.00" });
    await arbitrated(world, one);
    expectStatus(await resolve(world, one.id, { resolution: "partially_upheld", refund_amount: "4" }), 200);
    const held = await heldBy(pair.provider.did);
    await payOut(world, one.id);
    const paid = await read(world, one.consumer, one.id);
    expect([paid.refund_status, Number(paid.paid_from_vault) * 1e6]).toEqual(["owed", held]);
    expect(await heldBy(pair.provider.did)).toBe(0);
    // Only the refund is reserved. The bounty of one unit is paid with it if the vault holds both.
    expect((await escrowOf(pair.provider.did)).owed).toBe(4_000_000 - held);
    await deposit(pair.provider.did, 20_000_000);
    await rows("update chain_operations set next_check_at = 1 where kind = 'payout' and subject = ?", one.id);
    await payOut(world, one.id);
    expect(await read(world, one.consumer, one.id)).toMatchObject({
      refund_status: "paid",
      paid_from_vault: "5.00",
      bounty_paid: "1.00",
      bounty_outstanding: "0.00",
    });
    expect(await heldBy(pair.provider.did)).toBe(20_000_000 - (5_000_000 - held));
    expect((await escrowOf(pair.provider.did)).owed).toBe(0);
    await keepReserve(world, pair.provider.did);
    expect(await reserveOf(pair.provider.did)).toBe(0);
    // The follower books the payouts by their settlement.
    await follow(world);
    expect(
      await rows("select sum(amount) as sum from ledger_lines where kind = 'payout' and did = ?", pair.provider.did),
    ).toEqual([{ sum: -5_000_000 }]);
  });

  it("is paid when its refund is, and a bounty that the vault could not pay reserves nothing", async () => {
    const pair = await pairOf(world);
    const one = await disputed(world, { pair, amount: "10.00" });
    await arbitrated(world, one);
    expect(await heldBy(pair.provider.did)).toBe(999_500);
    expectStatus(await resolve(world, one.id, { resolution: "partially_upheld", refund_amount: "0.9995" }), 200);
    expect((await escrowOf(pair.provider.did)).owed).toBe(999_500);
    await payOut(world, one.id);
    const paid = {
      refund_status: "paid",
      paid_from_vault: "0.9995",
      bounty_paid: "0.00",
      bounty_outstanding: "1.00",
    };
    expect(await read(world, one.consumer, one.id)).toMatchObject(paid);
    expect((await escrowOf(pair.provider.did)).owed).toBe(0);
    await keepReserve(world, pair.provider.did);
    expect(await reserveOf(pair.provider.did)).toBe(0);
    await deposit(pair.provider.did, 20_000_000);
    await rows("update chain_operations set next_check_at = 1 where kind = 'payout' and subject = ?", one.id);
    await payOut(world, one.id);
    expect(await heldBy(pair.provider.did)).toBe(20_000_000);
    expect(await read(world, one.consumer, one.id)).toMatchObject(paid);
  });

  it("takes its bounty from the part that no other refund needs", async () => {
    const pair = await pairOf(world);
    const bought = [await facilitated(world, pair, "10.00"), await facilitated(world, pair, "10.00")];
    const filed = await Promise.all(
      bought.map(async (each) => ({ ...each, id: expectStatus(await file(world, each), 201).dispute_id })),
    );
    const [one, other] = filed;
    if (!one || !other) throw new Error("unreachable: two disputes");
    for (const each of filed) await arbitrated(world, each);
    expect(await heldBy(pair.provider.did)).toBe(1_999_000);
    expectStatus(await resolve(world, one.id, { resolution: "partially_upheld", refund_amount: "0.50" }), 200);
    expectStatus(await resolve(world, other.id, { resolution: "partially_upheld", refund_amount: "1.20" }), 200);
    for (const { id } of [one, other]) await payOut(world, id);
    expect(await read(world, one.consumer, one.id)).toMatchObject({
      refund_status: "paid",
      paid_from_vault: "0.799",
      bounty_paid: "0.299",
      bounty_outstanding: "0.701",
    });
    expect(await read(world, other.consumer, other.id)).toMatchObject({
      refund_status: "paid",
      paid_from_vault: "1.20",
      bounty_outstanding: "1.00",
    });
    expect(await heldBy(pair.provider.did)).toBe(0);
  });

  it("is found by the contract's events if the database has lost it", async () => {
    const pair = await pairOf(world);
    const one = await disputed(world, { pair, amount: "10.00" });
    await arbitrated(world, one);
    await deposit(pair.provider.did, 20_000_000);
    expectStatus(await resolve(world, one.id, { resolution: "partially_upheld", refund_amount: "4" }), 200);
    const [dispute] = await rows("select * from disputes where dispute_id = ?", one.id);
    const operation = await operationOf("payout", one.id);
    const [escrow] = await rows("select * from escrows where did = ?", pair.provider.did);
    await payOut(world, one.id);
    const held = await heldBy(pair.provider.did);
    // Restores the database as it was before the payout, with another part begun.
    await rows(
      "update disputes set refund_status = ?, paid_out = ?, owed = ?, bounty_paid = ? where dispute_id = ?",
      ...[dispute?.refund_status, dispute?.paid_out, dispute?.owed, dispute?.bounty_paid, one.id],
    );
    await rows("update escrows set owed = ? where did = ?", escrow?.owed, pair.provider.did);
    await rows(
      "update chain_operations set wanted = ?, status = ?, next_check_at = 1 where kind = 'payout' and subject = ?",
      ...['{"before":"0","amount":"3000000"}', operation?.status, one.id],
    );
    await follow(world);
    await payOut(world, one.id);
    await payOut(world, one.id);
    expect(await read(world, one.consumer, one.id)).toMatchObject({ refund_status: "paid", paid_from_vault: "5.00" });
    expect(await heldBy(pair.provider.did)).toBe(held);
    expect((await escrowOf(pair.provider.did)).owed).toBe(0);
  });

  it("is paid once by several runs at once", async () => {
    const pair = await pairOf(world);
    const one = await disputed(world, { pair, amount: "10.00" });
    await arbitrated(world, one);
    await deposit(pair.provider.did, 20_000_000);
    const before = await heldBy(pair.provider.did);
    expectStatus(await resolve(world, one.id, { resolution: "upheld" }), 200);
    await Promise.all(Array.from({ length: isWhole() ? 20 : 5 }, () => payOut(world, one.id)));
    await payOut(world, one.id);
    expect(await heldBy(pair.provider.did)).toBe(before - 10_000_000);
    expect(await read(world, one.consumer, one.id)).toMatchObject({
      refund_status: "paid",
      bounty_outstanding: "1.00",
    });
  });
});

describe("a refund that the provider pays itself", () => {
  it("makes its dispute due when it is booked, and not overdue", async () => {
    const one = await disputed(world);
    expectStatus(await act(world, one.provider, one.id, "concede"), 200);
    await refundOf(one.fac.transaction_id, 10_000_000);
    const begun = Date.now();
    await follow(world);
    await startJobs(world.deps, [endDisputeDays]);
    const [run] = await rows("select found, oldest_due_at from jobs where name = ?", endDisputeDays.name);
    expect(run?.found).toBe(1);
    expect(run?.oldest_due_at).toBeGreaterThanOrEqual(begun);
    expect(await rows("select message from alerts where kind = 'job_lag'")).toEqual([]);
  });

  it("is paid when the contract's events sum up to it", async () => {
    const one = await disputed(world);
    expectStatus(await act(world, one.provider, one.id, "concede"), 200);
    await refundOf(one.fac.transaction_id, 4_000_000);
    await follow(world);
    await endDays(world);
    expect((await read(world, one.consumer, one.id)).refund_status).toBe("owed");
    await refundOf(one.fac.transaction_id, 6_000_000);
    await follow(world);
    await endDays(world);
    expect(await read(world, one.consumer, one.id)).toMatchObject({
      status: "resolved",
      refund_status: "paid",
      refund_due: null,
    });
    expect(await eventsAbout(one.id)).toEqual(["dispute.filed", "dispute.resolved", "dispute.updated"]);
    await endDays(world);
    expect(await eventsAbout(one.id)).toHaveLength(3);
  });

  it("that does not come in seven days brings the dispute to the arbiter, whose award counts what was paid", async () => {
    const one = await disputed(world);
    expectStatus(await act(world, one.provider, one.id, "concede"), 200);
    expect(await countsOf(one.provider.did)).toEqual({ open: 0, won: 0, lost: 1 });
    await refundOf(one.fac.transaction_id, 4_000_000);
    await follow(world);
    await pass(one.id, 7);
    await rows(
      "update chain_operations set status = 'failed', reason = 'unpaid', next_check_at = null where kind = 'refund' and status = 'waiting'",
    );
    await endDays(world);
    expect(await read(world, one.consumer, one.id)).toMatchObject({
      status: "arbitration",
      resolution: null,
      refund_status: "outstanding",
      resolved_at: null,
    });
    expect(await countsOf(one.provider.did)).toEqual({ open: 1, won: 0, lost: 0 });
    expect(await escrowOf(one.provider.did)).toMatchObject({ disputed: 10_000_000, state: "CONSTRAINED" });
    await deposit(one.provider.did, 20_000_000);
    const before = await heldBy(one.provider.did);
    expectStatus(await resolve(world, one.id, { resolution: "upheld" }), 200);
    expect((await escrowOf(one.provider.did)).owed).toBe(6_000_000);
    await payOut(world, one.id);
    expect(await heldBy(one.provider.did)).toBe(before - 6_000_000);
    expect(await read(world, one.consumer, one.id)).toMatchObject({ refund_status: "paid", paid_from_vault: "6.00" });
    const [task] = await rows("select * from tasks where task_id = ?", one.task);
    expect(task).toMatchObject({ status: "confirmed", outcome: "rejected", verdict: "upheld" });
  });

  it("is not overdue before the chain is read to its deadline", async () => {
    const one = await disputed(world);
    expectStatus(await act(world, one.provider, one.id, "concede"), 200);
    await pass(one.id, 7);
    await endDays(world);
    expect(await read(world, one.consumer, one.id)).toMatchObject({ status: "resolved", refund_status: "owed" });
    const [{ due_at: again } = {}] = await rows("select due_at from disputes where dispute_id = ?", one.id);
    expect(again).toBeGreaterThan(world.now() - DAY_MS);
  });
});
