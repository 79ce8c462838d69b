// Each deadline one millisecond before it, at it, and one millisecond after it: the ends of a task's window, of the dispute window, of the parties'
// days and of the arbiter's days (DSP-3, DSP-7, DSP-13, TSK-3, TSK-4).
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import { endDisputeDays } from "../../src/disputes/deadlines.ts";
import { autoConfirmTasks } from "../../src/tasks/confirm.ts";
import { confirm, facilitated, pairOf } from "../facilitation/support.ts";
import { livePair } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { at } from "./instants.ts";
import { act, arbitrated, disputed, eventsAbout, file, filing, PATH, read, resolve, richProvider } from "./support.ts";

let world: World;
let provider: Agent;
beforeAll(async () => {
  world = await createWorld();
  provider = await richProvider(world);
});

const rowOf = async (id: string): Promise<Json> => (await rows("select * from disputes where dispute_id = ?", id))[0];
const taskOf = async (task: string): Promise<Json> => (await rows("select * from tasks where task_id = ?", task))[0];
const iso = (instant: number): string => new Date(instant).toISOString();
const said = ({ status, body }: Reply) => [status, body.code];
const closingsOf = async (task: string): Promise<number> =>
  (await rows("select id from events where type = 'task.closed' and object ->> 'task_id' = ?", task)).length;

describe("the end of a task's window", () => {
  const bought = async () => {
    const purchase = await facilitated(world, await pairOf(world, provider));
    return { ...purchase, end: Date.parse(purchase.fac.confirm_by) };
  };
  /** The columns of a task that has confirmed itself. */
  const ended = (end: number) => ({ status: "auto_confirmed", outcome: "confirmed", score: 1, closed_at: end });

  it.each(["agent", "platform"])("a dispute that the %s files one millisecond before it holds the task", async (by) => {
    const purchase = await bought();
    const then = at(world, purchase.end - 1);
    const filed =
      by === "agent" ? await file(then, purchase) : await then.call("POST", PATH, { body: filing(purchase) });
    const { dispute_id, filed_at, pre_arb_deadline } = expectStatus(filed, 201);
    expect([filed_at, pre_arb_deadline]).toEqual([iso(purchase.end - 1), iso(purchase.end - 1 + 7 * DAY_MS)]);
    expect(await rowOf(dispute_id)).toMatchObject({ held_ms: 1, filed_at: purchase.end - 1 });
    expect(await taskOf(purchase.task)).toMatchObject({ status: "disputed", closed_at: null, outcome: null });
    await at(world, purchase.end + 1).run(autoConfirmTasks);
    expect(await taskOf(purchase.task)).toMatchObject({ status: "disputed" });
    expect(await closingsOf(purchase.task)).toBe(0);
  });

  it.each([0, 1])("a dispute that is filed %i ms after it finds an auto-confirmed task", async (ms) => {
    const purchase = await bought();
    const { dispute_id } = expectStatus(await file(at(world, purchase.end + ms), purchase), 201);
    expect(await rowOf(dispute_id)).toMatchObject({ held_ms: null, filed_at: purchase.end + ms });
    expect(await taskOf(purchase.task)).toMatchObject(ended(purchase.end));
    expect(await closingsOf(purchase.task)).toBe(1);
  });

  it("a confirmation counts one millisecond before it, and is late at it and after it", async () => {
    const inTime = await bought();
    const closed = expectStatus(await confirm(at(world, inTime.end - 1), inTime.consumer, inTime.task), 200);
    expect(closed).toMatchObject({ status: "confirmed", consumer_r_i: 0.9, closed_at: iso(inTime.end - 1) });
    for (const ms of [0, 1]) {
      const { end, consumer, task } = await bought();
      const reply = await confirm(at(world, end + ms), consumer, task, { outcome: "rejected" });
      expect(said(reply)).toEqual([409, "confirmation_window_closed"]);
      expect(await taskOf(task)).toMatchObject(ended(end));
      expect(await closingsOf(task)).toBe(1);
    }
  });

  it.each([0, 1])(
    "the job leaves the task open one millisecond before it, and %i ms after it records the end at its instant",
    async (ms) => {
      const { end, task } = await bought();
      await at(world, end - 1).run(autoConfirmTasks);
      expect(await taskOf(task)).toMatchObject({ status: "open", closed_at: null });
      await at(world, end + ms).run(autoConfirmTasks);
      expect(await taskOf(task)).toMatchObject(ended(end));
    },
  );
});

describe("the end of the dispute window", () => {
  it("a dispute is filed one millisecond before it, and refused at it and after it", async () => {
    const purchase = await facilitated(world, await pairOf(world, provider));
    const [{ dispute_window_closes_at: end } = {}] = await rows(
      "select dispute_window_closes_at from transactions where transaction_id = ?",
      purchase.fac.transaction_id,
    );
    for (const ms of [1, 0]) {
      const late = await file(at(world, end + ms), purchase);
      expect([...said(late), late.body.detail]).toEqual([409, "dispute_window_expired", { closed_at: iso(end) }]);
    }
    expectStatus(await file(at(world, end - 1), purchase), 201);
  });
});

describe("the end of the parties' days", () => {
  /** A dispute with an offer of half the amount. */
  const offered = async () => {
    const one = await disputed(world, { pair: await pairOf(world, provider) });
    expectStatus(await act(world, one.provider, one.id, "respond", { message: "Half.", offer_amount: "5" }), 200);
    return { ...one, end: Date.parse(one.dispute.pre_arb_deadline) };
  };
  const more = { message: "More.", offer_amount: "6" };

  describe.each<[string, "provider" | "consumer", unknown, (end: number) => object]>([
    ["respond", "provider", more, (end) => ({ status: "pre_arbitration", messages: 2, offer: 6_000_000, due_at: end })],
    ["accept", "consumer", undefined, () => ({ status: "resolved", resolution: "settled", refund: 5_000_000 })],
    ["concede", "provider", undefined, () => ({ status: "resolved", resolution: "upheld", refund: 10_000_000 })],
    ["withdraw", "consumer", undefined, () => ({ status: "resolved", resolution: "withdrawn", refund: 0 })],
    ["escalate", "provider", undefined, (end) => ({ status: "arbitration", arbitration_at: end - 1 })],
    ["escalate", "consumer", undefined, (end) => ({ status: "arbitration", due_at: end - 1 + 14 * DAY_MS })],
  ])("%s by the %s", (verb, side, body, done) => {
    it("succeeds one millisecond before it", async () => {
      const one = await offered();
      expectStatus(await act(at(world, one.end - 1), one[side], one.id, verb, body), 200);
      expect(await rowOf(one.id)).toMatchObject(done(one.end));
    });

    it("is refused at it and one millisecond after it, and changes nothing", async () => {
      const one = await offered();
      const before = await rowOf(one.id);
      for (const ms of [0, 1]) {
        const late = await act(at(world, one.end + ms), one[side], one.id, verb, body);
        expect([...said(late), late.body.detail]).toEqual([409, "invalid_status", { status: "arbitration" }]);
      }
      expect(await rowOf(one.id)).toEqual(before);
      expect(await eventsAbout(one.id)).toEqual(["dispute.filed", "dispute.updated"]);
    });
  });

  it("a reading shows the status of its instant", async () => {
    const { id, consumer, end } = await offered();
    const shown = async (ms: number) => {
      const { status, escalated_at, arbitration_due } = await read(at(world, end + ms), consumer, id);
      return [status, escalated_at, arbitration_due];
    };
    expect(await shown(-1)).toEqual(["pre_arbitration", null, null]);
    for (const ms of [0, 1]) expect(await shown(ms)).toEqual(["arbitration", iso(end), iso(end + 14 * DAY_MS)]);
  });

  it.each([0, 1])(
    "the job leaves the dispute alone one millisecond before it, and %i ms after it records the end at its instant",
    async (ms) => {
      const { id, end } = await offered();
      await at(world, end - 1).run(endDisputeDays);
      expect(await rowOf(id)).toMatchObject({ status: "pre_arbitration", due_at: end, arbitration_at: null });
      await at(world, end + ms).run(endDisputeDays);
      expect(await rowOf(id)).toMatchObject({ status: "arbitration", due_at: end + 14 * DAY_MS, arbitration_at: end });
    },
  );

  it("an arbiter may decide from it on, but not one millisecond before", async () => {
    for (const ms of [0, 1]) {
      const { id, end } = await offered();
      const early = await resolve(at(world, end - 1), id, { resolution: "rejected" });
      expect([...said(early), early.body.detail]).toEqual([409, "invalid_status", { status: "pre_arbitration" }]);
      expectStatus(await resolve(at(world, end + ms), id, { resolution: "rejected" }), 200);
      expect(await rowOf(id)).toMatchObject({ status: "resolved", arbitration_at: end, resolved_at: end + ms });
    }
  });

  it("evidence is accepted before it and after it", async () => {
    const { id, consumer, end } = await offered();
    for (const ms of [-1, 0, 1]) {
      const handedIn = await act(at(world, end + ms), consumer, id, "evidence", { description: "The log." });
      expect(expectStatus(handedIn, 201)).toMatchObject({ number: ms + 2, submitted_at: iso(end + ms) });
    }
  });
});

describe("the end of the arbiter's 14 days", () => {
  it.each(["production", "sandbox"])(
    "a dispute in %s is overdue from it on, but not one millisecond before",
    async (environment) => {
      const pair = environment === "production" ? await livePair(world) : await pairOf(world, provider);
      const one = await disputed(world, { pair });
      expect(one.dispute.environment).toBe(environment);
      await arbitrated(world, one);
      const end = (await rowOf(one.id)).arbitration_at + 14 * DAY_MS;
      const alerts = () =>
        rows("select subject from alerts where kind = 'arbitration' and subject like ?", `${one.id} %`);
      await at(world, end - 1).run(endDisputeDays);
      expect([(await rowOf(one.id)).due_at, await alerts()]).toEqual([end, []]);
      await at(world, end).run(endDisputeDays);
      const told = environment === "production" ? [{ subject: `${one.id} in production` }] : [];
      expect([(await rowOf(one.id)).due_at, await alerts()]).toEqual([null, told]);
    },
  );
});
