// The state before an event (EVT-33). After every test file, test/support/events.ts checks that each event of these types has it.
import { beforeAll, expect, it } from "vitest";
import { facilitated } from "../facilitation/support.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

/** The newest event of the type about the subject, as the API lists it. */
async function newest(type: string, subject: string): Promise<Json> {
  const { data } = expectStatus(await world.call("GET", `/v1/events?type=${type}&subject=${subject}`), 200);
  return data[0].data;
}

it("an event of an agent has its previous status, also if its principal changes it", async () => {
  const { did, principalId } = await world.consumer();
  expect((await newest("agent.status_changed", did)).previous).toEqual({ status: "DRAFT" });
  expectStatus(await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "SUSPENDED" } }), 200);
  expect(await newest("agent.status_changed", did)).toMatchObject({
    object: { status: "SUSPENDED" },
    previous: { status: "ACTIVE" },
  });
  expectStatus(await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "ACTIVE" } }), 200);
  expectStatus(await world.call("POST", `/v1/principals/${principalId}/suspend`, { body: {} }), 200);
  expect((await newest("agent.status_changed", did)).previous).toEqual({ status: "ACTIVE" });
  expect((await newest("principal.status_changed", principalId)).previous).toEqual({ status: "ACTIVE" });
  expectStatus(
    await world.call("POST", `/v1/principals/${principalId}/reactivate`, { body: { reactivate_agents: true } }),
    200,
  );
  expect((await newest("agent.status_changed", did)).previous).toEqual({ status: "SUSPENDED" });
  expect((await newest("principal.status_changed", principalId)).previous).toEqual({ status: "SUSPENDED" });
});

it("an event of an agent has its previous key or principal", async () => {
  const { did, principalId } = await world.consumer();
  const { key_id } = expectStatus(await world.call("GET", `/v1/agents/${did}`), 200);
  expectStatus(await world.call("POST", `/v1/agents/${did}/rotate-key`, { body: {} }), 200);
  expect((await newest("agent.key_rotated", did)).previous).toEqual({ key_id });
  const body = { principal_id: await world.principal() };
  expectStatus(await world.call("POST", `/v1/agents/${did}/transfer`, { body }), 200);
  expect((await newest("agent.transferred", did)).previous).toEqual({ principal_id: principalId });
});

it("an event of a seller has the previous state of its escrow", async () => {
  const { provider } = await facilitated(world, undefined, "400.00");
  expect(await newest("agent.escrow_state_changed", provider.did)).toMatchObject({
    object: { escrow_state: "ACTIVE" },
    previous: { escrow_state: "FUNDING" },
  });
});

it("an event of another type has no previous state", async () => {
  const { did } = await world.draft("CONSUMER");
  expect(Object.keys(await newest("agent.registered", did))).toEqual(["object"]);
});
