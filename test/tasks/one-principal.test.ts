// Nobody is rated by its own principal, also where an agent came to it after the settlement (FAC-14, TSK-5).
import { beforeAll, expect, it } from "vitest";
import { confirm, facilitated, pairOf } from "../facilitation/support.ts";
import { storedAgent } from "../standing/account-support.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

it("a task between agents that have come to one principal closes, and rates neither", async () => {
  const pair = await pairOf(world);
  const { task } = await facilitated(world, pair);
  const body = { principal_id: pair.provider.principalId };
  const path = `/v1/agents/${pair.consumer.did}/transfer`;
  const { certificate } = expectStatus(await world.call("POST", path, { body }), 200);
  const closed = expectStatus(await confirm(world, { ...pair.consumer, certificate }, task), 200);
  expect(closed).toMatchObject({ status: "confirmed", provider_ar: null, consumer_ar: null });
  for (const { did } of [pair.provider, pair.consumer]) {
    expect(await storedAgent(world, did)).toMatchObject({ ratingInteractions: 0, agentRating: null });
  }
});
