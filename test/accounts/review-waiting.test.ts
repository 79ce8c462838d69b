// The alert `review_waiting` (JOB-9, ACC-21): a submitted account waits for an operator.
import { expect, it } from "vitest";
import { createWorld, expectStatus, type Json } from "../support/world.ts";
import { ask, decide, inReview, operate } from "./review-support.ts";

const VERIFICATION = "/v1/platform/verification";
const REJECTION = { decision: "reject", reason: "The certificate is of another company." };

it("raises one alert for all proposals of an account, and another one once it was acknowledged", async () => {
  const world = await createWorld();
  const person = await inReview(world);
  const waiting = async (): Promise<Json[]> =>
    expectStatus(await operate(world, "GET", "/v1/operator/alerts?limit=100"), 200).data.filter(
      ({ kind, subject }: Json) => kind === "review_waiting" && subject === `${person.platformId} proposes`,
    );
  const propose = async (body: Json) => expectStatus(await ask(world, person, "PATCH", "/v1/platform", { body }), 200);
  for (const legal_name of ["One Ltd", "Two Ltd", "One Ltd"]) await propose({ legal_name });
  await propose({ country: "FR" });
  const [alert, ...more] = await waiting();
  expect([more, alert?.seen, alert?.message]).toEqual([
    [],
    4,
    expect.stringContaining("The account proposes another country"),
  ]);
  expectStatus(await operate(world, "POST", `/v1/operator/alerts/${alert?.alert_id}/acknowledge`), 200);
  await propose({ legal_name: "Three Ltd" });
  expect((await waiting()).map(({ seen }) => seen)).toEqual([1]);
});

it("raises an alert for each submission, which is acknowledged like any other", async () => {
  const world = await createWorld();
  const person = await inReview(world);
  const waiting = async (): Promise<Json[]> =>
    expectStatus(await operate(world, "GET", "/v1/operator/alerts?limit=100"), 200).data.filter(
      ({ kind, subject }: Json) => kind === "review_waiting" && subject.startsWith(person.platformId),
    );
  const [first, ...none] = await waiting();
  expect(none).toEqual([]);
  expect(first).toMatchObject({
    seen: 1,
    message: `An account waits for its review: GET /v1/operator/platforms/${person.platformId}.`,
  });
  // The first alert stays until it is acknowledged, and does not absorb the second.
  expectStatus(await decide(world, person, REJECTION), 200);
  expectStatus(await ask(world, person, "POST", VERIFICATION), 200);
  expect((await waiting()).map(({ seen }) => seen)).toEqual([1, 1]);
  const path = `/v1/operator/alerts/${first?.alert_id}/acknowledge`;
  expectStatus(await operate(world, "POST", path), 200);
  expect(await waiting()).toHaveLength(1);
});
