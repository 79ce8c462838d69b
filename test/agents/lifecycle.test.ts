// From registration to an ACTIVE, verifiable agent (AGT-1, AGT-14).
import { beforeAll, describe, expect, it } from "vitest";
import { agentBody, createWorld, expectStatus, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

describe("registration", () => {
  it("returns the full unsigned document with status DRAFT", async () => {
    const principal_id = await world.principal();
    const reply = await world.call("POST", "/v1/agents", { body: { ...agentBody("PROVIDER"), principal_id } });
    const aid = expectStatus(reply, 201);
    expect(aid).toMatchObject({ status: "DRAFT", proof: null, version: 1, live: { status: "DRAFT" } });
    expect(Object.keys(aid)).toEqual(
      expect.arrayContaining(["identity", "performance", "escrow", "disputes", "governance"]),
    );
  });
});

describe("activation", () => {
  it("returns the private key once, and the agent is ACTIVE with a signed document", async () => {
    const agent = await world.agent("CONSUMER");
    const status = expectStatus(await world.call("GET", `/v1/agents/${agent.did}/status`, { key: null }), 200);
    expect(status).toMatchObject({ status: "ACTIVE", environment: "sandbox", escrow_state: null, agent_rating: null });
    const aid = expectStatus(await world.call("GET", `/v1/agents/${agent.did}/aid`, { key: null }), 200);
    expect(aid.proof).toMatch(/^[\w-]+\.\.[\w-]+$/);
    expect(aid.identity.certificate).toBe(agent.certificate);
  });
});
