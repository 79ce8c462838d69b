// What falls due in a dispute by itself, exactly and once (DSP-5, DSP-7, DSP-12), also on a sandbox's clock that was moved (ACC-28), and what others do at
// the same instant.
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS, HOUR_MS } from "../../src/core/limits.ts";
import { endDisputeDays } from "../../src/disputes/deadlines.ts";
import { autoConfirmTasks } from "../../src/tasks/auto-confirm.ts";
import { confirm, facilitated, pairOf } from "../facilitation/support.ts";
import { refundOf } from "../follower/support.ts";
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
  pass,
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
  it("end at their instant, whether or not a job has recorded it, and are recorded once", async () => {
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

  it("an arbiter that is overdue is told to the operator once, and decides all the same", async () => {
    const one = await disputed(world);
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
  it("an advance ends days, arbiters' time and refunds that did not come; another platform's dispute stays", async () => {
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
    // Withdrawn, and its window is over.
    expect(await taskOf(withdrawn.task)).toMatchObject({ status: "auto_confirmed" });
    await advanced(moved, 2 * HOUR_S);
    expect((await rowOf(one.id))?.status).toBe("arbitration");
    expect(await rowOf(conceded.id)).toMatchObject({ status: "arbitration", refund_status: "outstanding" });
    expect(await rowOf(paid.id)).toMatchObject({ status: "resolved", refund_status: "paid" });
    await advanced(moved, 15 * DAY_S);
    expect((await rowOf(one.id))?.due_at).toBeNull();
    expect(await rowOf(others.id)).toMatchObject({ status: "pre_arbitration" });
    expect((await read(world, others.consumer, others.id)).status).toBe("pre_arbitration");
    // One advance over all of it comes to the same.
    const both = await disputed(moved);
    await advanced(moved, 22 * DAY_S);
    expect(await rowOf(both.id)).toMatchObject({ status: "arbitration", due_at: null });
  });
});

describe("on a sandbox's clock that was moved before", () => {
  it("a refund is not reckoned overdue while the chain is not read to its instant", async () => {
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

describe("at the end of the task's window", () => {
  const endsIn = (task: string, ms: number) =>
    rows(
      "update tasks set confirm_by = ?, opened_at = ? where task_id = ?",
      world.now() + ms,
      world.now() + ms - 72 * HOUR_MS,
      task,
    );

  it("a dispute that comes later leaves the task closed; its verdict replaces the signal", async () => {
    const bought = await facilitated(world);
    await endsIn(bought.task, -1);
    const { dispute_id } = expectStatus(await file(world, bought), 201);
    expect(await taskOf(bought.task)).toMatchObject({ status: "auto_confirmed" });
    expect(await rowOf(dispute_id)).toMatchObject({ held_ms: null });
  });

  it.each([0, 1, 2, 3, 4])("file × auto-confirm × confirm: the task ends in one way (%i)", async () => {
    const bought = await facilitated(world);
    await endsIn(bought.task, 1 + Math.floor(3 * Math.random()));
    const [filed, confirmed] = await Promise.all([
      file(world, bought),
      confirm(world, bought.consumer, bought.task),
      world.run(autoConfirmTasks),
      world.run(autoConfirmTasks),
    ]);
    await world.run(autoConfirmTasks);
    expect([201]).toContain(filed.status);
    const task = await taskOf(bought.task);
    const events = await rows(
      "select type from events where object ->> 'task_id' = ? and type = 'task.closed'",
      bought.task,
    );
    if (task?.status === "disputed") {
      expect([confirmed.body.code, events.length]).toEqual(["invalid_status", 0]);
    } else {
      expect(["confirmed", "auto_confirmed"]).toContain(task?.status);
      expect(events.length).toBe(1);
      expect(confirmed.status === 200).toBe(task?.status === "confirmed");
    }
  });
});

describe("races", () => {
  it("fifty filings are one", async () => {
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

  it("twenty awards are one, and pay once", async () => {
    const pair = await pairOf(world);
    const one = await disputed(world, { pair });
    await arbitrated(world, one);
    await deposit(pair.provider.did, 20_000_000);
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => resolve(world, one.id, { resolution: "upheld" })),
    );
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await eventsAbout(one.id)).filter((type) => type === "dispute.resolved")).toHaveLength(1);
    expect((await escrowOf(pair.provider.did)).owed).toBe(10_000_000);
  });

  it.each([0, 1, 2, 3])("respond × escalate × accept × the deadline end in one way (%i)", async () => {
    const one = await disputed(world);
    expectStatus(await act(world, one.provider, one.id, "respond", { message: "Half.", offer_amount: "5" }), 200);
    const until = world.now() + 2;
    await rows("update disputes set answers_until = ?, due_at = ? where dispute_id = ?", until, until, one.id);
    const replies = await Promise.all([
      act(world, one.provider, one.id, "respond", { message: "More.", offer_amount: "6" }),
      act(world, one.provider, one.id, "escalate"),
      act(world, one.consumer, one.id, "accept"),
      endDays(world),
    ]);
    await endDays(world);
    const row = await rowOf(one.id);
    const [, escalated, accepted] = replies;
    expect(row?.status).toBe(typeof accepted === "object" && accepted.status === 200 ? "resolved" : "arbitration");
    if (row?.status === "resolved") expect([row.refund, row.resolution]).toEqual([row.offer, "settled"]);
    const ends = (await eventsAbout(one.id)).filter((type) => type === "dispute.resolved");
    expect(ends).toHaveLength(row?.status === "resolved" ? 1 : 0);
    if (typeof escalated === "object" && escalated.status === 200) expect(row?.status).toBe("arbitration");
  });
});
