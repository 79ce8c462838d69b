// The effects of a dispute on its task and on both ratings (DSP-13, DSP-14, TSK-21): it holds the task, closes it, resumes it, or replaces its
// signal.
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS, HOUR_MS } from "../../src/core/limits.ts";
import { DEFAULT_PARAMETERS } from "../../src/ratings/method.ts";
import { forwardScale } from "../../src/ratings/rating.ts";
import { autoConfirmTasks } from "../../src/tasks/confirm.ts";
import { confirm, facilitated } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { type Agent, createWorld, expectStatus, type World } from "../support/world.ts";
import { at } from "./instants.ts";
import { act, arbitrated, type Bought, disputed, file, resolve } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const taskOf = async (id: string) => (await rows("select * from tasks where task_id = ?", id))[0];
/** The weight and the value of an agent's only signal, and its number of interactions. */
async function signalOf({ did }: Agent, at: number): Promise<[number, number, number]> {
  const [row] = await rows(
    "select rating_weight as w, rating_weighted as s, rating_interactions as n from agents where did = ?",
    did,
  );
  const weight = row?.w / forwardScale(DEFAULT_PARAMETERS, at);
  return [Number(weight.toFixed(6)), Number((row?.w === 0 ? 0 : row?.s / row?.w).toFixed(6)), row?.n];
}
/** The weight of a purchase for 10.00. */
const W = Number(Math.log10(11).toFixed(6));
const times = (factor: number): number => Number((Math.log10(11) * factor).toFixed(6));

const END = {
  upheld: (one: Bought & { id: string }) => resolve(world, one.id, { resolution: "upheld" }),
  "upheld in part": (one: Bought & { id: string }) =>
    resolve(world, one.id, { resolution: "partially_upheld", refund_amount: "3" }),
  rejected: (one: Bought & { id: string }) => resolve(world, one.id, { resolution: "rejected" }),
} as const;

describe("a task that was held", () => {
  it.each([
    ["upheld", { outcome: "rejected", score: 0 }, [times(3), 0, 1], [W, 1, 1]],
    ["upheld in part", { outcome: "partial", score: 0.7 }, [times(2), 0.7, 1], [W, 1, 1]],
    ["rejected", { outcome: "confirmed", score: 1 }, [W, 1, 1], [W, 0, 1]],
  ] as const)("is closed by the verdict %s, and both are rated once", async (end, closed, provider, consumer) => {
    const one = await disputed(world);
    await arbitrated(world, one);
    expectStatus(await END[end](one), 200);
    const task = await taskOf(one.task);
    expect(task).toMatchObject({ status: "confirmed", ...closed });
    expect(await signalOf(one.provider, task?.closed_at)).toEqual(provider);
    expect(await signalOf(one.consumer, task?.closed_at)).toEqual(consumer);
  });

  it("is partial after a settlement, by the share that was not refunded, and gets no verdict", async () => {
    const one = await disputed(world);
    expectStatus(await act(world, one.provider, one.id, "respond", { message: "Some.", offer_amount: "2.5" }), 200);
    expectStatus(await act(world, one.consumer, one.id, "accept"), 200);
    const task = await taskOf(one.task);
    expect(await signalOf(one.provider, task?.closed_at)).toEqual([W, 0.75, 1]);
  });

  it("never confirms itself, and the days of the dispute do not count as the consumer's delay", async () => {
    const one = await disputed(world);
    await rows("update tasks set confirm_by = ?, opened_at = ? where task_id = ?", 1, world.now() - 60_000, one.task);
    await world.run(autoConfirmTasks);
    expect(await taskOf(one.task)).toMatchObject({ status: "disputed" });
    // As if the dispute had been filed nine days ago, 23 hours after the task was opened.
    const filed = world.now() - 9 * DAY_MS;
    await rows("update tasks set opened_at = ? where task_id = ?", filed - 23 * HOUR_MS, one.task);
    await rows(
      "update disputes set filed_at = ?, answers_until = ?, due_at = ? where dispute_id = ?",
      filed,
      filed + 7 * DAY_MS,
      filed + 7 * DAY_MS,
      one.id,
    );
    expectStatus(await resolve(world, one.id, { resolution: "upheld" }), 200);
    const task = await taskOf(one.task);
    expect((await signalOf(one.consumer, task?.closed_at))[1]).toBe(1);
  });

  it("resumes for at least an hour", async () => {
    const bought = await facilitated(world);
    await rows("update tasks set confirm_by = ? where task_id = ?", world.now() + 10 * 60_000, bought.task);
    const { dispute_id } = expectStatus(await file(world, bought), 201);
    const then = at(world, world.now());
    expectStatus(await act(then, bought.consumer, dispute_id, "withdraw"), 200);
    expect(await taskOf(bought.task)).toMatchObject({ status: "open", confirm_by: then.now() + HOUR_MS });
    expectStatus(await confirm(world, bought.consumer, bought.task), 200);
  });
});

describe("a task that was closed", () => {
  const closed = async () => {
    const bought = await facilitated(world);
    expectStatus(await confirm(world, bought.consumer, bought.task), 200);
    const { dispute_id: id } = expectStatus(await file(world, bought), 201);
    await arbitrated(world, { ...bought, id });
    return { ...bought, id };
  };
  it.each([
    ["upheld", [times(3), 0, 1], [W, 1, 1]],
    ["upheld in part", [times(2), 0.7, 1], [W, 1, 1]],
    ["rejected", [W, 1, 1], [W, 0, 1]],
  ] as const)("gets the verdict %s in place of its signal, dated as that", async (end, provider, consumer) => {
    const one = await closed();
    const before = await taskOf(one.task);
    expectStatus(await END[end](one), 200);
    const task = await taskOf(one.task);
    expect([task?.status, task?.outcome, task?.score, task?.closed_at]).toEqual([
      "confirmed",
      "confirmed",
      1,
      before?.closed_at,
    ]);
    expect(await signalOf(one.provider, task?.closed_at)).toEqual(provider);
    expect(await signalOf(one.consumer, task?.closed_at)).toEqual(consumer);
    const sums = await rows("select weight from rating_counterparties where did = ?", one.provider.did);
    expect(sums).toHaveLength(1);
    const rating = expectStatus(await world.call("GET", `/v1/agents/${one.provider.did}/rating`, { key: null }), 200);
    const [weight, r] = provider;
    expect(rating.agent_rating).toBeCloseTo((weight * r + 1) / (weight + 2), 1);
    const volumes = await rows("select settled_volumes from agents where did = ?", one.provider.did);
    expect(volumes[0]?.settled_volumes).toBe('{"USDC":10000000}');
  });

  it("gets a signal from the verdict if its auto-confirmation gave none", async () => {
    const bought = await facilitated(world);
    await rows("update transactions set consumer_willed = 0 where transaction_id = ?", bought.fac.transaction_id);
    await rows(
      "update tasks set confirm_by = ?, opened_at = ? where task_id = ?",
      world.now() - 1,
      world.now() - 72 * HOUR_MS,
      bought.task,
    );
    await world.run(autoConfirmTasks);
    const closedAt = (await taskOf(bought.task))?.closed_at;
    expect((await signalOf(bought.provider, closedAt))[2]).toBe(0);
    const { dispute_id: id } = expectStatus(await file(world, bought), 201);
    await arbitrated(world, { ...bought, id });
    expectStatus(await resolve(world, id, { resolution: "upheld" }), 200);
    expect(await signalOf(bought.provider, closedAt)).toEqual([times(3), 0, 1]);
    expect(await taskOf(bought.task)).toMatchObject({ status: "auto_confirmed", verdict: "upheld" });
  });

  it("keeps its own signal if the dispute is settled", async () => {
    const bought = await facilitated(world);
    expectStatus(await confirm(world, bought.consumer, bought.task), 200);
    const closedAt = (await taskOf(bought.task))?.closed_at;
    const before = await signalOf(bought.provider, closedAt);
    const { dispute_id: id } = expectStatus(await file(world, bought), 201);
    expectStatus(await act(world, bought.provider, id, "respond", { message: "Some.", offer_amount: "2.5" }), 200);
    expectStatus(await act(world, bought.consumer, id, "accept"), 200);
    expect(await signalOf(bought.provider, closedAt)).toEqual(before);
    expect(await taskOf(bought.task)).toMatchObject({ outcome: "confirmed", score: 1, verdict: null });
  });
});

describe("a concession that was not paid", () => {
  it.each([
    ["rejected", { outcome: "confirmed", score: 1 }, [W, 1, 1], [W, 0, 1]],
    ["upheld", { outcome: "rejected", score: 0 }, [times(3), 0, 1], [W, 1, 1]],
  ] as const)(
    "and that the arbiter ends as %s counts by the last verdict alone",
    async (end, closed, provider, consumer) => {
      const one = await disputed(world);
      expectStatus(await act(world, one.provider, one.id, "concede"), 200);
      const closedAt = (await taskOf(one.task))?.closed_at;
      expect(await signalOf(one.provider, closedAt)).toEqual([times(3), 0, 1]);
      await rows(
        "update disputes set status = 'arbitration', resolution = null, resolved_at = null, arbitration_at = filed_at where dispute_id = ?",
        one.id,
      );
      expectStatus(await END[end](one), 200);
      expect(await taskOf(one.task)).toMatchObject({ status: "confirmed", ...closed, closed_at: closedAt });
      expect(await signalOf(one.provider, closedAt)).toEqual(provider);
      expect(await signalOf(one.consumer, closedAt)).toEqual(consumer);
    },
  );
});
