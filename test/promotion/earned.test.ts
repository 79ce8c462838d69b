// An agent's earnings in test money stay in the sandbox, even if they are written during its promotion (AGT-34).
import { beforeEach, expect, it } from "vitest";
import { HOUR_MS } from "../../src/core/limits.ts";
import { autoConfirmTasks } from "../../src/tasks/confirm.ts";
import { storedAgent } from "../cascades/account-support.ts";
import { facilitated, pairOf } from "../facilitation/support.ts";
import { moveClock } from "../support/clock.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import { promote, promoted } from "./support.ts";

let world: World;
beforeEach(async () => {
  world = await createWorld();
});

it("a rating of the sandbox that is written between a promotion's trips is not carried over", async () => {
  const pair = await pairOf(world);
  await facilitated(world, pair);
  world.advance(73 * HOUR_MS);
  // An earlier call records the use of the key, so that the second trip is the promotion's.
  expectStatus(await world.call("GET", "/v1/agents", { key: world.liveKey }), 200);
  world.meter.beforeBatch(2, () => world.run(autoConfirmTasks));
  await promoted(world, pair.consumer.did);
  const { ratingInteractions, ratingWeight, ratingCounterparties, agentRating, settledVolumes, ratingHeaviest } =
    (await storedAgent(world, pair.consumer.did)) ?? {};
  expect([ratingInteractions, ratingWeight, ratingCounterparties, agentRating, settledVolumes]).toEqual([
    0,
    0,
    0,
    null,
    {},
  ]);
  expect(ratingHeaviest).toEqual([]);
});

it("a task that is over on the clock of its sandbox is no longer open (ACC-9)", async () => {
  const pair = await pairOf(world);
  await facilitated(world, pair);
  const refused = await promote(world, pair.consumer.did);
  expect([refused.status, refused.body.detail]).toEqual([409, { open: { intents: 0, tasks: 1, disputes: 0 } }]);
  await moveClock(world, 73 * HOUR_MS);
  const { body } = await world.call("GET", `/v1/agents/${pair.consumer.did}/overview`);
  expect(body.open).toEqual({ intents: 0, tasks: 0, disputes: 0 });
  await promoted(world, pair.consumer.did);
});
