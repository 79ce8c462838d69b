// Deadlines of disputes are recorded exactly and once (DSP-5, DSP-7, DSP-12), also on a sandbox clock that was moved (ACC-28), and concurrent filings
// or awards make one.
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import { endDisputeDays } from "../../src/disputes/deadlines.ts";
import { facilitated, pairOf } from "../facilitation/support.ts";
import { bookedOf, follow, heldBy, livePair, refundOf } from "../follower/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { advanced, DAY_S, HOUR_S } from "../sandbox/support.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import {
  act,
  arbitrated,
  byOperator,
  disputed,
  endDays,
  escrowOf,
  eventsAbout,
  file,
  paidOutOf,
  pass,
  payOut,
  read,
  resolve,
} from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const rowOf = async (id: string) => (await rows("select * from disputes where dispute_id = ?", id))[0];
const taskOf = async (id: string) => (await rows("select * from tasks where task_id = ?", id))[0];

describe("the parties' days", () => {
  it("end at their deadline, whether or not a job has recorded it, and are recorded once", async () => {
    const one = await disputed(world);
    await rows(
      "update disputes set answers_until = ?, due_at = ? where dispute_id = ?",
      world.now() + 60_000,
      world.now() + 60_000,
      one.id,
    );
    expect((await read(world, one.consumer, one.id)).status).toBe("pre_arbitration");
    await endDays(world);
    expect((await rowOf(one.id))?.status).toBe("pre_arbitration");
    const until = world.now();
    await rows("update disputes set answers_until = ?, due_at = ? where dispute_id = ?", until, until, one.id);
    const shown = await read(world, one.consumer, one.id);
    expect(shown).toMatchObject({
      status: "arbitration",
      escalated_at: new Date(until).toISOString(),
      arbitration_due: new Date(until + 14 * DAY_MS).toISOString(),
    });
    await Promise.all([endDays(world), endDays(world)]);
    expect(await rowOf(one.id)).toMatchObject({
      status: "arbitration",
      arbitration_at: until,
      due_at: until + 14 * DAY_MS,
    });
    expect(await read(world, one.consumer, one.id)).toEqual(shown);
    expect(await eventsAbout(one.id)).toEqual(["dispute.filed", "dispute.updated"]);
  });

  it("an arbiter of a production dispute who is late raises one alert, and may still decide", async () => {
    const one = await disputed(world, { pair: await livePair(world) });
    await arbitrated(world, one);
    await pass(one.id, 14);
    await endDays(world);
    await endDays(world);
    const { data } = expectStatus(await byOperator(world, "GET", "/v1/operator/alerts"), 200);
    const late = data.filter(
      ({ kind, subject }: { kind: string; subject: string }) => kind === "arbitration" && subject.includes(one.id),
    );
    expect(late).toHaveLength(1);
    expectStatus(await resolve(world, one.id, { resolution: "rejected" }), 200);
  });
});

describe("on a sandbox's clock", () => {
  it("an advance ends the parties' days, the arbiter's days and overdue refunds, but changes no other platform's dispute", async () => {
    const moved = await createWorld();
    const one = await disputed(moved);
    const conceded = await disputed(moved);
    expectStatus(await act(moved, conceded.provider, conceded.id, "concede"), 200);
    const paid = await disputed(moved);
    expectStatus(await act(moved, paid.provider, paid.id, "concede"), 200);
    await refundOf(paid.fac.transaction_id, 10_000_000);
    const withdrawn = await disputed(moved);
    expectStatus(await act(moved, withdrawn.consumer, withdrawn.id, "withdraw"), 200);
    const others = await disputed(world);
    await advanced(moved, 7 * DAY_S - HOUR_S);
    expect((await rowOf(one.id))?.status).toBe("pre_arbitration");
    // The dispute was withdrawn, and the rest of the task's window is over.
    expect(await taskOf(withdrawn.task)).toMatchObject({ status: "auto_confirmed" });
    await advanced(moved, 2 * HOUR_S);
    expect((await rowOf(one.id))?.status).toBe("arbitration");
    expect(await rowOf(conceded.id)).toMatchObject({ status: "arbitration", refund_status: "outstanding" });
    expect(await rowOf(paid.id)).toMatchObject({ status: "resolved", refund_status: "paid" });
    await advanced(moved, 15 * DAY_S);
    expect((await rowOf(one.id))?.due_at).toBeNull();
    expect(await rowOf(others.id)).toMatchObject({ status: "pre_arbitration" });
    expect((await read(world, others.consumer, others.id)).status).toBe("pre_arbitration");
    // One advance over all deadlines has the same result.
    const both = await disputed(moved);
    await advanced(moved, 22 * DAY_S);
    expect(await rowOf(both.id)).toMatchObject({ status: "arbitration", due_at: null });
  });
});

describe("on a sandbox's clock that was moved before", () => {
  it("a refund is not overdue until the chain is read to its deadline", async () => {
    const moved = await createWorld();
    await advanced(moved, HOUR_S);
    const one = await disputed(moved);
    expectStatus(await act(moved, one.provider, one.id, "concede"), 200);
    await pass(one.id, 7);
    const [{ read_through: read } = {}] = await rows(
      "select read_through from followers where network = 'base-sepolia'",
    );
    const readTo = (instant: number) =>
      rows("update followers set read_through = ? where network = 'base-sepolia'", instant);
    await readTo(Date.now() - DAY_MS);
    await moved.run(endDisputeDays);
    expect(await rowOf(one.id)).toMatchObject({ status: "resolved", refund_status: "owed" });
    await readTo(Math.max(read, Date.now()));
    await rows("update disputes set due_at = 1 where dispute_id = ?", one.id);
    await moved.run(endDisputeDays);
    expect(await rowOf(one.id)).toMatchObject({ status: "arbitration", refund_status: "outstanding" });
  });
});

describe("races", () => {
  it("fifty filings at once make one dispute", async () => {
    const bought = await facilitated(world);
    const replies = await Promise.all(Array.from({ length: 50 }, () => file(world, bought)));
    const codes = replies.map(({ status, body }) => (status === 201 ? 201 : body.code));
    expect(codes.filter((code) => code === 201)).toHaveLength(1);
    expect(new Set(codes)).toEqual(new Set([201, "dispute_exists"]));
    expect(
      await rows("select dispute_id from disputes where transaction_id = ?", bought.fac.transaction_id),
    ).toHaveLength(1);
    expect((await escrowOf(bought.provider.did)).disputed).toBe(10_000_000);
  });

  it("twenty awards at once make one, and the chain pays it once", async () => {
    const pair = await pairOf(world);
    const one = await disputed(world, { pair });
    await arbitrated(world, one);
    await deposit(pair.provider.did, 20_000_000);
    const before = await heldBy(pair.provider.did);
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => resolve(world, one.id, { resolution: "upheld" })),
    );
    const refused = replies.filter(({ status }) => status !== 200);
    expect(new Set(refused.map(({ body }) => `${body.code} ${body.detail.status}`))).toEqual(
      new Set(["invalid_status resolved"]),
    );
    expect(refused).toHaveLength(19);
    expect((await eventsAbout(one.id)).filter((type) => type === "dispute.resolved")).toHaveLength(1);
    expect(await rows("select dispute_id from dispute_awards where dispute_id = ?", one.id)).toHaveLength(1);
    // Each of the twenty calls, and the minute's job, may have sent a queue message.
    expect(await Promise.all(Array.from({ length: 5 }, () => payOut(world, one.id)))).not.toContain(false);
    expect(await payOut(world, one.id)).toBe(true);
    expect(await paidOutOf(pair.provider.did)).toEqual([10_000_000]);
    expect(await heldBy(pair.provider.did)).toBe(before - 10_000_000);
    expect(await escrowOf(pair.provider.did)).toMatchObject({ disputed: 0, owed: 0 });
    expect(await rowOf(one.id)).toMatchObject({ refund_status: "paid", paid_out: 10_000_000, owed: 0 });
    await follow(world);
    const booked = await bookedOf(pair.provider.did);
    expect(booked.filter(([kind]) => kind === "payout")).toEqual([["payout", -10_000_000, before - 10_000_000]]);
  });
});
