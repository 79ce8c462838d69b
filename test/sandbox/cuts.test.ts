// The isolate dies at each step of an advance of a sandbox's clock (ACC-28): the clock is moved once or not at all, and the minute's sweep records
// the rest of what fell due, each row and each event once.
import { beforeAll, expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import { sweepSandboxes } from "../../src/sandbox/sweep.ts";
import { asConsumer, type Pair, paid, pairOf } from "../facilitation/support.ts";
import { follow } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { CHAINS } from "../support/chain.ts";
import { copyRow } from "../support/copies.ts";
import { killAt } from "../support/cuts.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { ADVANCE, DAY_S, offsetOf } from "./support.ts";

const FOUR_DAYS_MS = 4 * DAY_MS;
/** Tasks, and intents, of each stage. */
const DUE = 2;

let world: World;
let pair: Pair;
let taskId: string;
let intentId: string;
let stages = 0;
beforeAll(async () => {
  // On one network, so that a call has fewer steps.
  const NETWORKS = JSON.stringify(CHAINS.filter(({ network }) => network === "base-sepolia"));
  world = await createWorld({ NETWORKS });
  pair = await pairOf(world);
  taskId = expectStatus(await asConsumer(world, await paid(world, pair)), 200).task_id;
  intentId = (await world.intent(pair.consumer, pair.provider)).intent_id;
  // Templates, which fall due in no stage.
  await rows("update tasks set confirm_by = confirm_by + ? where task_id = ?", 1_000 * DAY_MS, taskId);
  await rows("update payment_intents set expires_at = expires_at + ? where intent_id = ?", 1_000 * DAY_MS, intentId);
});

type Stage = { readonly world: World; readonly key: string; readonly from: number; readonly name: string };

/** Tasks and intents that end within four days of the sandbox's clock. */
async function open(): Promise<Stage> {
  const name = `s${++stages}`;
  const from = await offsetOf(world);
  const end = Date.now() + from + DAY_MS;
  const named = (...columns: string[]) =>
    Object.fromEntries(columns.map((column) => [column, `t.${column} || '-${name}-' || i`]));
  const ids = named("transaction_id", "task_id");
  const settled = { ...ids, ...named("intent_id"), log_index: `t.log_index + ${stages * DUE} + i` };
  await copyRow("transactions", `task_id = '${taskId}'`, settled, { to: DUE });
  const ends = { opened_at: String(end - 3 * DAY_MS), confirm_by: String(end) };
  await copyRow("tasks", `task_id = '${taskId}'`, { ...ids, ...ends }, { to: DUE });
  const intents = { ...named("intent_id", "intent_hash"), expires_at: String(end) };
  await copyRow("payment_intents", `intent_id = '${intentId}'`, intents, { to: DUE });
  return { world, key: crypto.randomUUID(), from, name };
}

const advance = (of: World, { key }: Stage) =>
  of.call("POST", ADVANCE, { body: { seconds: 4 * DAY_S }, headers: { "Idempotency-Key": key } });

/** How often the events of a type name each object of a stage. */
async function told({ name }: Stage, type: string, id: string): Promise<number[]> {
  const found = await rows(
    "select count(*) as n from events where type = ? and object ->> ? like ? group by object ->> ?",
    ...[type, id, `%-${name}-%`, id],
  );
  return found.map(({ n }) => n);
}
const interactions = async (): Promise<number[]> => {
  const { consumer, provider } = pair;
  const found: Json[] = await rows(
    "select rating_interactions as n from agents where did in (?, ?)",
    consumer.did,
    provider.did,
  );
  return found.map(({ n }) => n);
};

async function expectRecordedOnce(stage: Stage): Promise<void> {
  const like = `%-${stage.name}-%`;
  expect(await rows("select status, closed_at = confirm_by as timely from tasks where task_id like ?", like)).toEqual(
    Array.from({ length: DUE }, () => ({ status: "auto_confirmed", timely: 1 })),
  );
  expect(await rows("select status, abandon_rated as rated from payment_intents where intent_id like ?", like)).toEqual(
    Array.from({ length: DUE }, () => ({ status: "ABANDONED", rated: 1 })),
  );
  expect(await told(stage, "task.closed", "task_id")).toEqual([1, 1]);
  expect(await told(stage, "intent.abandoned", "intent_id")).toEqual([1, 1]);
  expect(await interactions()).toEqual([stages * DUE, stages * DUE]);
}

it("an advance that dies at any step moves the clock once, and what fell due is recorded once", async () => {
  const names: string[] = [];
  // A death after a step is one before the next step.
  for (let step = 1; ; step++) {
    const stage = await open();
    const { from } = stage;
    const cut = await killAt(world, { step, moment: "before" }, (dying) => advance(dying, stage));
    if (!cut) break;
    names.push(cut.name);
    expect([from, from + FOUR_DAYS_MS]).toContain(await offsetOf(world));
    // The caller has no answer and asks again.
    expectStatus(await advance(world, stage), 200);
    expect(await offsetOf(world)).toBe(from + FOUR_DAYS_MS);
    await follow(world);
    await world.run(sweepSandboxes);
    await expectRecordedOnce(stage);
  }
  // The commit of the clock, and the parts that the object records.
  expect(names).toEqual(expect.arrayContaining(["DB.batch", "SANDBOXES.record"]));
});
