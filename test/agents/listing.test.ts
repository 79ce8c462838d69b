// The listing of agents, its pages and its filters (AGT-11, HTTP-26, HTTP-27).
import { beforeAll, describe, expect, it } from "vitest";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { registerAgent, registrationOf } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

describe("the listing of agents", () => {
  const list = async (of: World, query = "", key = of.key) =>
    expectStatus(await of.call("GET", `/v1/agents${query}`, { key }), 200);
  const dids = (page: Json): string[] => page.data.map((agent: Json) => agent.did);

  it("shows each agent once, newest first, while others are being registered", async () => {
    const fresh = await createWorld();
    const principal_id = await fresh.principal();
    const registered: string[] = [];
    for (let i = 0; i < 7; i++) registered.push((await fresh.draft("CONSUMER", { principal_id })).did);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Json = await list(fresh, `?limit=3${cursor === null ? "" : `&cursor=${cursor}`}`);
      seen.push(...dids(page));
      cursor = page.next_cursor;
      await fresh.draft("CONSUMER", { principal_id });
    } while (cursor !== null);
    expect(new Set(seen).size).toBe(seen.length);
    expect([...seen].sort()).toEqual([...registered].sort());
  });

  it("narrows to a principal, a role and an effective status, and stays in its platform and environment", async () => {
    const fresh = await createWorld();
    const consumer = await fresh.consumer();
    const provider = await fresh.agent("PROVIDER");
    const draft = await fresh.draft("CONSUMER");
    const live = expectStatus(
      await registerAgent(fresh, registrationOf(fresh.tenantPrincipalId, "CONSUMER"), fresh.liveKey),
      201,
    );
    expect(dids(await list(fresh, `?principal_id=${consumer.principalId}`))).toEqual([consumer.did]);
    expect(dids(await list(fresh, "?economic_role=PROVIDER"))).toEqual([provider.did]);
    expect(dids(await list(fresh, "?status=DRAFT"))).toEqual([draft.did]);
    expect(dids(await list(fresh, "", fresh.liveKey))).toEqual([live.did]);
    expect(dids(await list(world, `?principal_id=${consumer.principalId}`))).toEqual([]);
    const { principalId } = consumer;
    expectStatus(await fresh.call("POST", `/v1/principals/${principalId}/suspend`, { body: { reason: "asked" } }), 200);
    expect(dids(await list(fresh, "?status=ACTIVE"))).toEqual([provider.did]);
    expect(dids(await list(fresh, "?status=SUSPENDED"))).toEqual([consumer.did]);
  });
});
