// One advance makes more rows due than one part, one read or one slice holds (ACC-28): all of them are recorded before it answers.
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import type { DuePart } from "../../src/objects/durable-objects.ts";
import { sweepSandboxes } from "../../src/sandbox/due.ts";
import { act, arbitrated, disputed, pass } from "../disputes/support.ts";
import { asConsumer, type Pair, paid, pairOf } from "../facilitation/support.ts";
import { follow } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { attested } from "../support/clock.ts";
import { COPY_DID, copyRow } from "../support/copies.ts";
import { checkEvents } from "../support/events.ts";
import { isWhole } from "../support/scale.ts";
import { withSlices, withVars } from "../support/variants.ts";
import { type Agent, createWorld, env, expectStatus, ISSUER, type Json, type World } from "../support/world.ts";
import { ADVANCE, advance, advanced, DAY_S, HOUR_S, offsetOf } from "./support.ts";

/** More rows than one part of a kind takes. */
const MANY = isWhole() ? 100 : 24;

const one = async (text: string, ...values: unknown[]): Promise<Json> => (await rows(text, ...values))[0];
const suffixed = (...columns: string[]) =>
  Object.fromEntries(columns.map((column) => [column, `t.${column} || '-' || i`]));

type Opened = { readonly willed?: boolean; readonly earlierByMs?: number };
/**
 * Purchases of a pair with open tasks, each earlier than the one before by the given time. Unwilled: in the form that rates neither side (TSK-12).
 */
async function openTasks(
  world: World,
  pair: Pair,
  count: number,
  { willed = true, earlierByMs = 0 }: Opened = {},
): Promise<void> {
  const { task_id } = expectStatus(await asConsumer(world, await paid(world, pair)), 200);
  const where = `task_id = '${task_id}'`;
  const earlier = (...columns: string[]) =>
    Object.fromEntries(columns.map((column) => [column, `t.${column} - i * ${earlierByMs}`]));
  const ids = suffixed("transaction_id", "task_id");
  const settled = { ...ids, ...suffixed("intent_id"), log_index: "t.log_index + i", ...earlier("settled_at") };
  if (!willed) await rows(`update transactions set consumer_willed = 0 where ${where}`);
  await copyRow("transactions", where, settled, { to: count - 1 });
  await copyRow("tasks", where, { ...ids, ...earlier("opened_at", "confirm_by") }, { to: count - 1 });
}

async function openIntents(world: World, { consumer, provider }: Pair, count: number): Promise<void> {
  const { intent_id } = await world.intent(consumer, provider);
  const where = `intent_id = '${intent_id}'`;
  await copyRow("payment_intents", where, suffixed("intent_id", "intent_hash"), { to: count - 1 });
  await copyRow("spend_holds", where, suffixed("intent_id"), { to: count - 1 });
  await follow(world);
}

const byStatus = async (table: string, { did }: Agent): Promise<Json> =>
  Object.fromEntries(
    (await rows(`select status, count(*) as n from ${table} where consumer_did = ? group by status`, did)).map(
      ({ status, n }) => [status, n],
    ),
  );
/** Resets the platform's object this many times, as a new version of the Worker does. */
function withResets(world: World, times: number): World {
  let left = times;
  const { SANDBOXES } = env;
  const get = (id: DurableObjectId) => ({
    record: async (part: DuePart) => {
      if (--left >= 0) throw new Error("Durable Object reset because its code was updated.");
      return SANDBOXES.get(id).record(part);
    },
  });
  const broken = { idFromName: (name: string) => SANDBOXES.idFromName(name), get };
  return withVars(world, { SANDBOXES: broken as unknown as typeof SANDBOXES });
}

/** How many objects had an event, and the most events that one object had; the initial events are not counted. */
const told = ({ platformId }: World, type: string, id: string): Promise<Json> =>
  one(
    `select count(*) as objects, max(n) as times from (select count(*) as n from events
      where platform_id = ? and type = ? and object ->> 'status' <> 'ACTIVE' group by object ->> ?)`,
    platformId,
    type,
    id,
  );

describe("an advance records to the end (ACC-28)", () => {
  it("many rows of one pair, each of which changes its ratings", async () => {
    const [world, count] = [await createWorld(), MANY];
    const pair = await pairOf(world);
    await openTasks(world, pair, count);
    await openIntents(world, pair, count);
    await advanced(world, 4 * DAY_S);
    expect(await byStatus("tasks", pair.consumer)).toEqual({ auto_confirmed: count });
    expect(await byStatus("payment_intents", pair.consumer)).toEqual({ SETTLED: 1, ABANDONED: count });
    const unrated =
      "select * from payment_intents where consumer_did = ? and status = 'ABANDONED' and abandon_rated = 0";
    expect(await rows(unrated, pair.consumer.did)).toEqual([]);
    for (const { did } of [pair.consumer, pair.provider]) {
      expect(await one("select rating_interactions as n from agents where did = ?", did)).toEqual({ n: count });
    }
    expect(await told(world, "task.closed", "task_id")).toEqual({ objects: count, times: 1 });
    expect(await told(world, "intent.abandoned", "intent_id")).toEqual({ objects: count, times: 1 });
  });

  it("more tasks than one read finds", async () => {
    const found = isWhole() ? 1_000 : 10;
    const [world, count] = [withSlices(await createWorld(), { due: found }), 2 * found + 1];
    const pair = await pairOf(world);
    await openTasks(world, pair, count, { willed: false });
    await advanced(world, 30 * DAY_S);
    expect(await byStatus("tasks", pair.consumer)).toEqual({ auto_confirmed: count });
    expect(await told(world, "task.closed", "task_id")).toEqual({ objects: count, times: 1 });
  });

  it("tasks, intents and disputes count together: 1,001 are refused beyond 30 days, and 1,000 are not", async () => {
    const back = () =>
      rows(
        "update platforms set clock_offset_ms = 0, clock_moved_at = null, clock_recorded_to = null where platform_id = ?",
        world.platformId,
      );
    const [world, count] = [await createWorld(), 30];
    const pair = await pairOf(world);
    await openTasks(world, pair, count, { willed: false });
    // The dispute is withdrawn: a window ends for each copy, and for the task of the filed one.
    const { id, consumer } = await disputed(world);
    expectStatus(await act(world, consumer, id, "withdraw"), 200);
    const copied = suffixed("dispute_id", "transaction_id", "task_id");
    await copyRow("disputes", `dispute_id = '${id}'`, copied, { to: count - 1 });
    // These intents rate neither side.
    const intents = 1_001 - (count + 1) - count;
    await openIntents(world, pair, intents);
    await rows("update payment_intents set opened_by = provider_did where consumer_did = ?", pair.consumer.did);
    const waiting = async () => [
      (await byStatus("tasks", pair.consumer)).open,
      (await one("select count(due_at) as n from disputes where consumer_platform_id = ?", world.platformId)).n,
      (await byStatus("payment_intents", pair.consumer)).OPEN,
    ];
    expect(await waiting()).toEqual([count, count, intents]);
    const refused = await advance(world, { seconds: 30 * DAY_S + 1 });
    expect([refused.status, refused.body.field_errors[0].code]).toEqual([422, "too_big"]);
    expect([await offsetOf(world), await waiting()]).toEqual([0, [count, count, intents]]);
    // Nothing is recorded, as if the object were reset each time: fewer rows suffice to test the recording.
    const unrecording = withResets(world, Number.POSITIVE_INFINITY);
    await advanced(unrecording, 30 * DAY_S);
    await back();
    await rows("update disputes set due_at = null where dispute_id = ?", id);
    await advanced(unrecording, 30 * DAY_S + 1);
    expect([await offsetOf(world), await waiting()]).toEqual([(30 * DAY_S + 1) * 1_000, [count, count - 1, intents]]);
    // Moves the clock back, so that no sweep records the rows.
    await back();
  });

  it("the agents of a principal with more than one slice of them", async () => {
    const [world, count] = [await createWorld(), isWhole() ? 450 : 201];
    const principalId = await world.principal(attested(24));
    const { did } = await world.consumer({ principal_id: principalId });
    const vary = { did: COPY_DID };
    await copyRow("agents", `did = '${did}'`, vary, { to: count - 1 });
    await copyRow("certificates", `did = '${did}'`, { ...vary, list_id: "-1", idx: "i" }, { to: count - 1 });
    await advanced(world, DAY_S);
    const statuses = "select status, count(*) as n from agents where principal_id = ? group by status";
    expect(await rows(statuses, principalId)).toEqual([{ status: "SUSPENDED", n: count }]);
    expect(await told(world, "agent.status_changed", "did")).toEqual({ objects: count, times: 1 });
    expect(await told(world, "principal.status_changed", "principal_id")).toEqual({ objects: 1, times: 1 });
    expect(await rows("select * from walks where kind = 'cascade' and subject = ?", principalId)).toEqual([]);
  });
});

/** Copies a dispute with its purchase until there are `count` of them, each due a minute before the previous one. */
async function copyDispute(id: string, count: number): Promise<void> {
  const { transaction_id, consumer_did, provider_did } = await one("select * from disputes where dispute_id = ?", id);
  const where = `transaction_id = '${transaction_id}'`;
  const ids = suffixed("transaction_id", "task_id");
  const settled = { ...ids, ...suffixed("intent_id"), log_index: "t.log_index + i" };
  const due = { answers_until: "t.answers_until - i * 60000", due_at: "t.due_at - i * 60000" };
  await copyRow("transactions", where, settled, { to: count - 1 });
  await copyRow("tasks", where, ids, { to: count - 1 });
  await copyRow("disputes", where, { ...ids, ...suffixed("dispute_id"), ...due }, { to: count - 1 });
  await rows("update agents set disputes_open = ? where did in (?, ?)", count, consumer_did, provider_did);
  await rows("update escrows set disputed = disputed * ? where did = ?", count, provider_did);
}

describe(`an advance over ${MANY} tasks, ${MANY} intents and ten disputes (ACC-28)`, () => {
  const COUNT = MANY;
  const SECOND = 1_000;
  let world: World;
  let within: Pair;
  let abroad: Pair;
  let days: string;
  let late: string;
  let conceded: string;
  let withdrawn: Json;
  /** The database when the answer comes, before any work that continues after it. */
  let reply: Response;
  let seen: { tasks: Json[]; intents: Json[]; disputes: Json[]; events: Json[]; ratings: Json[] };

  const look = async () => ({
    tasks: await rows(
      "select x.* from tasks x join transactions using (transaction_id) where consumer_platform_id = ?",
      world.platformId,
    ),
    intents: await rows("select * from payment_intents where consumer_platform_id = ?", world.platformId),
    disputes: await rows("select * from disputes where consumer_platform_id = ?", world.platformId),
    events: await rows(
      `select type, object from events where platform_id = ? and type in
        ('task.closed', 'dispute.updated', 'dispute.resolved', 'intent.abandoned') order by seq`,
      world.platformId,
    ),
    ratings: await rows(
      "select did, rating_interactions as n from agents where did in (?, ?)",
      within.consumer.did,
      abroad.provider.did,
    ),
  });

  beforeAll(async () => {
    world = await createWorld();
    const other = await createWorld();
    within = await pairOf(world);
    abroad = { consumer: within.consumer, provider: await other.provider() };
    // Purchases from the own platform and from another one alternate.
    await openTasks(world, within, COUNT / 2, { earlierByMs: 2 * SECOND });
    await openTasks(world, abroad, COUNT / 2, { earlierByMs: 2 * SECOND });
    await openIntents(world, within, COUNT);
    days = (await disputed(world)).id;
    await copyDispute(days, 6);
    const overdue = await disputed(world);
    late = overdue.id;
    await arbitrated(world, overdue);
    await pass(late, 7);
    await copyDispute(late, 2);
    const given = await disputed(world);
    conceded = given.id;
    expectStatus(await act(world, given.provider, conceded, "concede"), 200);
    const back = await disputed(world);
    expectStatus(await act(world, back.consumer, back.id, "withdraw"), 200);
    withdrawn = { id: back.id, task: back.task };
    await checkEvents(env.DB);
    await rows("delete from events where platform_id = ?", world.platformId);
    const context = createExecutionContext();
    const headers = { "Service-Api-Key": world.key, "Content-Type": "application/json" };
    const body = JSON.stringify({ seconds: 8 * DAY_S });
    const request = new Request(`${ISSUER}${ADVANCE}`, { method: "POST", headers, body });
    await world.serve(async () => {
      reply = await world.app.fetch(request, { ...env, DB: world.meter.d1 }, context);
      seen = await look();
      await waitOnExecutionContext(context);
    });
  });

  const among = (of: Json[], id: string) => of.filter(({ dispute_id }) => String(dispute_id).startsWith(id));
  const timesOf = (type: string, id: string): Map<string, number> =>
    seen.events
      .filter((event) => event.type === type)
      .map(({ object }) => String(JSON.parse(object)[id]))
      .reduce((times, one) => times.set(one, (times.get(one) ?? 0) + 1), new Map<string, number>());

  it("records all of it before it answers", () => {
    expect(reply.status).toBe(200);
    const closed = seen.tasks.filter(({ status }) => status === "auto_confirmed");
    // This includes the task of the withdrawn dispute.
    expect(closed).toHaveLength(COUNT + 1);
    for (const task of closed) expect(task.closed_at).toBe(task.confirm_by);
    expect(closed.map(({ task_id }) => task_id)).toContain(withdrawn.task);
    expect(seen.intents.filter(({ status }) => status === "OPEN")).toEqual([]);
    const abandoned = seen.intents.filter(({ status }) => status === "ABANDONED");
    expect(abandoned.map((intent) => intent.abandon_rated)).toEqual(Array.from({ length: COUNT }, () => 1));
    expect(among(seen.disputes, days)).toHaveLength(6);
    for (const dispute of among(seen.disputes, days))
      expect(dispute).toMatchObject({
        status: "arbitration",
        arbitration_at: dispute.answers_until,
        due_at: dispute.answers_until + 14 * DAY_S * SECOND,
      });
    expect(among(seen.disputes, late).map(({ status, due_at }) => [status, due_at])).toEqual([
      ["arbitration", null],
      ["arbitration", null],
    ]);
    expect(among(seen.disputes, conceded)).toMatchObject([{ status: "arbitration", refund_status: "outstanding" }]);
    expect(among(seen.disputes, withdrawn.id)).toMatchObject([{ resolution: "withdrawn", due_at: null }]);
  });

  it("records each row once", async () => {
    const once = (count: number, times: Map<string, number>) => {
      expect(times.size).toBe(count);
      expect(new Set(times.values())).toEqual(new Set([1]));
    };
    once(COUNT + 1, timesOf("task.closed", "task_id"));
    once(COUNT, timesOf("intent.abandoned", "intent_id"));
    // Six disputes whose days have ended, and the conceded one.
    once(7, timesOf("dispute.updated", "dispute_id"));
    expect(timesOf("dispute.resolved", "dispute_id").size).toBe(0);
    const rated = new Map(seen.ratings.map(({ did, n }) => [did, n]));
    expect([rated.get(within.consumer.did), rated.get(abroad.provider.did)]).toEqual([COUNT, COUNT / 2]);
    const alerts = await rows("select * from alerts where kind = 'arbitration' and subject like ?", `${late}%`);
    // An advance alerts no operator.
    expect(alerts).toEqual([]);
  });

  it("records the tasks, then the disputes, then the intents, and tasks and disputes in the order of their ends", () => {
    const types = seen.events.map(({ type }) => type);
    const kinds = types.filter((type, i) => type !== types[i - 1]);
    expect(kinds).toEqual(["task.closed", "dispute.updated", "intent.abandoned"]);
    const ends = (type: string, end: string) =>
      seen.events.filter((event) => event.type === type).map(({ object }) => Date.parse(JSON.parse(object)[end]));
    const closed = ends("task.closed", "closed_at");
    expect(closed).toEqual(closed.toSorted((a, b) => a - b));
    const escalated = ends("dispute.updated", "escalated_at");
    expect(escalated).toEqual(escalated.toSorted((a, b) => a - b));
  });
});

describe("a part that is not recorded (ACC-28)", () => {
  const opened = async () => {
    const world = await createWorld();
    const pair = await pairOf(world);
    await openTasks(world, pair, MANY);
    return { world, consumer: pair.consumer };
  };

  it("is recorded again before the advance answers", async () => {
    const { world, consumer } = await opened();
    await advanced(withResets(world, 2), 4 * DAY_S);
    expect(await byStatus("tasks", consumer)).toEqual({ auto_confirmed: MANY });
  });

  it("is left to the sweep, which returns to it however long ago it fell due", async () => {
    const { world, consumer } = await opened();
    const broken = withResets(world, Number.POSITIVE_INFINITY);
    await advanced(broken, 4 * DAY_S);
    expect(await byStatus("tasks", consumer)).toEqual({ open: MANY });
    await rows(
      "update platforms set clock_moved_at = ? where platform_id = ?",
      Date.now() - HOUR_S * 1_000,
      world.platformId,
    );
    await rows("update followers set read_through = ?", Date.now());
    await broken.run(sweepSandboxes);
    await world.run(sweepSandboxes);
    expect(await byStatus("tasks", consumer)).toEqual({ auto_confirmed: MANY });
  });
});
