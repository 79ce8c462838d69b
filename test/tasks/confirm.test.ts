// Reading and confirming tasks, the end of the window, and the cost (TSK-1 to TSK-5, TSK-12).
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { HOUR_MS } from "../../src/core/limits.ts";
import { tasks } from "../../src/db/tables/money.ts";
import { verifyAid } from "../../src/protocol/aid.ts";
import { autoConfirmTasks } from "../../src/tasks/confirm.ts";
import { confirm, facilitated, type Pair, pairOf, refused, stateOf } from "../facilitation/support.ts";
import { stopped } from "../support/clock.ts";
import { copyRow } from "../support/copies.ts";
import { createWorld, expectStatus, ISSUER, type World } from "../support/world.ts";

let world: World;
/** A pair for tests that compare no ratings. */
let pair: Pair;
beforeAll(async () => {
  world = await createWorld();
  pair = await pairOf(world);
});

const taskPath = (task: string) => `/v1/tasks/${task}`;
/** Moves the end of the window to `ms` from now, so that a test need not wait 72 hours. */
const endsIn = (task: string, ms: number) =>
  world.deps.db
    .update(tasks)
    .set({ confirmBy: world.now() + ms, openedAt: world.now() + ms - 72 * HOUR_MS })
    .where(eq(tasks.taskId, task));
const rowOf = async (task: string) => (await world.deps.db.select().from(tasks).where(eq(tasks.taskId, task)))[0];

describe("reading a task", () => {
  it("is allowed to its two agents", async () => {
    const { task, fac, consumer, provider } = await facilitated(world, pair);
    for (const agent of [consumer, provider]) {
      expect(expectStatus(await world.as(agent, "GET", taskPath(task)), 200)).toEqual({
        task_id: task,
        transaction_id: fac.transaction_id,
        facilitation_id: fac.facilitation_id,
        intent_id: fac.intent_id,
        environment: "sandbox",
        status: "open",
        outcome: null,
        score: null,
        note: null,
        consumer_did: consumer.did,
        provider_did: provider.did,
        gross_amt: "10.00",
        currency: "USDC",
        network: "base-sepolia",
        opened_at: expect.any(String),
        confirm_by: fac.confirm_by,
        closed_at: null,
      });
    }
    const stranger = await world.consumer();
    expect((await world.as(stranger, "GET", taskPath(task))).body.code).toBe("forbidden");
    expect((await world.as(stranger, "GET", taskPath("tsk_nothing"))).body.code).toBe("not_found");
    expect((await world.call("GET", taskPath(task))).body.code).toBe("certificate_required");
  });
});

describe("a confirmation", () => {
  it.each([
    [
      { outcome: "confirmed" },
      { outcome: "confirmed", score: 1, provider_r_i: 1, provider_ar: 0.67, consumer_r_i: 1, consumer_ar: 0.67 },
    ],
    [
      { outcome: "confirmed", score: 0.2, note: "Fine." },
      { outcome: "confirmed", score: 1, provider_r_i: 1, provider_ar: 0.67 },
    ],
    [
      { outcome: "partial", score: 0.8 },
      { outcome: "partial", score: 0.8, provider_r_i: 0.8, provider_ar: 0.6 },
    ],
    [
      { outcome: "rejected", note: "Nothing came." },
      { outcome: "rejected", score: 0, provider_r_i: 0, provider_ar: 0.33, consumer_r_i: 1 },
    ],
  ])("%o closes the task and rates both", async (body, expected) => {
    const { task, consumer, provider } = await facilitated(world);
    const closed = expectStatus(await confirm(world, consumer, task, body), 200);
    expect(closed).toMatchObject({ task_id: task, status: "confirmed", ...expected });
    expect(Object.keys(closed).sort()).toEqual([
      "closed_at",
      "consumer_ar",
      "consumer_r_i",
      "outcome",
      "provider_ar",
      "provider_r_i",
      "score",
      "status",
      "task_id",
    ]);
    const read = expectStatus(await world.as(provider, "GET", taskPath(task)), 200);
    expect(read).toMatchObject({
      status: "confirmed",
      outcome: closed.outcome,
      score: closed.score,
      closed_at: closed.closed_at,
    });
    const status = expectStatus(await world.call("GET", `/v1/agents/${provider.did}/status`, { key: null }), 200);
    expect(status.agent_rating).toBe(closed.provider_ar);
  });

  it("changes both signed documents, the feed and the outbox in one batch", async () => {
    const { task, consumer, provider } = await facilitated(world);
    const before = await stateOf(world, consumer.did, provider.did);
    const closed = expectStatus(await confirm(world, consumer, task), 200);
    const after = await stateOf(world, consumer.did, provider.did);
    for (const [did, rating] of [
      [provider.did, closed.provider_ar],
      [consumer.did, closed.consumer_ar],
    ]) {
      const aid = expectStatus(await world.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200);
      expect(aid.performance).toMatchObject({
        agent_rating: rating,
        interactions: 1,
        settled_volume: [{ currency: "USDC", amount: "10.00" }],
      });
      expect((await verifyAid(aid, (await world.deps.ca()).verification, { issuer: ISSUER })).ok).toBe(true);
      const [was, is] = [before, after].map((state) => state.agents.find((agent) => agent.did === did));
      expect(is?.revision).toBe((was?.revision ?? 0) + 1);
      expect(is?.version).toBe(was?.version);
      expect(after.feed.filter((change) => change.did === did).at(-1)?.changeType).toBe("updated");
    }
    expect(
      after.events.filter((event) => event.type === "task.closed" && event.object["task_id"] === task),
    ).toHaveLength(1);
    expect(after.sums).toHaveLength(2);
  });

  it("lowers the escrow's threshold for a good rating", async () => {
    const { task, consumer, provider } = await facilitated(world);
    expectStatus(await confirm(world, consumer, task), 200);
    const { escrows } = await stateOf(world, provider.did);
    expect(escrows[0]).toMatchObject({ baseThreshold: 15_000_000, threshold: 12_450_000 });
  });

  it("is refused to the provider (403), because only the consumer confirms", async () => {
    const { task, consumer, provider } = await facilitated(world, pair);
    const dids = [consumer.did, provider.did];
    await refused(world, dids, () => confirm(world, provider, task), 403, "forbidden");
  });

  it("needs a score for a partial delivery, between 0 and 1", async () => {
    const { task, consumer } = await facilitated(world, pair);
    const faults = async (body: unknown) =>
      (await confirm(world, consumer, task, body)).body.field_errors?.map(
        (fault: { field: string; code: string }) => `${fault.field} ${fault.code}`,
      );
    expect(await faults({ outcome: "partial" })).toEqual(["score required"]);
    expect(await faults({ outcome: "partial", score: 1.01 })).toEqual(["score too_big"]);
    expect(await faults({ outcome: "partial", score: -0.1 })).toEqual(["score too_small"]);
    expect(await faults({ outcome: "perhaps" })).toEqual(["outcome invalid_value"]);
    expect(await faults({})).toEqual(["outcome required"]);
  });

  it.each([
    ["a note", "Good work.", "Good work."],
    ["an empty note, which is none", "", null],
    ["white space, which is none", " \n ", null],
    ["null", null, null],
  ])("may have %s", async (_name, note, shown) => {
    const { task, consumer } = await facilitated(world, pair);
    expectStatus(await confirm(world, consumer, task, { outcome: "confirmed", note }), 200);
    expect(expectStatus(await world.as(consumer, "GET", taskPath(task)), 200).note).toBe(shown);
  });

  it("is final: a second one is task_already_closed and changes nothing", async () => {
    const { task, consumer, provider } = await facilitated(world, pair);
    expectStatus(await confirm(world, consumer, task), 200);
    await refused(
      world,
      [consumer.did, provider.did],
      () => confirm(world, consumer, task, { outcome: "rejected" }),
      409,
      "task_already_closed",
    );
  });

  it("answers the same again when it is repeated with its Idempotency-Key", async () => {
    const { task, consumer } = await facilitated(world, pair);
    const send = () =>
      world.as(consumer, "POST", `${taskPath(task)}/confirm`, { outcome: "confirmed" }, { "Idempotency-Key": "once" });
    const first = expectStatus(await send(), 200);
    const again = await send();
    expect(again.body).toEqual(first);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
  });

  it("counts once when many calls send it at the same time", async () => {
    const { task, consumer, provider } = await facilitated(world);
    const replies = await Promise.all(Array.from({ length: 20 }, () => confirm(world, consumer, task)));
    expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1);
    expect(new Set(replies.filter((reply) => reply.status !== 200).map((reply) => reply.body.code))).toEqual(
      new Set(["task_already_closed"]),
    );
    const { agents } = await stateOf(world, provider.did);
    expect(agents[0]?.ratingInteractions).toBe(1);
  });

  it("counts each of twelve tasks of one pair that are confirmed at the same time", async () => {
    const pair = await pairOf(world);
    const done = [];
    for (let i = 0; i < 12; i++) done.push(await facilitated(world, pair, "1.00"));
    const replies = await Promise.all(done.map(({ task }) => confirm(world, pair.consumer, task)));
    expect(replies.map((reply) => reply.status)).toEqual(done.map(() => 200));
    const { agents } = await stateOf(world, pair.provider.did, pair.consumer.did);
    for (const agent of agents)
      expect(agent).toMatchObject({
        ratingInteractions: 12,
        ratingCounterparties: 1,
        settledVolumes: { USDC: 12_000_000 },
      });
  });
});

describe("an Idempotency-Key of a confirmation", () => {
  it("belongs to the consumer: another agent of its platform does not get the stored answer under the same key", async () => {
    const { task, consumer, provider } = await facilitated(world, pair);
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const path = `${taskPath(task)}/confirm`;
    const body = { outcome: "confirmed" };
    expectStatus(await world.as(consumer, "POST", path, body, headers), 200);
    expect((await world.as(provider, "POST", path, body, headers)).body.code).toBe("forbidden");
    const again = await world.as(consumer, "POST", path, body, headers);
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
  });
});

describe("the end of the 72 hours", () => {
  it("accepts a confirmation in the last millisecond before it", async () => {
    const { task, fac, consumer, provider } = await facilitated(world, pair);
    const still = stopped(world);
    still.advance(Date.parse(fac.confirm_by) - 1 - still.now());
    await still.run(autoConfirmTasks);
    expect(expectStatus(await still.as(provider, "GET", taskPath(task)), 200).status).toBe("open");
    expect(expectStatus(await confirm(still, consumer, task), 200)).toMatchObject({
      status: "confirmed",
      consumer_r_i: 0.9,
    });
  });

  it("refuses a confirmation from that instant on, and closes the task at it", async () => {
    const { task, fac, consumer, provider } = await facilitated(world, pair);
    const still = stopped(world);
    still.advance(Date.parse(fac.confirm_by) - still.now());
    expect(expectStatus(await still.as(provider, "GET", taskPath(task)), 200).status).toBe("auto_confirmed");
    const reply = await confirm(still, consumer, task, { outcome: "rejected" });
    expect(reply).toMatchObject({
      status: 409,
      body: { code: "confirmation_window_closed", detail: { status: "auto_confirmed" } },
    });
    const row = await rowOf(task);
    expect(row).toMatchObject({ status: "auto_confirmed", outcome: "confirmed", score: 1, closedAt: row?.confirmBy });
    expect((await confirm(still, consumer, task)).body.code).toBe("task_already_closed");
  });

  it("shows at once, and a late cron records it once, at its own instant", async () => {
    const { task, consumer, provider } = await facilitated(world);
    await endsIn(task, -3 * HOUR_MS);
    const confirmBy = (await rowOf(task))?.confirmBy ?? 0;
    const seen = expectStatus(await world.as(consumer, "GET", taskPath(task)), 200);
    expect(seen).toMatchObject({
      status: "auto_confirmed",
      outcome: "confirmed",
      closed_at: new Date(confirmBy).toISOString(),
    });
    expect((await rowOf(task))?.status).toBe("open");
    const recorded = await Promise.all([world.run(autoConfirmTasks), world.run(autoConfirmTasks)]);
    expect(recorded.reduce((sum, n) => sum + n, 0)).toBe(1);
    expect(await world.run(autoConfirmTasks)).toBe(0);
    expect(await rowOf(task)).toMatchObject({ status: "auto_confirmed", closedAt: confirmBy });
    const state = await stateOf(world, provider.did, consumer.did);
    expect(
      state.events.filter((event) => event.type === "task.closed" && event.object["task_id"] === task),
    ).toHaveLength(1);
    const ratings = Object.fromEntries(state.agents.map((agent) => [agent.did, agent.agentRating]));
    // The provider gets half weight; the consumer, which did not answer, gets 0.7.
    expect(ratings).toEqual({ [provider.did]: 0.6, [consumer.did]: 0.57 });
    expect((await confirm(world, consumer, task)).body.code).toBe("task_already_closed");
  });

  it("leaves one outcome if the sweep records it between a late confirmation's read and commit", async () => {
    const { task, consumer, provider } = await facilitated(world);
    await endsIn(task, 0);
    world.meter.beforeBatch(2, () => world.run(autoConfirmTasks));
    expect((await confirm(world, consumer, task)).body.code).toBe("task_already_closed");
    expect((await rowOf(task))?.status).toBe("auto_confirmed");
    expect((await stateOf(world, provider.did)).agents[0]?.ratingInteractions).toBe(1);
  });

  it("leaves one outcome if a late confirmation records it between the sweep's read and commit", async () => {
    const { task, consumer, provider } = await facilitated(world);
    await endsIn(task, 0);
    let late: string | undefined;
    // The sweep's trips: find the due tasks, read the task, record its end.
    world.meter.beforeBatch(3, async () => {
      late = (await confirm(world, consumer, task)).body.code;
    });
    expect(await world.run(autoConfirmTasks)).toBe(0);
    expect(late).toBe("confirmation_window_closed");
    expect((await rowOf(task))?.status).toBe("auto_confirmed");
    expect((await stateOf(world, provider.did)).agents[0]?.ratingInteractions).toBe(1);
  });
});

describe("the cost", () => {
  it("of a confirmation is two trips and does not grow with the history", async () => {
    const pair = await pairOf(world);
    const measure = async () => {
      const { task } = await facilitated(world, pair, "1.00");
      world.meter.reset();
      expectStatus(await confirm(world, pair.consumer, task), 200);
      const { trips, rowsRead, rowsWritten } = world.meter.reading;
      return { trips, rowsRead, rowsWritten };
    };
    const others = async (from: number, to: number) => {
      const changed = { counterparty_principal_id: "'prn_' || i", weight: "50 + i / 100.0", weighted: "20" };
      for (const { did } of [pair.consumer, pair.provider])
        await copyRow("rating_counterparties", `did = '${did}'`, changed, { from, to });
    };
    // The first few confirmations change the rating, and so the feed.
    for (let i = 0; i < 3; i++) await measure();
    await others(0, 5);
    await measure();
    const few = await measure();
    await others(5, 305);
    const many = await measure();
    expect(many.trips).toBe(2);
    expect(many.rowsRead).toBe(few.rowsRead);
  });

  it("of a sweep with nothing due is one indexed read, however many tasks there are", async () => {
    const copies = (status: string, confirmBy: number) => {
      const changed = { task_id: `'tsk_${status}' || i`, status: `'${status}'`, confirm_by: String(confirmBy) };
      return copyRow("tasks", "status = 'confirmed'", changed, { to: 100 });
    };
    await copies("open", world.now() + HOUR_MS);
    await copies("confirmed", world.now() - HOUR_MS);
    await world.run(autoConfirmTasks);
    world.meter.reset();
    expect(await world.run(autoConfirmTasks)).toBe(0);
    expect(world.meter.reading.rowsRead).toBeLessThanOrEqual(1);
  });
});
