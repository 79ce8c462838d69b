// The isolate dies at each step of an advance of a sandbox clock, and of the object that records what fell due (ACC-28): the clock is moved once or
// not at all, and the minute's sweep records the rest, each row and each event once.
import { runInDurableObject } from "cloudflare:test";
import { beforeAll, expect, it } from "vitest";
import type { Env } from "../../src/context.ts";
import { DAY_MS } from "../../src/core/limits.ts";
import { pickRatingMethod } from "../../src/ratings/method.ts";
import { toConsumerSignal, toContribution } from "../../src/ratings/rating.ts";
import { sweepSandboxes } from "../../src/sandbox/due.ts";
import { asConsumer, type Pair, paid, pairOf } from "../facilitation/support.ts";
import { follow } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { interceptDatabase, type Step } from "../support/bindings.ts";
import { CHAINS } from "../support/chain.ts";
import { copyRow } from "../support/copies.ts";
import { cutsLeaving, isBeside, killAtEveryStep, type Leaving, leftAt, momentsOfMany } from "../support/cuts.ts";
import { type Agent, createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { ADVANCE, DAY_S, offsetOf } from "./support.ts";

const FOUR_DAYS_MS = 4 * DAY_MS;
/** The number of tasks and of intents in each stage, and the amount of each. */
const [DUE, AMOUNT] = [2, 10];

let world: World;
let pair: Pair;
let taskId: string;
let intentId: string;
let stages = 0;
/** The weight for which the consumer is rated in all stages. */
let weight = 0;
beforeAll(async () => {
  // On one network, so that a call has fewer steps.
  const NETWORKS = JSON.stringify(CHAINS.filter(({ network }) => network === "base-sepolia"));
  world = await createWorld({ NETWORKS });
  pair = await pairOf(world);
  taskId = expectStatus(await asConsumer(world, await paid(world, pair)), 200).task_id;
  intentId = (await world.intent(pair.consumer, pair.provider)).intent_id;
  // These are templates, which fall due in no stage.
  await rows("update tasks set confirm_by = confirm_by + ? where task_id = ?", 1_000 * DAY_MS, taskId);
  await rows("update payment_intents set expires_at = expires_at + ? where intent_id = ?", 1_000 * DAY_MS, intentId);
});

type Stage = { readonly world: World; readonly key: string; readonly from: number; readonly name: string };

/** Opens tasks and intents that end within four days of the sandbox clock. */
async function open(): Promise<Stage> {
  const name = `s${++stages}`;
  const from = await offsetOf(world);
  const end = Date.now() + from + DAY_MS;
  // No rating of earlier stages may be due, because it would be a part of its own.
  await rows("update agents set republish_at = null");
  const named = (...columns: string[]) =>
    Object.fromEntries(columns.map((column) => [column, `t.${column} || '-${name}-' || i`]));
  const ids = named("transaction_id", "task_id");
  const settled = { ...ids, ...named("intent_id"), log_index: `t.log_index + ${stages * DUE} + i` };
  await copyRow("transactions", `task_id = '${taskId}'`, settled, { to: DUE });
  const ends = { opened_at: String(end - 3 * DAY_MS), confirm_by: String(end) };
  await copyRow("tasks", `task_id = '${taskId}'`, { ...ids, ...ends }, { to: DUE });
  const intents = { ...named("intent_id", "intent_hash"), expires_at: String(end) };
  await copyRow("payment_intents", `intent_id = '${intentId}'`, intents, { to: DUE });
  const method = pickRatingMethod(world.deps.env, "sandbox");
  for (const signal of ["auto_confirmed", "intent_abandoned"] as const)
    weight += DUE * toContribution(method, toConsumerSignal(method, signal, AMOUNT), end).weight;
  return { world, key: crypto.randomUUID(), from, name };
}

const advance = (of: World, { key }: Stage) =>
  of.call("POST", ADVANCE, { body: { seconds: 4 * DAY_S }, headers: { "Idempotency-Key": key } });

/** How often events of a type name each object of a stage. */
async function told({ name }: Stage, type: string, id: string): Promise<number[]> {
  const found = await rows(
    "select count(*) as n from events where type = ? and object ->> ? like ? group by object ->> ?",
    ...[type, id, `%-${name}-%`, id],
  );
  return found.map(({ n }) => n);
}
const ratedOf = async ({ did }: Agent): Promise<Json> =>
  (await rows("select rating_interactions as interactions, rating_weight as weight from agents where did = ?", did))[0];

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
  expect(await ratedOf(pair.provider)).toMatchObject({ interactions: stages * DUE });
  expect(await ratedOf(pair.consumer)).toEqual({ interactions: stages * DUE, weight: expect.closeTo(weight, 6) });
}

/** Makes the trips of the recording object steps too, one after the other. */
async function reachRecorder(step: Step): Promise<void> {
  const object = env.SANDBOXES.get(env.SANDBOXES.idFromName(world.platformId));
  await runInDurableObject(object, (instance) => {
    const own = Reflect.get(instance, "env") as Env;
    let last: Promise<unknown> = Promise.resolve();
    const inTurn: Step = (name, go) => {
      const turn = last.then(() => step(`SANDBOXES: ${name}`, go));
      last = turn.catch(() => undefined);
      return turn;
    };
    Object.assign(instance, { env: { ...own, DB: interceptDatabase(own.DB, inTurn) } });
  });
}

/** The numbers of closed tasks, abandoned intents and rated intents that a dead isolate has left. */
async function left({ name, from }: Stage): Promise<string> {
  if ((await offsetOf(world)) === from) return UNMOVED;
  const [recorded] = await rows(
    `select (select count(*) from tasks where task_id like ?1 and status = 'auto_confirmed') as tasks,
       (select count(*) from payment_intents where intent_id like ?1 and status = 'ABANDONED') as intents,
       (select sum(abandon_rated) from payment_intents where intent_id like ?1) as rated`,
    `%-${name}-%`,
  );
  return `${recorded.tasks} ${recorded.intents} ${recorded.rated}`;
}
const UNMOVED = "unmoved";

const STEPS: readonly Leaving[] = [
  ["DB.batch", UNMOVED],
  ["IDEMPOTENCY.begin", UNMOVED],
  // The call is read again with its own clock, and the chain is read.
  ["DB.batch", UNMOVED],
  ["DB.batch", UNMOVED],
  ["DB.batch", UNMOVED],
  ["DB.batch", UNMOVED, "0 0 0"],
  ["OUTBOX_QUEUE.send"],
  ["DB.batch", "0 0 0"],
  ["SANDBOXES.record", "0 0 0", "2 0 0"],
  // One task after the other.
  ["SANDBOXES: DB.batch", "0 0 0"],
  ["SANDBOXES: DB.batch", "0 0 0", "1 0 0"],
  ["SANDBOXES: DB.batch", "1 0 0"],
  ["SANDBOXES: DB.batch", "1 0 0", "2 0 0"],
  ["SANDBOXES.record", "2 0 0", "2 2 0"],
  // All intents at once.
  ["SANDBOXES: DB.batch", "2 0 0"],
  ["SANDBOXES: DB.batch", "2 0 0"],
  ["SANDBOXES: DB.batch", "2 0 0", "2 1 0"],
  ["SANDBOXES: DB.batch", "2 1 0", "2 2 0"],
  // Rows that are due because of what was recorded.
  ["DB.batch", "2 2 0"],
  ["SANDBOXES.record", "2 2 0", "2 2 2"],
  ["SANDBOXES: DB.batch", "2 2 0"],
  ["SANDBOXES: DB.batch", "2 2 0", "2 2 1"],
  ["SANDBOXES: DB.batch", "2 2 1"],
  ["SANDBOXES: DB.batch", "2 2 1", "2 2 2"],
  ["DB.batch", "2 2 2"],
  ["IDEMPOTENCY.end"],
];

it("an advance that dies at any step moves the clock once, and everything due is recorded once", async () => {
  const found: string[] = [];
  await killAtEveryStep(
    open,
    advance,
    async (stage, cut) => {
      found.push(leftAt(cut, isBeside(cut) ? undefined : await left(stage)));
      // The caller has no answer and repeats the call.
      expectStatus(await advance(world, stage), 200);
      expect(await offsetOf(world)).toBe(stage.from + FOUR_DAYS_MS);
      await follow(world);
      await world.run(sweepSandboxes);
      await expectRecordedOnce(stage);
    },
    momentsOfMany(),
    reachRecorder,
  );
  expect(found).toEqual(cutsLeaving(STEPS, momentsOfMany()));
});
