// The list of a platform's events (EVT-18, EVT-19).
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { handOnJob, listEventsJob, listNewEvents, pruneEventsJob } from "../../src/jobs/tend.ts";
import { fanOutJob } from "../../src/webhooks/sweep.ts";
import { checkEvents } from "../support/events.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";

const EVENTS = "/v1/events";
const DAY = 86_400_000;
type Dump = Awaited<ReturnType<typeof dumpDatabase>>;

let world: World;
let other: World;
beforeAll(async () => {
  other = await createWorld();
});
beforeEach(async () => {
  world = await createWorld();
});

const read = async (query = "", key = world.key): Promise<Json> =>
  expectStatus(await world.call("GET", `${EVENTS}?${query}`, { key }), 200);
const refused = async (query: string): Promise<unknown[]> => {
  const { status, body } = await world.call("GET", `${EVENTS}?${query}`);
  return [status, body.code, body.field_errors?.[0]?.field];
};
async function readAll(query = "", limit = 2): Promise<Json[]> {
  const all: Json[] = [];
  for (let cursor = ""; ; ) {
    const page = await read(`limit=${limit}&${query}${cursor}`);
    all.push(...page.data);
    if (!page.has_more) return all;
    cursor = `&cursor=${page.next_cursor}`;
  }
}
/** As stored, newest first. */
const stored = async (platformId = world.platformId): Promise<Json[]> =>
  (
    await env.DB.prepare("select * from events where platform_id = ? and environment = 'sandbox' order by seq desc")
      .bind(platformId)
      .all<Json>()
  ).results;
const changedIn = (before: Dump, after: Dump): string[] =>
  Object.keys(after)
    .filter((table) => JSON.stringify(after[table]) !== JSON.stringify(before[table]))
    .sort();
const ids = (events: readonly Json[]): string[] => events.map(({ id }) => id);
const edit = (did: string, status: string) => world.call("PATCH", `/v1/agents/${did}/status`, { body: { status } });

async function play(): Promise<{ did: string; principal: string }> {
  const principal = await world.principal();
  const { did } = await world.consumer({ principal_id: principal });
  for (const status of ["SUSPENDED", "ACTIVE"]) expectStatus(await edit(did, status), 200);
  expectStatus(await world.call("POST", `/v1/principals/${principal}/suspend`), 200);
  expectStatus(await world.call("POST", `/v1/principals/${principal}/reactivate`), 200);
  // Checked here, because some tests prune the events.
  await checkEvents(env.DB);
  return { did, principal };
}

describe.each(["before the job lists any", "after it lists all", "after it lists some"])("the list %s", (when) => {
  const arrange = async () => {
    const first = await play();
    if (when !== "before the job lists any") await listNewEvents(world.deps);
    if (when === "after it lists some") await play();
    return first;
  };
  /** For tests that only read. */
  let shared: { readonly world: World; readonly did: string; readonly principal: string };
  beforeAll(async () => {
    world = await createWorld();
    shared = { world, ...(await arrange()) };
  });
  beforeEach(() => {
    world = shared.world;
  });
  const arrangeAnew = async () => {
    world = await createWorld();
    return arrange();
  };

  it("has all events of the platform and environment, newest first", async () => {
    await other.consumer();
    const expected = await stored();
    expect(expected.length).toBeGreaterThan(4);
    const { data, has_more } = await read("limit=100");
    expect([ids(data), has_more]).toEqual([ids(expected), false]);
    expect(ids(await readAll())).toEqual(ids(expected));
    const [newest] = expected;
    expect(data[0]).toEqual({
      id: newest?.id,
      type: newest?.type,
      occurred_at: new Date(newest?.occurred_at).toISOString(),
      environment: "sandbox",
      api_version: "v1",
      data: { object: JSON.parse(newest?.object), ...(newest?.previous && { previous: JSON.parse(newest.previous) }) },
    });
    expect(
      (await read("", world.liveKey)).data.filter(({ environment }: Json) => environment !== "production"),
    ).toEqual([]);
  });

  it("is filtered by type, by subject, and by both", async () => {
    const { did, principal } = shared;
    const expected = await stored();
    const of = (fits: (event: Json) => boolean) => ids(expected.filter(fits));
    const about = (id: string) => (event: Json) =>
      event.agent_did === id || (event.type.startsWith("principal.") && JSON.parse(event.object).principal_id === id);
    expect(ids(await readAll("type=agent.status_changed"))).toEqual(of(({ type }) => type === "agent.status_changed"));
    expect(ids(await readAll("type=dispute.filed"))).toEqual([]);
    for (const id of [did, principal]) {
      expect(of(about(id)).length).toBeGreaterThan(1);
      expect(ids(await readAll(`subject=${encodeURIComponent(id)}`))).toEqual(of(about(id)));
    }
    expect(ids(await readAll(`subject=${did}&type=agent.activated`))).toEqual(
      of((event) => about(did)(event) && event.type === "agent.activated"),
    );
    expect(await readAll("subject=did:aeap:nobody")).toEqual([]);
  });

  it("begins after an event, or after an instant", async () => {
    const expected = await stored();
    for (const [n, { id, occurred_at }] of expected.entries()) {
      expect(ids(await readAll(`since=${id}`, 100))).toEqual(ids(expected.slice(0, n)));
      const later = expected.filter((event) => event.occurred_at > occurred_at);
      expect(ids(await readAll(`since=${new Date(occurred_at).toISOString()}`, 100))).toEqual(ids(later));
    }
    expect(ids(await readAll(`since=${expected.at(-1)?.id}`))).toEqual(ids(expected.slice(0, -1)));
    for (const early of ["2020-01-01T00:00:00%2B00:00", "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z"])
      expect(ids(await readAll(`since=${early}`))).toEqual(ids(expected));
    expect(await readAll(`since=${new Date(Date.now() + DAY).toISOString()}`)).toEqual([]);
  });

  it("returns each event by its id", async () => {
    const [newest] = (await read("limit=1")).data;
    expect(expectStatus(await world.call("GET", `${EVENTS}/${newest.id}`), 200)).toEqual(newest);
    for (const [key, id] of [
      [other.key, newest.id],
      [world.liveKey, newest.id],
      [world.key, "evt_00000000000000000000000000"],
      [world.key, "x"],
    ]) {
      const { status, body } = await world.call("GET", `${EVENTS}/${id}`, { key });
      expect([status, body.code]).toEqual([404, "not_found"]);
    }
  });

  it("has all events later than an instant, also if an earlier one was committed among them", async () => {
    await arrangeAnew();
    const expected = await stored();
    const [, , earlier, , , oldest] = expected;
    const since = new Date(oldest?.occurred_at - 1).toISOString();
    await env.DB.prepare("update events set occurred_at = ? where seq = ?")
      .bind(oldest?.occurred_at - 1, earlier?.seq)
      .run();
    const later = expected.slice(0, 6).filter((event) => event !== earlier);
    expect(ids(await readAll(`since=${since}`, 1)).slice(0, 5)).toEqual(ids(later));
  });

  it("continues after its page when more events come meanwhile", async () => {
    const { did } = await arrangeAnew();
    const expected = ids(await stored());
    const first = await read("limit=2");
    await edit(did, "SUSPENDED");
    await listNewEvents(world.deps);
    const rest = await read(`limit=100&cursor=${first.next_cursor}`);
    expect([...ids(first.data), ...ids(rest.data)]).toEqual(expected);
  });
});

describe("refusals", () => {
  it("are given for an invalid position, type or cursor", async () => {
    await play();
    const { next_cursor } = await read("limit=1");
    const theirs = await other.consumer().then(() => other.call("GET", `${EVENTS}?limit=1`));
    for (const [query, field] of [
      ["since=yesterday", "since"],
      ["since=2026-01-01T00:00:00+00:00", "since"],
      ["since=", "since"],
      [`since=${theirs.body.data[0].id}`, "since"],
      ["since=evt_01M8BE6MA2FHBRFK615TWNAXFSX", "since"],
      ["type=agent.exploded", "type"],
      ["type=", "type"],
      ["subject=", "subject"],
      ["limit=101", "limit"],
      ["cursor=x", "cursor"],
      [`type=agent.activated&cursor=${next_cursor}`, "cursor"],
      ["sort=type", "sort"],
    ]) {
      expect([query, ...(await refused(query ?? ""))]).toEqual([query, 422, "validation_failed", field]);
    }
    const { status, body } = await world.call("GET", EVENTS, { key: null });
    expect([status, body.code]).toEqual([401, "invalid_credentials"]);
  });
});

describe("after 30 days", () => {
  it("events are deleted in slices; the newest one stays, and the numbers continue", async () => {
    await play();
    const before = await stored();
    const page = await read("limit=1");
    await world.run(pruneEventsJob);
    await world.run(listEventsJob);
    await world.run(handOnJob([]));
    await world.run(fanOutJob);
    world.advance(31 * DAY);
    for (const pruned of [false, true]) {
      if (pruned) {
        const dumped = await dumpDatabase();
        await world.run(pruneEventsJob);
        expect(changedIn(dumped, await dumpDatabase())).toEqual(["event_marks", "events"]);
      }
      expect([pruned, (await read()).data]).toEqual([pruned, []]);
      expect([pruned, ...(await refused(`cursor=${page.next_cursor}`))]).toEqual([
        pruned,
        410,
        "cursor_expired",
        undefined,
      ]);
      expect((await world.call("GET", `${EVENTS}/${before[0]?.id}`)).status).toBe(404);
    }
    const [last] = (await env.DB.prepare("select max(seq) as seq, count(*) as n from events").all<Json>()).results;
    expect(last).toEqual({ seq: before[0]?.seq, n: 1 });
    world.offset = 0;
    await world.draft("CONSUMER");
    const [fresh] = await stored();
    expect(fresh?.seq).toBe(before[0]?.seq + 1);
    // With the clock set back, the remaining event is recent, so the new one is listed before it.
    expect(ids((await read()).data)[0]).toBe(fresh?.id);
  });

  it("no event is deleted that is not handed on or not listed yet", async () => {
    await play();
    await world.run(pruneEventsJob);
    world.advance(31 * DAY);
    const before = await stored();
    await env.DB.prepare("update outbox set seq = ?")
      .bind(before.at(-1)?.seq - 1)
      .run();
    await world.run(pruneEventsJob);
    expect(await stored()).toEqual(before);
    await env.DB.prepare("update events set listed = null where seq >= ?").bind(before.at(-1)?.seq).run();
    await world.run(listEventsJob);
    await world.run(handOnJob([]));
  });

  it("the age counts in real time: a sandbox whose clock was moved keeps its events", async () => {
    await play();
    expectStatus(await world.call("POST", "/v1/sandbox/clock/advance", { body: { seconds: (40 * DAY) / 1_000 } }), 200);
    const expected = await stored();
    expect(ids((await read("limit=100")).data)).toEqual(ids(expected));
  });
});

it("lists all events once when several runs list them at the same time", async () => {
  await play();
  await Promise.all([listNewEvents(world.deps), listNewEvents(world.deps), world.run(listEventsJob)]);
  const left = await env.DB.prepare(
    `select (select count(*) from events where platform_id = ? and listed is null) as events, (select max(seq) from events) - seq as behind
      from outbox where name = 'listed'`,
  )
    .bind(world.platformId)
    .first<Json>();
  expect(left).toEqual({ events: 0, behind: 0 });
  expect(ids(await readAll())).toEqual(ids(await stored()));
});
