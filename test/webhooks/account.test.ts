// Webhooks of a new account (EVT-22): it may create them before it submits its documents, and they report the decision.
import { expect, it } from "vitest";
import { REQUIRED_DOCUMENTS } from "../../src/core/vocabulary.ts";
import { ask, complete, decide, submit } from "../accounts/review-support.ts";
import { signUp } from "../accounts/support.ts";
import { expectStatus } from "../support/world.ts";
import { asleep, receiver, settle } from "./support.ts";

const world = await asleep();
const decided = { event_types: ["platform.verification_decided"] };

it("lets an account without a profile create an endpoint, but no caller without a key", async () => {
  const { key } = await signUp(world);
  const body = { url: "https://hooks.example.com/", ...decided };
  expect(expectStatus(await world.call("POST", "/v1/webhooks", { key, body }), 201).environment).toBe("sandbox");
  expect((await world.call("POST", "/v1/webhooks", { key: null, body })).status).toBe(401);
});

it("delivers the decision to an endpoint that was created before the documents were submitted", async () => {
  const person = await complete(world);
  const there = await receiver();
  const body = { url: there.url, ...decided };
  const made = expectStatus(await world.call("POST", "/v1/webhooks", { key: person.key, body }), 201);
  for (const type of REQUIRED_DOCUMENTS) await submit(world, person, type);
  expectStatus(await ask(world, person, "POST", "/v1/platform/verification"), 200);
  expectStatus(await decide(world, person, { decision: "approve", accreditation_tier: "TIER_2" }), 200);
  await settle(world, made);
  const [got, ...more] = await there.received();
  expect(more).toEqual([]);
  expect(JSON.parse(got?.body ?? "")).toMatchObject({
    type: "platform.verification_decided",
    data: { object: { platform_id: person.platformId } },
  });
});
