// A restatement of more agents than one slice (ACC-19): each agent gets one new version, whatever dies or happens in between.
import { beforeEach, describe, expect, it, vi } from "vitest";
import { finishRestatements } from "../../src/cascades/restate-agents.ts";
import { SLICE } from "../../src/jobs/walk.ts";
import { deliver } from "../support/queue.ts";
import { withVars } from "../support/variants.ts";
import { expectStatus, type World } from "../support/world.ts";
import {
  agentRows,
  dyingRename,
  many,
  nameIn,
  numbersOf,
  RENAMED,
  rename,
  restatementsLeft,
  statedNames,
  updatesOf,
  usedWorld,
  version,
} from "./restate-support.ts";
import { patch } from "./support.ts";

vi.spyOn(console, "error").mockImplementation(() => undefined);

const QUEUE = "agent-accountability-jobs";

let world: World;
beforeEach(async () => {
  world = await usedWorld();
});

/** Keeps the messages of jobs for the test. */
function heldQueue(): { held: World; sent: unknown[] } {
  const sent: unknown[] = [];
  const queue = { send: async (message: unknown) => void sent.push(message) };
  return { held: withVars(world, { JOB_QUEUE: queue as never }), sent };
}

describe("a change with more agents than one slice", () => {
  const count = 2 * SLICE + 50;
  const old = () => `Platform ${world.platformId}`;

  it("reaches each of them once", async () => {
    await many(world, count);
    await rename(world);
    expect(await numbersOf(world)).toEqual(Array.from({ length: count }, () => [3, 3]));
    expect(await statedNames(world, 2)).toEqual({ [old()]: count });
    expect(await statedNames(world, 3)).toEqual({ [RENAMED]: count });
    expect(await updatesOf(world)).toEqual(Array.from({ length: count }, () => 1));
    expect(await restatementsLeft(world)).toEqual([]);
    expect(await world.run(finishRestatements)).toBe(0);
  });

  it.each([
    ["before the second slice is read", 3, SLICE],
    ["before the second slice is written", 4, SLICE],
    ["before the third slice is written", 6, 2 * SLICE],
  ])("that dies %s is continued by the job, and reaches each agent once", async (_when, trip, reached) => {
    await many(world, count);
    world.meter.beforeBatch(trip, () => Promise.reject(new Error("the isolate died")));
    await rename(world);
    expect(await statedNames(world, 3)).toEqual({ [RENAMED]: reached });
    expect(await restatementsLeft(world)).toHaveLength(1);
    // An agent that is not reached yet is read as it was signed.
    const last = (await agentRows(world)).at(-1)?.did ?? "";
    expect((await agentRows(world)).at(-1)?.version).toBe(2);
    expect(nameIn(await version(world, last, 2))).toBe(old());

    expect(await world.run(finishRestatements)).toBe(1);
    expect(await statedNames(world, 3)).toEqual({ [RENAMED]: count });
    expect(await numbersOf(world)).toEqual(Array.from({ length: count }, () => [3, 3]));
    expect(await updatesOf(world)).toEqual(Array.from({ length: count }, () => 1));
    expect(await restatementsLeft(world)).toEqual([]);
    expect(await world.run(finishRestatements)).toBe(0);
  });

  it("is continued by messages of the queue, also by simultaneous ones", async () => {
    await many(world, count);
    await dyingRename(world);
    const message = { kind: "record", job: finishRestatements.name, ids: [world.tenantPrincipalId] };
    await Promise.all([1, 2, 3].map(() => deliver(world, QUEUE, [message, message])));
    expect(await numbersOf(world)).toEqual(Array.from({ length: count }, () => [3, 3]));
    expect(await updatesOf(world)).toEqual(Array.from({ length: count }, () => 1));
    expect(await restatementsLeft(world)).toEqual([]);
  });

  it("leaves the agents beyond one invocation's limit to the queue, which finishes them", async () => {
    const agentsInAll = 7 * SLICE;
    await many(world, agentsInAll);
    const { held, sent } = heldQueue();
    expectStatus(await patch(held, world.key, { legal_name: RENAMED }), 200);
    expect(await statedNames(world, 3)).toEqual({ [RENAMED]: 6 * SLICE });
    const ids = [world.tenantPrincipalId];
    expect(sent).toEqual([{ kind: "record", job: finishRestatements.name, ids, apart: true }]);
    await deliver(world, QUEUE, sent);
    expect(await statedNames(world, 3)).toEqual({ [RENAMED]: agentsInAll });
    expect(await restatementsLeft(world)).toEqual([]);
  });

  it("lets another run overtake it between its read and its commit", async () => {
    await many(world, count);
    await dyingRename(world);
    // The job's trips: the open restatements, a slice read, a slice written.
    world.meter.beforeBatch(3, () => world.run(finishRestatements));
    expect(await world.run(finishRestatements)).toBe(0);
    expect(await numbersOf(world)).toEqual(Array.from({ length: count }, () => [3, 3]));
  });

  it("is taken over by a later one: all agents end with the latest name, and agents that the first missed get one version", async () => {
    await many(world, count);
    await dyingRename(world, "First GmbH");
    await rename(world, "Second GmbH");
    await world.run(finishRestatements);
    expect(await statedNames(world, 3)).toEqual({ "First GmbH": SLICE, "Second GmbH": count - SLICE });
    expect(await statedNames(world, 4)).toEqual({ "Second GmbH": SLICE });
    expect(await restatementsLeft(world)).toEqual([]);
  });

  it("is taken over between its read and its commit", async () => {
    await many(world, count);
    await dyingRename(world, "First GmbH");
    world.meter.beforeBatch(3, () => dyingRename(world, "Second GmbH"));
    await world.run(finishRestatements);
    await world.run(finishRestatements);
    expect(await statedNames(world, 3)).toEqual({ "First GmbH": SLICE, "Second GmbH": count - SLICE });
    expect(await statedNames(world, 4)).toEqual({ "Second GmbH": SLICE });
  });

  it("that is reverted leaves the agents that it has not reached unchanged", async () => {
    await many(world, count);
    await dyingRename(world);
    await rename(world, old());
    await world.run(finishRestatements);
    expect(await statedNames(world, 4)).toEqual({ [old()]: SLICE });
    expect(await numbersOf(world)).toEqual(Array.from({ length: count }, (_, i) => (i < SLICE ? [4, 4] : [2, 2])));
  });
});
