// Access to the reports of an agent (AGT-35 to AGT-37), and the requests that they refuse.
import { beforeAll, describe, expect, it } from "vitest";
import { facilitated, type Pair, pairOf } from "../facilitation/support.ts";
import { createWorld, type Json, type World } from "../support/world.ts";
import { LISTS, pathOf, type Report, report } from "./reports-support.ts";
import { faultsOf } from "./support.ts";

let world: World;
let stranger: World;
let pair: Pair;
beforeAll(async () => {
  [world, stranger] = [await createWorld(), await createWorld()];
  pair = await pairOf(world);
  for (let n = 0; n < 2; n++) await facilitated(world, pair);
});

const ALL: readonly Report[] = ["overview", ...LISTS];

describe.each(ALL)("the %s", (name) => {
  const read = (of: World, options = {}, query = "", { did } = pair.provider) =>
    of.call("GET", pathOf(did, name, query), options);
  const outcome = ({ status, body }: { status: number; body: Json }) => [status, body.code];

  it("is readable by the platform itself, in the agent's environment, by key and by session", async () => {
    const { as_of: _now, ...shown } = (await read(world)).body;
    expect((await world.person("GET", pathOf(pair.provider.did, name))).status).toBe(200);
    expect(Object.keys(shown).length).toBeGreaterThan(2);
    const production = { headers: { "Service-Environment": "production" } };
    for (const refused of [
      await read(world, { key: world.liveKey }),
      await world.person("GET", pathOf(pair.provider.did, name), production),
      await read(stranger),
      await read(stranger, {}, "nonsense=1"),
      await read(world, {}, "", { ...pair.provider, did: "did:aeap:00000000-0000-4000-8000-000000000000" }),
    ])
      expect(outcome(refused)).toEqual([404, "not_found"]);
    expect(outcome(await read(world, { key: null }))).toEqual([401, "invalid_credentials"]);
    const agent = await world.as(pair.provider, "GET", pathOf(pair.provider.did, name));
    expect(agent.status).toBe(401);
  });

  it("refuses unknown parameters", async () => {
    const reply = await read(world, {}, "nonsense=1");
    expect(outcome(reply)).toEqual([422, "validation_failed"]);
    expect(faultsOf(reply)).toEqual([["nonsense", "unknown_field"]]);
  });
});

describe.each(LISTS)("the list of %s", (name) => {
  const faults = async (query: string, did = pair.provider.did) => {
    const reply = await world.call("GET", pathOf(did, name, query));
    expect([reply.status, reply.body.code, reply.body.error]).toEqual([422, "validation_failed", "validation_failed"]);
    return faultsOf(reply);
  };
  const cursorOf = async (did: string, of: Report = name, query = "") =>
    (await report(world, did, of, `limit=1${query}`)).next_cursor;

  it("has pages of 1 to 100", async () => {
    expect(await faults("limit=0")).toEqual([["limit", "too_small"]]);
    expect(await faults("limit=101")).toEqual([["limit", "too_big"]]);
    expect(await faults("limit=ten")).toEqual([["limit", "invalid_type"]]);
    expect((await report(world, pair.provider.did, name, "limit=100")).has_more).toBe(false);
  });

  it("continues only with its own cursors", async () => {
    expect(await faults("cursor=nonsense")).toEqual([["cursor", "invalid_format"]]);
    const elsewhere = LISTS.find((other) => other !== name) ?? name;
    for (const cursor of [
      await cursorOf(pair.consumer.did),
      await cursorOf(pair.provider.did, elsewhere),
      (await world.call("GET", "/v1/agents?limit=1")).body.next_cursor,
    ]) {
      expect(cursor).toEqual(expect.any(String));
      expect(await faults(`cursor=${cursor}`)).toEqual([["cursor", "invalid_value"]]);
    }
  });
});

describe("the list of tasks", () => {
  const read = (query: string) => world.call("GET", pathOf(pair.provider.did, "tasks", query));

  it("accepts only known states, outcomes and instants", async () => {
    expect(faultsOf(await read("status=closed"))).toEqual([["status", "invalid_value"]]);
    expect(faultsOf(await read("outcome=good"))).toEqual([["outcome", "invalid_value"]]);
    for (const since of ["yesterday", "2026-01-01", "1767225600", "2026-13-01T00:00:00Z"])
      expect([since, faultsOf(await read(`since=${since}`))]).toEqual([since, [["since", "invalid_format"]]]);
    const all = await read("status=&outcome=&since=&limit=&cursor=");
    expect(all.body.field_errors.map(({ field }: Json) => field).sort()).toEqual([
      "cursor",
      "limit",
      "outcome",
      "since",
      "status",
    ]);
  });

  it("continues only with a cursor of the same filter", async () => {
    const { next_cursor } = (await read("status=open&limit=1")).body;
    expect((await read(`status=open&cursor=${next_cursor}`)).body.data).toHaveLength(1);
    for (const query of ["", "status=confirmed&", "status=open&since=2026-01-01T00:00:00Z&"]) {
      const reply = await read(`${query}cursor=${next_cursor}`);
      expect([reply.status, faultsOf(reply)]).toEqual([422, [["cursor", "invalid_value"]]]);
    }
  });
});
