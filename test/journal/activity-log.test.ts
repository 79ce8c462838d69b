// The activity log as its platform reads it (EVT-6, EVT-8, EVT-11, EVT-14): numbers, shape, filters and pages.
import { beforeAll, describe, expect, it } from "vitest";
import { ACTIVITY_ACTIONS } from "../../src/core/vocabulary.ts";
import { checkChain } from "../../src/journal/activity-heads.ts";
import { DAY } from "../consequences/plays/stage.ts";
import { createWorld, expectStatus, type Json, principalBody, type World } from "../support/world.ts";
import { LOG, readLog, rowsOf, write } from "./activity-support.ts";

describe("the numbers of a log", () => {
  it("run from 1 to n without a gap after a hundred concurrent mutations, which all succeed", async () => {
    const world = await createWorld();
    const replies = await Promise.all(
      Array.from({ length: 100 }, () => world.call("POST", "/v1/principals", { body: principalBody() })),
    );
    for (const reply of replies) expectStatus(reply, 201);
    const rows = await rowsOf(world);
    expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
    expect(new Set(rows.map(({ subjectId }) => subjectId)).size).toBe(100);
  });

  it("are counted separately for each platform", async () => {
    const [one, other] = [await createWorld(), await createWorld()];
    for (const world of [one, other, one]) await world.principal();
    expect([await rowsOf(one), await rowsOf(other)].map((rows) => rows.map(({ seq }) => seq))).toEqual([[1, 2], [1]]);
  });
});

describe("the log", () => {
  let world: World;
  let did: string;
  beforeAll(async () => {
    world = await createWorld();
    ({ did } = await world.agent("CONSUMER"));
    await world.call("PATCH", `/v1/agents/${did}/scope`, { body: { dispute_window_days: 3 } });
    await world.principal();
    await (await createWorld()).principal();
  });

  it("shows what was done, newest first, with its actor, its subject and its changes", async () => {
    const { data, has_more, next_cursor } = await readLog(world);
    expect(data.map((entry: Json) => [entry.seq, entry.action, entry.subject.type])).toEqual([
      [5, "principal.registered", "principal"],
      [4, "agent.scope_changed", "agent"],
      [3, "agent.activated", "agent"],
      [2, "agent.registered", "agent"],
      [1, "principal.registered", "principal"],
    ]);
    expect([has_more, next_cursor]).toEqual([false, null]);
    expect(data[1]).toEqual({
      id: expect.stringMatching(/^act_/),
      seq: 4,
      occurred_at: expect.any(String),
      action: "agent.scope_changed",
      actor: { type: "management_api", id: world.key.slice(0, data[1].actor.id.length) },
      subject: { type: "agent", id: did },
      environment: "sandbox",
      changes: { "scope.dispute_window_days": { from: 14, to: 3 } },
    });
    expect(data[2]).not.toHaveProperty("changes");
  });

  it("is shared by both environments, and reads the same with either key, also from page to page", async () => {
    expect(await readLog(world, "", world.liveKey)).toEqual(await readLog(world));
    const first = await readLog(world, "?limit=2");
    const cursor = encodeURIComponent(first.next_cursor);
    const second = await readLog(world, `?limit=2&cursor=${cursor}`, world.liveKey);
    expect([...first.data, ...second.data].map(({ seq }) => seq)).toEqual([5, 4, 3, 2]);
  });

  it.each([
    ["subject_id", (): string => did, [4, 3, 2]],
    ["subject_type", (): string => "principal", [5, 1]],
    ["action", (): string => "agent.activated", [3]],
    ["actor_type", (): string => "management_api", [5, 4, 3, 2, 1]],
    ["actor_type", (): string => "system", []],
    ["environment", (): string => "production", []],
    ["occurred_after", (): string => "2100-01-01T00:00:00Z", []],
    ["occurred_before", (): string => "2100-01-01T00:00:00Z", [5, 4, 3, 2, 1]],
  ] as const)("contains only entries that fit %s", async (name, value, seqs) => {
    const { data, has_more } = await readLog(world, `?${name}=${encodeURIComponent(value())}`);
    expect(data.map(({ seq }: Json) => seq)).toEqual(seqs);
    expect(has_more).toBe(false);
  });

  it("contains only entries that fit every filter", async () => {
    const { data } = await readLog(world);
    const at = data[2].occurred_at;
    const actor = data[0].actor.id;
    const asked = {
      subject_type: "agent",
      subject_id: did,
      actor_type: "management_api",
      actor,
      environment: "sandbox",
    };
    const query = new URLSearchParams({ ...asked, occurred_after: at });
    expect((await readLog(world, `?${query}`)).data.map(({ seq }: Json) => seq)).toEqual([4]);
    query.set("action", "agent.registered");
    expect((await readLog(world, `?${query}`)).data).toEqual([]);
  });

  it("is not shown to another platform", async () => {
    const other = await createWorld();
    expect((await readLog(other, `?subject_id=${encodeURIComponent(did)}`)).data).toEqual([]);
    const reply = await world.call("GET", LOG, { key: null });
    expect([reply.status, reply.body.code]).toEqual([401, "invalid_credentials"]);
  });

  it.each([
    ["action", "agent.renamed"],
    ["actor_type", "robot"],
    ["environment", "staging"],
    ["occurred_after", "yesterday"],
    ["cursor", "WyJ4IiwxLCIiXQ"],
    ["limit", "101"],
    ["subject", "x"],
  ])("refuses the filter %s=%s by its name", async (name, value) => {
    const reply = await world.call("GET", `${LOG}?${name}=${value}`);
    expect([reply.status, reply.body.code, reply.body.field_errors[0].field]).toEqual([422, "validation_failed", name]);
  });

  it("refuses a cursor that was made for other filters", async () => {
    const { next_cursor } = await readLog(world, "?limit=1");
    const reply = await world.call("GET", `${LOG}?limit=1&action=agent.registered&cursor=${next_cursor}`);
    expect([reply.status, reply.body.field_errors[0].field]).toEqual([422, "cursor"]);
  });

  it("never contains a secret", async () => {
    const { text } = await world.call("GET", LOG);
    for (const secret of [world.key, world.liveKey, "PRIVATE KEY"]) expect(text).not.toContain(secret);
    expect(JSON.stringify(await rowsOf(world))).not.toContain(world.key);
  });

  it("has only well-formed names of actions, each once", () => {
    expect(new Set(ACTIVITY_ACTIONS).size).toBe(ACTIVITY_ACTIONS.length);
    for (const action of ACTIVITY_ACTIONS) expect(action).toMatch(/^[a-z_]+\.[a-z_]+$/);
  });
});

/** A platform with this many entries of ten subjects and ten actors. A tenth are of one action, and few are in production. */
async function worldOf(entries: number): Promise<World> {
  const world = await createWorld();
  const rows = `insert into activity_entries
    with recursive n (n) as (select 1 union all select n + 1 from n where n < ${entries})
    select ?, n, case when n = 3 or n % 700 = 0 then 'production' else 'sandbox' end, 1795234800000 + n * 1000,
      case when n % 10 = 0 then 'agent.suspended' else 'agent.registered' end, 'management_api', 'key' || (n % 10),
      'agent', 'agt_' || (n % 10), null, null from n`;
  await world.deps.env.DB.prepare(rows).bind(world.platformId).run();
  return world;
}

describe("a page of twenty", () => {
  it.each([
    ["everything", "", 25],
    ["a subject", "&subject_id=agt_3", 25],
    ["an actor", "&actor=key7", 25],
    ["an action", "&action=agent.suspended", 25],
    ["a subject with its type", "&subject_type=agent&subject_id=agt_3", 20 + 5],
    ["an environment", "&environment=sandbox", 2 * 20 + 8],
  ])("of %s takes one trip, and as many rows among 1,000 entries as among 100,000", async (_what, filter, most) => {
    large ??= worldOf(100_000);
    const costs: number[] = [];
    for (const world of [await worldOf(1_000), await large]) {
      world.meter.reset();
      expect((await readLog(world, `?limit=20${filter}`)).data).toHaveLength(20);
      expect(world.meter.reading.trips).toBe(1);
      costs.push(world.meter.reading.rowsRead);
    }
    expect(costs[1]).toBe(costs[0]);
    expect(costs[1]).toBeLessThanOrEqual(most);
  });
  let large: Promise<World> | undefined;
});

describe("a page of a long log", () => {
  let world: World;
  beforeAll(async () => {
    world = await worldOf(2_500);
  });
  const cost = async (query: string) => {
    world.meter.reset();
    const page = await readLog(world, query);
    return { ...page, trips: world.meter.reading.trips, rows: world.meter.reading.rowsRead };
  };

  it("of rare entries scans a thousand of its range, says that there is more, and continues to the last", async () => {
    const seen: number[] = [];
    const sizes: number[] = [];
    for (let query = "?environment=production"; query !== ""; ) {
      const { data, next_cursor, has_more, rows, trips } = await cost(query);
      seen.push(...data.map(({ seq }: Json) => seq));
      sizes.push(data.length);
      expect(rows).toBeLessThan(3_100);
      expect(trips).toBe(1);
      expect(next_cursor !== null).toBe(has_more);
      query = has_more ? `?environment=production&cursor=${encodeURIComponent(next_cursor)}` : "";
    }
    expect(seen).toEqual([2_100, 1_400, 700, 3]);
    expect(sizes).toEqual([1, 2, 1]);
  });

  it("neither repeats nor skips an entry when entries are written between two pages", async () => {
    const first = await readLog(world, "?environment=production");
    await write(world, 5);
    const rest = await readLog(world, `?environment=production&cursor=${encodeURIComponent(first.next_cursor)}`);
    expect([...first.data, ...rest.data].map(({ seq }) => seq)).toEqual([2_100, 1_400, 700]);
  });
});

describe("a range of time", () => {
  it("is found by the signed heads, however long the log is before and after it", async () => {
    const world = await createWorld();
    const begun = world.now();
    for (let day = 0; day < 5; day++) {
      await write(world, 30);
      await checkChain(world.deps, world.platformId);
      world.advance(DAY);
    }
    const at = (days: number) => new Date(begun + days * DAY).toISOString();
    const query = `?limit=100&occurred_after=${at(1.5)}&occurred_before=${at(2.5)}`;
    world.meter.reset();
    const { data, has_more } = await readLog(world, query);
    expect(data.map(({ seq }: Json) => seq)).toEqual(Array.from({ length: 30 }, (_, i) => 90 - i));
    expect(has_more).toBe(false);
    // Reads the entries between the heads around the range, and twice as many to know that none follow.
    expect(world.meter.reading.rowsRead).toBeLessThan(3 * 60 + 30);
  });

  it("includes an entry that a sandbox dated ahead of real time", async () => {
    const world = await createWorld();
    await write(world, 2);
    await checkChain(world.deps, world.platformId);
    // Like an advance of the sandbox clock: entries are dated ten days ahead from now on.
    const db = world.deps.env.DB;
    await db
      .prepare("update platforms set clock_offset_ms = ? where platform_id = ?")
      .bind(10 * DAY, world.platformId)
      .run();
    await world.call("POST", "/v1/principals", { body: principalBody() });
    world.advance(9 * DAY);
    await checkChain(world.deps, world.platformId);
    const after = new Date(world.now() + DAY / 2).toISOString();
    const { data } = await readLog(world, `?occurred_after=${after}`, world.liveKey);
    expect(data.map(({ seq }: Json) => seq)).toEqual([3]);
  });
});
