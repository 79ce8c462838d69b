// More falls due in one advance than one part, one reading or one slice holds (ACC-28): all of it is recorded when the advance answers.
import { describe, expect, it } from "vitest";
import type { DuePart } from "../../src/objects/sandbox-object.ts";
import { sweepSandboxes } from "../../src/sandbox/sweep.ts";
import { asConsumer, type Pair, paid, pairOf } from "../facilitation/support.ts";
import { follow } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { attested } from "../support/clock.ts";
import { copyRow } from "../support/copies.ts";
import { withVars } from "../support/variants.ts";
import { type Agent, createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { advance, advanced, DAY_S, HOUR_S, offsetOf } from "./support.ts";

const one = async (text: string, ...values: unknown[]): Promise<Json> => (await rows(text, ...values))[0];
const suffixed = (...columns: string[]) =>
  Object.fromEntries(columns.map((column) => [column, `t.${column} || '-' || i`]));

/** So many purchases of a pair whose tasks are open; unwilled: of the form that rates nobody (TSK-12). */
async function openTasks(world: World, pair: Pair, count: number, willed = true): Promise<void> {
  const { task_id } = expectStatus(await asConsumer(world, await paid(world, pair)), 200);
  const where = `task_id = '${task_id}'`;
  const settled = { ...suffixed("transaction_id", "task_id", "intent_id"), log_index: "t.log_index + i" };
  if (!willed) await rows(`update transactions set consumer_willed = 0 where ${where}`);
  await copyRow("transactions", where, settled, { to: count - 1 });
  await copyRow("tasks", where, suffixed("task_id", "transaction_id"), { to: count - 1 });
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
/** How many objects an event was about, and how often the one that it was about the most; their beginning does not count. */
const told = ({ platformId }: World, type: string, id: string): Promise<Json> =>
  one(
    `select count(*) as objects, max(n) as times from (select count(*) as n from events
      where platform_id = ? and type = ? and object ->> 'status' <> 'ACTIVE' group by object ->> ?)`,
    platformId,
    type,
    id,
  );

describe("an advance records to the end (ACC-28)", () => {
  it("what is all of one pair, whose ratings each row changes", async () => {
    const [world, count] = [await createWorld(), 60];
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
  }, 120_000);

  it("more tasks than one reading finds, in exactly 30 days; and moves nothing by a second more", async () => {
    const [world, count] = [await createWorld(), 1_001];
    const pair = await pairOf(world);
    await openTasks(world, pair, count, false);
    const refused = await advance(world, { seconds: 30 * DAY_S + 1 });
    expect([refused.status, refused.body.field_errors[0].code]).toEqual([422, "too_big"]);
    expect(await offsetOf(world)).toBe(0);
    expect(await byStatus("tasks", pair.consumer)).toEqual({ open: count });
    await advanced(world, 30 * DAY_S);
    expect(await byStatus("tasks", pair.consumer)).toEqual({ auto_confirmed: count });
    expect(await told(world, "task.closed", "task_id")).toEqual({ objects: count, times: 1 });
  }, 240_000);

  it("the agents of a principal that has more than two slices of them", async () => {
    const [world, count] = [await createWorld(), 450];
    const principalId = await world.principal(attested(24));
    const { did } = await world.consumer({ principal_id: principalId });
    const vary = { did: "substr(t.did, 1, 30) || printf('%06d', i)" };
    await copyRow("agents", `did = '${did}'`, vary, { to: count - 1 });
    await copyRow("certificates", `did = '${did}'`, { ...vary, list_id: "-450", idx: "i" }, { to: count - 1 });
    await advanced(world, DAY_S);
    const statuses = "select status, count(*) as n from agents where principal_id = ? group by status";
    expect(await rows(statuses, principalId)).toEqual([{ status: "SUSPENDED", n: count }]);
    expect(await told(world, "agent.status_changed", "did")).toEqual({ objects: count, times: 1 });
    expect(await told(world, "principal.status_changed", "principal_id")).toEqual({ objects: 1, times: 1 });
    expect(await rows("select * from cascades where subject_id = ?", principalId)).toEqual([]);
  }, 120_000);
});

describe("a part that is not recorded (ACC-28)", () => {
  /** The platform's object is reset so many times, as a new version of the Worker does. */
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
  const opened = async () => {
    const world = await createWorld();
    const pair = await pairOf(world);
    await openTasks(world, pair, 30);
    return { world, consumer: pair.consumer };
  };

  it("is recorded again before the advance answers", async () => {
    const { world, consumer } = await opened();
    await advanced(withResets(world, 2), 4 * DAY_S);
    expect(await byStatus("tasks", consumer)).toEqual({ auto_confirmed: 30 });
  });

  it("is left to the sweep, which goes back to it however long ago it fell due", async () => {
    const { world, consumer } = await opened();
    const broken = withResets(world, Number.POSITIVE_INFINITY);
    await advanced(broken, 4 * DAY_S);
    expect(await byStatus("tasks", consumer)).toEqual({ open: 30 });
    await rows(
      "update platforms set clock_moved_at = ? where platform_id = ?",
      Date.now() - HOUR_S * 1_000,
      world.platformId,
    );
    await rows("update followers set read_through = ?", Date.now());
    await broken.run(sweepSandboxes);
    await world.run(sweepSandboxes);
    expect(await byStatus("tasks", consumer)).toEqual({ auto_confirmed: 30 });
  });
});
