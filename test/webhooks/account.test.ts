// Webhooks of an account on its way (EVT-22): they may be made before its documents are submitted, and tell of the decision.
import { expect, it } from "vitest";
import { REQUIRED_DOCUMENTS } from "../../src/core/vocabulary.ts";
import { ask, complete, decide, submit } from "../accounts/review-support.ts";
import { signUp } from "../accounts/support.ts";
import { createWorld, expectStatus } from "../support/world.ts";
import { receiver } from "./support.ts";

const world = await createWorld();
const decided = { event_types: ["platform.verification_decided"] };

it("an account that has no profile yet makes one, and nobody without a key does", async () => {
  const { key } = await signUp(world);
  const body = { url: "https://hooks.example.com/", ...decided };
  expect(expectStatus(await world.call("POST", "/v1/webhooks", { key, body }), 201).environment).toBe("sandbox");
  expect((await world.call("POST", "/v1/webhooks", { key: null, body })).status).toBe(401);
});

it("the decision comes to the endpoint that was made before the documents", { timeout: 60_000 }, async () => {
  const person = await complete(world);
  const there = await receiver();
  const body = { url: there.url, ...decided };
  expectStatus(await world.call("POST", "/v1/webhooks", { key: person.key, body }), 201);
  for (const type of REQUIRED_DOCUMENTS) await submit(world, person, type);
  expectStatus(await ask(world, person, "POST", "/v1/platform/verification"), 200);
  expectStatus(await decide(world, person, { decision: "approve", accreditation_tier: "TIER_2" }), 200);
  await expect.poll(there.received, { timeout: 20_000 }).toHaveLength(1);
  const [got] = await there.received();
  expect(JSON.parse(got?.body ?? "")).toMatchObject({
    type: "platform.verification_decided",
    data: { object: { platform_id: person.platformId } },
  });
});
