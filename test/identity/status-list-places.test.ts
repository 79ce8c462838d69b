// Places of certificates in status lists (IDN-13, IDN-14): free ones are drawn at random, a new list is opened before the newest is full, and
// reading a list costs only its exceptions.
import { and, desc, eq, sql } from "drizzle-orm";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { STATUS_LIST_SIZE } from "../../src/core/limits.ts";
import { certificates, statusLists } from "../../src/db/tables/agents.ts";
import { PLACES_SAMPLED } from "../../src/identity/certificate-store.ts";
import { openStatusLists, watchCrowding } from "../../src/identity/open-status-list.ts";
import { moveClock } from "../support/clock.ts";
import { withEmptyCache } from "../support/variants.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";

const DAY_MS = 86_400_000;

/** Places are drawn from 32-bit numbers: this makes them come from a seeded generator (mulberry32). */
function drawSeeded(): void {
  let state = 20_270_301;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const real = crypto.getRandomValues.bind(crypto);
  vi.spyOn(crypto, "getRandomValues").mockImplementation((array) =>
    array instanceof Uint32Array ? array.map(next) : real(array),
  );
}

let world: World;
beforeAll(() => {
  drawSeeded();
  return () => vi.restoreAllMocks();
});
beforeEach(async () => {
  world = await createWorld();
});

const newestList = async () => {
  const [row] = await world.deps.db.select().from(statusLists).orderBy(desc(statusLists.listId)).limit(1);
  if (!row) throw new Error("no status list");
  return row;
};
/** Opens a list for one test, in which certificates that end at `expiresAt` take the first `taken` places. */
async function beginList(taken: number, expiresAt = Date.now() + 300 * DAY_MS, replacedAt: number | null = null) {
  const { db } = world.deps;
  const listId = (await newestList()).listId + 1;
  await db.insert(statusLists).values({ listId, size: STATUS_LIST_SIZE, createdAt: Date.now() });
  await db.run(sql`with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < ${taken})
    insert into certificates (did, jti, key_id, ca_kid, list_id, idx, listed_status, issued_at, expires_at, replaced_at)
    select 'did:aeap:taken', ${listId} || '-' || i, 'key', 'ca', ${listId}, i, 0, 0, ${expiresAt}, ${replacedAt} from n`);
  return listId;
}
const placeOf = async (did: string) => {
  const [row] = await world.deps.db.select().from(certificates).where(eq(certificates.did, did));
  if (!row) throw new Error("no certificate");
  return row;
};
const takenIn = (listId: number, idx: number) =>
  world.deps.db.$count(certificates, and(eq(certificates.listId, listId), eq(certificates.idx, idx)));

describe("a certificate", () => {
  it("is issued while less than three quarters of the newest list are taken, and shares its place with no other", async () => {
    const taken = Math.floor(STATUS_LIST_SIZE * 0.74);
    const listId = await beginList(taken);
    const agents = await Promise.all(Array.from({ length: 20 }, () => world.agent("CONSUMER")));
    for (const { did } of agents) {
      const place = await placeOf(did);
      expect(place.listId).toBe(listId);
      expect(place.idx).toBeGreaterThanOrEqual(taken);
      expect(await takenIn(listId, place.idx)).toBe(1);
    }
  });

  it("does not get its place in the order of issue", async () => {
    await beginList(0);
    const places: number[] = [];
    for (let i = 0; i < 8; i++) places.push((await placeOf((await world.agent("CONSUMER")).did)).idx);
    expect(places).not.toEqual(places.toSorted((a, b) => a - b));
  });

  it("may take the place of a certificate that ended more than 30 days ago, and of no later one", async () => {
    const rested = await beginList(STATUS_LIST_SIZE, Date.now() - 31 * DAY_MS);
    const { idx } = await placeOf((await world.agent("CONSUMER")).did);
    expect(await takenIn(rested, idx)).toBe(1);
    const ended = await beginList(STATUS_LIST_SIZE, Date.now() - 29 * DAY_MS);
    expect((await placeOf((await world.agent("CONSUMER")).did)).listId).toBeGreaterThan(ended);
  });
});

describe("a sandbox whose clock was moved", () => {
  it("takes no place of another certificate: all platforms share the lists, in real time", async () => {
    await moveClock(world, 200 * DAY_MS);
    const full = await beginList(STATUS_LIST_SIZE, Date.now() + 100 * DAY_MS);
    expect((await placeOf((await world.agent("CONSUMER")).did)).listId).toBe(full + 1);
    expect(await world.deps.db.$count(certificates, eq(certificates.listId, full))).toBe(STATUS_LIST_SIZE);
  });
});

describe("a new list", () => {
  it("is opened when three quarters of the newest are taken, and not before", async () => {
    const before = await beginList(Math.floor(STATUS_LIST_SIZE * 0.75) - 1);
    expect(await world.run(openStatusLists)).toBe(0);
    expect((await newestList()).listId).toBe(before);
    const full = await beginList(Math.ceil(STATUS_LIST_SIZE * 0.75));
    expect(await world.run(openStatusLists)).toBe(1);
    expect(await newestList()).toMatchObject({ listId: full + 1, size: STATUS_LIST_SIZE });
    expect((await placeOf((await world.agent("CONSUMER")).did)).listId).toBe(full + 1);
  });

  it("is considered once an hour, or when draws meet taken places", async () => {
    const full = await beginList(STATUS_LIST_SIZE - 6_000);
    await world.deps.db
      .update(statusLists)
      .set({ countedAt: Date.now() - 60_000 })
      .where(eq(statusLists.listId, full));
    expect(await world.run(openStatusLists)).toBe(0);
    for (let tries = 0; tries < 20 && (await newestList()).listId === full; tries++) await world.agent("CONSUMER");
    expect((await newestList()).listId).toBe(full + 1);
  });

  // These shares are so far from the limit that no sample errs by as much.
  it.each([0.1, 0.6])("costs a call that met taken places a sample, with %f of the list taken", async (part) => {
    const full = await beginList(Math.floor(STATUS_LIST_SIZE * part));
    world.meter.reset();
    await watchCrowding(world.deps, null);
    expect(world.meter.reading.rowsRead).toBeLessThan(3 * PLACES_SAMPLED);
    expect((await newestList()).listId).toBe(full);
  });

  it("is opened at once if the newest has no free place, so that no activation fails", async () => {
    const full = await beginList(STATUS_LIST_SIZE);
    const agents = await Promise.all(Array.from({ length: 5 }, () => world.agent("CONSUMER")));
    const lists = await Promise.all(agents.map(async ({ did }) => (await placeOf(did)).listId));
    expect(new Set(lists)).toEqual(new Set([full + 1]));
  });

  it("is opened once when several runs open it at the same time", async () => {
    const full = await beginList(Math.ceil(STATUS_LIST_SIZE * 0.8));
    await Promise.all(Array.from({ length: 5 }, () => world.run(openStatusLists)));
    expect((await newestList()).listId).toBe(full + 1);
  });
});

describe("reading a list", () => {
  it("reads a row for each exception and one more, however many certificates it has", async () => {
    const listId = await beginList(20_000);
    const { db } = world.deps;
    await db
      .update(certificates)
      .set({ replacedAt: 1 })
      .where(and(eq(certificates.listId, listId), sql`idx < 7`));
    await db
      .update(certificates)
      .set({ listedStatus: 1, expiresAt: 1 })
      .where(and(eq(certificates.listId, listId), sql`idx between 7 and 20`));
    world.meter.reset();
    expectStatus(await world.call("GET", `/.well-known/aeap-status-lists/${listId}`, { key: null }), 200);
    // D1 counts the row that keeps the signed text twice, because an update reads what it writes.
    expect(world.meter.reading).toMatchObject({ trips: 2, rowsRead: 7 + 1 + 1, rowsWritten: 1 });
  });

  it("reads and signs a stale list once for all requests at that moment", async () => {
    const listId = await beginList(500, undefined, 1);
    const fresh = await withEmptyCache(world);
    fresh.meter.reset();
    // This header makes the calls bypass the shared cache.
    const read = () =>
      fresh.call("GET", `/.well-known/aeap-status-lists/${listId}`, { key: null, headers: { Authorization: "none" } });
    // One call's turn ends after two seconds of real time, however slow the machine is: the clock stands still.
    vi.useFakeTimers({ toFake: ["Date"] });
    const replies = await Promise.all(Array.from({ length: 20 }, read)).finally(vi.useRealTimers);
    expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(fresh.meter.reading).toMatchObject({ trips: 21, rowsRead: 500 + 20 + 1, rowsWritten: 1 });
  });

  it("reads no exceptions while the list is current", async () => {
    const listId = await beginList(20, undefined, 1);
    const path = `/.well-known/aeap-status-lists/${listId}`;
    expectStatus(await world.call("GET", path, { key: null }), 200);
    const fresh = await withEmptyCache(world);
    fresh.meter.reset();
    expectStatus(await fresh.call("GET", path, { key: null }), 200);
    expect(fresh.meter.reading).toMatchObject({ trips: 1, rowsRead: 1, rowsWritten: 0 });
  });
});
