// The isolate dies at each step of a promotion (AGT-34): the promotion is made whole or not at all, and a retry under the same Idempotency-Key
// results in one promotion (IDM-3).
import { beforeAll, expect, it } from "vitest";
import {
  expectReplay,
  isAdmitted,
  left,
  leftBy,
  newStage,
  PROMOTION,
  type Stage,
  timesMade,
} from "../agents/cuts-support.ts";
import { killAtEveryStep } from "../support/cuts.ts";
import { createWorld, type World } from "../support/world.ts";
import { promote, under } from "./support.ts";

let world: World;
let principalId: string;
beforeAll(async () => {
  world = await createWorld();
  principalId = await world.principal();
});

const promoteOnce = (by: World, { agent, headers }: Stage) => promote(by, agent.did, {}, { headers });

it("a promotion is whole or not begun wherever the isolate dies, and its retry completes it once", async () => {
  const made: number[] = [];
  const cuts = await killAtEveryStep(
    () => newStage(world, principalId),
    promoteOnce,
    async (stage) => {
      const times = await timesMade(stage);
      made.push(times);
      expect(await left(stage, PROMOTION)).toEqual(leftBy(times, PROMOTION));
      const { agent } = stage;
      const moved = expectReplay(await promoteOnce(world, stage), times);
      expect(await left(stage, PROMOTION)).toEqual(leftBy(1, PROMOTION));
      expect([await isAdmitted(stage, agent), await isAdmitted(stage, under(agent, moved))]).toEqual([false, true]);
    },
  );
  expect(cuts.map(({ moment, name }, n) => `${moment} ${name}: ${made[n]}`)).toEqual([
    "before AGENTS.lock: 0",
    "after AGENTS.lock: 0",
    "before DB.batch: 0",
    "after DB.batch: 0",
    "before IDEMPOTENCY.begin: 0",
    "after IDEMPOTENCY.begin: 0",
    "before DB.batch: 0",
    "after DB.batch: 1",
    "before OUTBOX_QUEUE.send: 1",
    "after OUTBOX_QUEUE.send: 1",
    "before IDEMPOTENCY.end: 1",
    "after IDEMPOTENCY.end: 1",
  ]);
});
