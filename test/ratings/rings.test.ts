// Ratings resist agents that praise each other (TSK-13, FAC-14), and forgive old faults (TSK-7).
import { inArray } from "drizzle-orm";
import { beforeAll, expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import { agents } from "../../src/db/tables/agents.ts";
import { autoConfirmTasks } from "../../src/tasks/confirm.ts";
import { facilitated } from "../facilitation/support.ts";
import { copyRow } from "../support/copies.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { Play } from "./history-play.ts";

const RING = 20;
const SERIES = 11;

let world: World;
let ring: Agent[];
let outsider: Agent;
/** One principal for each agent of a series. */
let apart: string[];
beforeAll(async () => {
  world = await createWorld();
  const principals = [await world.principal(), await world.principal()];
  ring = [];
  for (let n = 0; n < RING; n++) ring.push(await world.consumer({ principal_id: principals[n % 2] }));
  outsider = await world.consumer();
  apart = [];
  for (let n = 0; n < SERIES; n++) apart.push(await world.principal());
  const dids = [...ring, outsider].map(({ did }) => did);
  await world.deps.db.update(agents).set({ environment: "production" }).where(inArray(agents.did, dids));
});

const ratingOf = async ({ did }: { did: string }): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/agents/${did}/rating`, { key: null }), 200);

/** Makes a settled task for each pair, whose window is over. The minute's job closes it with all praise. */
async function trade(pairs: readonly (readonly [provider: Agent, consumer: Agent])[], name: string): Promise<void> {
  const { task } = await facilitated(world);
  const side = (of: number) => {
    const dids = JSON.stringify(pairs.map((pair) => pair[of]?.did));
    return `(select value from json_each('${dids}') where key = i - 1)`;
  };
  const changed = {
    environment: "'production'",
    task_id: `'tsk_${name}_' || i`,
    transaction_id: `'txn_${name}_' || i`,
    intent_id: `'int_${name}_' || i`,
    provider_did: side(0),
    consumer_did: side(1),
    // Each side is rated under the principal that answered for the other one then (TSK-22).
    provider_principal_id: `(select principal_id from agents where did = ${side(0)})`,
    consumer_principal_id: `(select principal_id from agents where did = ${side(1)})`,
  };
  const settled = { ...changed, log_index: "t.log_index + i", consumer_willed: "1" };
  await copyRow("transactions", `task_id = '${task}'`, settled, { to: pairs.length });
  const due = { ...changed, confirm_by: String(world.now() - 1) };
  await copyRow("tasks", `task_id = '${task}'`, due, { to: pairs.length });
  // Among many tasks of one agent, one may lose each of its tries: the next minute finds it again.
  let closed = 0;
  for (let minute = 0; minute < 3; minute++) closed += await world.run(autoConfirmTasks);
  expect(closed).toBe(pairs.length);
}

it("publishes no rating for a ring of twenty agents under two principals, however much it trades", async () => {
  // A payment within one principal opens no task (FAC-14), so each agent trades with the ten of the other principal.
  const pairs = ring.flatMap((provider, n) =>
    ring.filter((_, m) => n % 2 !== m % 2).map((consumer) => [provider, consumer] as const),
  );
  await trade(pairs, "ring");
  for (const agent of ring) {
    const told = { interactions: RING, counterparties: 1, agent_rating: null };
    expect(await ratingOf(agent)).toMatchObject(told);
  }
  // One task with a stranger is enough, but only for the agent that had it.
  const [first, ...others] = ring;
  if (!first) throw new Error("unreachable: a ring of none");
  await trade([[first, outsider]], "outside");
  expect(await ratingOf(first)).toMatchObject({ counterparties: 2, agent_rating: expect.any(Number) });
  for (const agent of [...others, outsider]) expect((await ratingOf(agent)).agent_rating).toBeNull();
});

const DAYS = [0, 90, 180, 360];

/**
 * The published ratings of an agent with ten consumers, each under its own principal. It sells for 10.00 to each, and then every week to one of them.
 */
async function series({ faults, sells }: { faults: number; sells: boolean }): Promise<(number | null)[]> {
  const dids = ring.slice(0, SERIES).map(({ did }) => did);
  const method = expectStatus(await world.call("GET", "/v1/rating-method", { key: null }), 200);
  world.offset = 0;
  const play = await Play.begin(world, method, { dids, principals: apart }, "production");
  const task = (consumer: number, name: string) => {
    const own = { provider: { name, score: 0 }, consumer: { name: "answered_promptly", score: 0 } };
    return play.task({ provider: 0, consumer, at: play.now, units: 10_000_000, own, silent: false });
  };
  for (let n = 0; n < 10; n++) await task(1 + n, n < faults ? "rejected" : "confirmed");
  const seen: (number | null)[] = [];
  const [first = ""] = dids;
  for (let day = 0; day <= 360; day++) {
    if (day > 0) world.advance(DAY_MS);
    if (day > 0 && day % 7 === 0 && sells) await task(1 + ((day / 7) % 10), "confirmed");
    if (DAYS.includes(day)) seen.push((await ratingOf({ did: first })).agent_rating);
  }
  await play.compare(play.now);
  return seen;
}

it.each([
  ["ten old faults and good work since", { faults: 10, sells: true }, [0.08, 0.62, 0.81, 0.92]],
  ["five of ten at fault and good work since", { faults: 5, sells: true }, [0.5, 0.78, 0.88, 0.94]],
  ["no fault ever", { faults: 0, sells: true }, [0.92, 0.94, 0.95, 0.95]],
  ["ten old faults and no work since", { faults: 10, sells: false }, [0.08, 0.14, 0.22, 0.38]],
])("lets old faults decay: %s, after 0, 90, 180 and 360 days", async (_name, history, expected) => {
  expect(await series(history)).toEqual(expected);
});
