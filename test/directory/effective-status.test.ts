// Effective statuses (DIR-7) and entity tags (DIR-10) while ends by date and cascades are not written yet.
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import { crowd, dieBefore } from "../cascades/account-support.ts";
import { attested } from "../support/clock.ts";
import { createWorld, env, expectStatus, type World } from "../support/world.ts";
import { AGENTS, didsOf, listAll, own, read } from "./support.ts";

const HOUR = 3_600_000;
let world: World;
beforeAll(async () => {
  world = await createWorld();
});
beforeEach(() => {
  world.offset = 0;
});

const under = async (status: string, dids: readonly string[]): Promise<string[]> =>
  didsOf(own(await listAll(world, `limit=100&status=${status}`), dids)).sort();
const statusOf = async (did: string): Promise<string> => (await read(world, `${AGENTS}/${did}`)).status;
const tagOf = async (query: string): Promise<string> => {
  const reply = await world.call("GET", `${AGENTS}?${query}`);
  expect(reply.status).toBe(200);
  return reply.headers.get("etag") ?? "";
};
const again = async (query: string, tag: string, key = world.key): Promise<number> =>
  (await world.call("GET", `${AGENTS}?${query}`, { key, headers: { "If-None-Match": tag } })).status;

describe("an attestation's end", () => {
  it("counts from its instant, and is recorded later", async () => {
    const principal_id = await world.principal(attested(2));
    const dids = [(await world.consumer({ principal_id })).did, (await world.consumer({ principal_id })).did].sort();
    const tag = await tagOf("limit=100");
    expect([await under("active", dids), await under("suspended", dids)]).toEqual([dids, []]);
    world.advance(2 * HOUR + 1_000);
    expect([await under("active", dids), await under("suspended", dids), await statusOf(String(dids[0]))]).toEqual([
      [],
      dids,
      "SUSPENDED",
    ]);
    expect(own(await listAll(world, "limit=1&status=all"), dids).map(({ status }) => status)).toEqual([
      "SUSPENDED",
      "SUSPENDED",
    ]);
    expect(await again("limit=100", tag)).toBe(200);
    await world.run(endAttestations);
    await world.run(finishCascades);
    expect([await under("active", dids), await under("suspended", dids)]).toEqual([[], dids]);
  });
});

describe("a cascade", () => {
  it("that is not finished shows no agent in its old status", async () => {
    const { first, dids } = await crowd(world, 203, { certified: true });
    await env.DB.prepare("update agents set environment = 'sandbox', status = 'ACTIVE' where principal_id = ?")
      .bind(first.principalId)
      .run();
    await env.DB.prepare(
      `insert or ignore into directory_entries select did, environment, principal_id, status, 'active', economic_role, cert_tier, catalog_url,
        capabilities, '[]', agent_rating, 1600000000000 + row_number() over (order by did), 0, '[]' from agents where principal_id = ?`,
    )
      .bind(first.principalId)
      .run();
    const tag = await tagOf("limit=20");
    expect((await under("active", dids)).length).toBe(203);
    dieBefore(world, 3);
    expectStatus(await world.call("POST", `/v1/principals/${first.principalId}/suspend`), 200);
    const left = "select count(*) as n from directory_entries where listed_as = 'active' and principal_id = ?";
    expect((await env.DB.prepare(left).bind(first.principalId).first())?.["n"]).toBe(3);
    expect([(await under("active", dids)).length, (await under("suspended", dids)).length]).toEqual([0, 203]);
    const reply = await world.call("GET", `${AGENTS}?limit=20`, { headers: { "If-None-Match": tag } });
    expect([reply.status, reply.headers.get("etag")]).toEqual([200, null]);
    await world.run(finishCascades);
    expect([(await under("active", dids)).length, (await under("suspended", dids)).length]).toEqual([0, 203]);
    expect(await tagOf("limit=20")).toMatch(/^W\//);
  });
});

describe("an entity tag", () => {
  it("is weak, and identifies the page with its query", async () => {
    const { did } = await world.consumer();
    const tag = await tagOf("limit=2&status=all");
    expect(tag).toMatch(/^W\/"[^"]+"$/);
    expect(await again("limit=2&status=all", tag)).toBe(304);
    expect(await again("status=all&limit=2", tag)).toBe(304);
    expect(await again("limit=2&status=all", `"other", ${tag}`)).toBe(304);
    expect(await again("limit=2&status=all", tag.slice(2))).toBe(304);
    expect(await again("limit=2&status=all", "*")).toBe(304);
    expect(await again("limit=3&status=all", tag)).toBe(200);
    expect(await again("limit=2", tag)).toBe(200);
    expect(await again("limit=2&status=all", tag, world.liveKey)).toBe(200);
    const stranger = await createWorld();
    expect(await again("limit=2&status=all", tag, stranger.key)).toBe(304);
    expectStatus(await world.call("PATCH", `/v1/agents/${did}`, { body: { profile: { description: "New." } } }), 200);
    expect(await again("limit=2&status=all", tag)).toBe(200);
  });

  it("of a 304 comes without a body, with the tag and no-store", async () => {
    const tag = await tagOf("limit=2");
    const reply = await world.call("GET", `${AGENTS}?limit=2`, { headers: { "If-None-Match": tag } });
    expect([reply.status, reply.text, reply.headers.get("etag"), reply.headers.get("cache-control")]).toEqual([
      304,
      "",
      tag,
      "no-store",
    ]);
  });
});
