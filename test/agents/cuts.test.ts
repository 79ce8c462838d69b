// The isolate dies at each step of a rotation (AGT-32): the rotation is made completely or not at all, and a retry with the same Idempotency-Key
// results in one rotation, whose answer has the valid key (IDM-3, IDM-8).
import { beforeAll, expect, it } from "vitest";
import { importPrivateKeyPem } from "../../src/protocol/ecdsa.ts";
import { killAtEveryStep } from "../support/cuts.ts";
import { createWorld, type World } from "../support/world.ts";
import { expectReplay, isAdmitted, left, leftBy, newStage, ROTATION, type Stage, timesMade } from "./cuts-support.ts";

let world: World;
let principalId: string;
beforeAll(async () => {
  world = await createWorld();
  principalId = await world.principal();
});

const rotate = (by: World, { agent, headers }: Stage) =>
  by.call("POST", `/v1/agents/${agent.did}/rotate-key`, { headers, body: { grace_hours: 0 } });

it("a rotation is made completely or not at all wherever the isolate dies, and its retry makes it once", async () => {
  const made: number[] = [];
  const cuts = await killAtEveryStep(
    () => newStage(world, principalId),
    rotate,
    async (stage) => {
      const times = await timesMade(stage);
      made.push(times);
      expect(await left(stage, ROTATION)).toEqual(leftBy(times, ROTATION));
      const { agent } = stage;
      const { certificate, private_key } = expectReplay(await rotate(world, stage), times);
      expect(await left(stage, ROTATION)).toEqual(leftBy(1, ROTATION));
      const renewed = { ...agent, certificate, privateKey: await importPrivateKeyPem(private_key) };
      expect([await isAdmitted(stage, agent), await isAdmitted(stage, renewed)]).toEqual([false, true]);
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
