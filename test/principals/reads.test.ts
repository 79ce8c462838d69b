// Lists and reads of principals, the tenant principal, other platforms, and the end of an attestation (PRN-5, PRN-12, ACC-6). listing.test.ts tests
// the lists by status.
import { beforeAll, describe, expect, it } from "vitest";
import { toIso } from "../../src/core/clock.ts";
import { DAY_MS } from "../../src/core/limits.ts";
import { withDeps } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, principalBody, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const list = async (query = "", of = world): Promise<Json> =>
  expectStatus(await of.call("GET", `/v1/principals${query}`), 200);
const idsOf = (page: Json): string[] => page.data.map((principal: Json) => principal.principal_id);

async function walk(
  of: World,
  limit: number,
  between: () => Promise<unknown> = async () => undefined,
): Promise<string[]> {
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const page: Json = await list(`?limit=${limit}${cursor === null ? "" : `&cursor=${cursor}`}`, of);
    expect(page.has_more).toBe(page.next_cursor !== null);
    seen.push(...idsOf(page));
    cursor = page.next_cursor;
    await between();
  } while (cursor !== null);
  return seen;
}

describe("the listing", () => {
  it("reads the columns that a principal shows, and no other", async () => {
    await world.principal();
    world.meter.reset();
    const page = await list("?limit=1");
    const text = world.meter.reading.sql.find((sql) => sql.includes('from "principals"')) ?? "";
    const [read = ""] = text.split(" from ");
    for (const hidden of ["*", "name_folded", '"tenant"', "platform_id"]) expect(read).not.toContain(hidden);
    const [shown] = page.data;
    expect(expectStatus(await world.call("GET", `/v1/principals/${shown.principal_id}`), 200)).toEqual(shown);
  });

  it("shows each principal once, newest first, while others are being registered", async () => {
    const fresh = await createWorld();
    const registered: string[] = [];
    for (let i = 0; i < 7; i++) registered.push(await fresh.principal());
    const seen = await walk(fresh, 3, () => fresh.principal());
    expect(seen).toEqual([...registered].sort().reverse());
  });

  it("has 20 rows a page by default, and no cursor on the last page", async () => {
    const fresh = await createWorld();
    await Promise.all(Array.from({ length: 21 }, () => fresh.principal()));
    const first = await list("", fresh);
    expect([first.data.length, first.has_more]).toEqual([20, true]);
    const last = await list(`?cursor=${first.next_cursor}`, fresh);
    expect([last.data.length, last.has_more, last.next_cursor]).toEqual([1, false, null]);
    expect(new Set([...idsOf(first), ...idsOf(last)]).size).toBe(21);
  });

  it("narrows to a customer, to ungrouped principals, or to a reference", async () => {
    const fresh = await createWorld();
    const [a, b, c] = [
      await fresh.principal(),
      await fresh.principal(),
      await fresh.principal({ external_ref: "the one" }),
    ];
    await env.DB.prepare("update principals set customer_id = 'cus_1' where principal_id in (?, ?)").bind(a, b).run();
    expect(idsOf(await list("?customer_id=cus_1", fresh))).toEqual([a, b].sort().reverse());
    expect(idsOf(await list("?customer_id=none", fresh))).toEqual([c]);
    expect(idsOf(await list("?external_ref=the%20one", fresh))).toEqual([c]);
    expect(idsOf(await list("?customer_id=cus_2", fresh))).toEqual([]);
    // The id of a customer shows no principals to another platform.
    expect(idsOf(await list("?customer_id=cus_1"))).toEqual([]);
  });
});

describe("the tenant principal", () => {
  it("is read by its id in both environments", async () => {
    for (const key of [world.key, world.liveKey]) {
      const reply = await world.call("GET", `/v1/principals/${world.tenantPrincipalId}`, { key });
      expect(expectStatus(reply, 200)).toMatchObject({
        principal_id: world.tenantPrincipalId,
        status: "ACTIVE",
        customer_id: null,
      });
    }
  });

  it("is in no list, whatever the filter", async () => {
    const fresh = await createWorld();
    const tenant = await list(`?external_ref=tenant:${fresh.platformId}`, fresh);
    expect(idsOf(tenant)).toEqual([]);
    for (const query of ["", "?customer_id=none", "?status=ACTIVE"])
      expect(idsOf(await list(query, fresh))).toEqual([]);
  });

  it("takes agents like any other principal", async () => {
    const { did } = await world.draft("CONSUMER", { principal_id: world.tenantPrincipalId });
    expect(expectStatus(await world.call("GET", `/v1/agents/${did}`), 200).principal_id).toBe(world.tenantPrincipalId);
  });
});

describe("the end of an attestation", () => {
  it("takes effect at its very millisecond, without grace or a job, for the principal, its agents and their calls", async () => {
    const expiresAt = Date.now() + 10 * DAY_MS;
    const verification_attestation = {
      attestation_id: "att_1",
      verifier_id: "ver_1",
      model: "kyb",
      issued_at: toIso(Date.now() - DAY_MS),
      expires_at: toIso(expiresAt),
    };
    const principal_id = expectStatus(
      await world.call("POST", "/v1/principals", { body: principalBody({ verification_attestation }) }),
      201,
    ).principal_id;
    const agent = await world.agent("CONSUMER", { principal_id });
    const draft = await world.draft("CONSUMER", { principal_id });
    const at = (now: number) => withDeps(world, { ...world.deps, clock: { now: () => now } });
    const seen = async (of: World) => {
      const principal = (await of.call("GET", `/v1/principals/${principal_id}`)).body;
      const management = (await of.call("GET", `/v1/agents/${agent.did}`)).body;
      const status = (await of.call("GET", `/v1/agents/${agent.did}/status`, { key: null })).body;
      const aid = (await of.call("GET", `/v1/agents/${agent.did}/aid`, { key: null })).body;
      const call = await of.as(agent, "GET", "/v1/payment-intents/pin_none");
      return {
        principal: [principal.status, principal.status_reason],
        agent: [management.status, management.suspension_reason],
        public: [status.status, status.principal_status, aid.live.status],
        call: call.body.code,
      };
    };
    expect(await seen(at(expiresAt - 1))).toEqual({
      principal: ["ACTIVE", null],
      agent: ["ACTIVE", null],
      public: ["ACTIVE", "ACTIVE", "ACTIVE"],
      call: "not_found",
    });
    expect(await seen(at(expiresAt))).toEqual({
      principal: ["ATTESTATION_EXPIRED", "attestation_expired"],
      agent: ["SUSPENDED", "attestation"],
      public: ["SUSPENDED", "ATTESTATION_EXPIRED", "SUSPENDED"],
      call: "agent_not_active",
    });
    // No agent can be registered or activated under an expired attestation.
    const late = at(expiresAt);
    expect((await late.call("POST", `/v1/agents/${draft.did}/activate`)).body.code).toBe("invalid_status");
    const body = {
      principal_id,
      economic_role: "CONSUMER",
      profile: { display_name: "B" },
      endpoint_url: "https://a.example",
    };
    const scope = { authorized_actions: ["purchase"], capabilities: [] };
    expect((await late.call("POST", "/v1/agents", { body: { ...body, scope } })).body.code).toBe("invalid_status");
    expect((await world.call("GET", `/v1/agents/${draft.did}`)).body.status).toBe("DRAFT");
  });

  it("also comes when the world's clock is moved there", async () => {
    const fresh = await createWorld();
    const agent = await fresh.consumer();
    fresh.advance(366 * DAY_MS);
    expect((await fresh.call("GET", `/v1/agents/${agent.did}/status`, { key: null })).body.status).toBe("SUSPENDED");
  });
});
