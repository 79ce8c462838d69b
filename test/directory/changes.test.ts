// The change feed (DIR-11, DIR-12).
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { HOUR_MS } from "../../src/core/limits.ts";
import { commit } from "../../src/db/batch.ts";
import { pruneDirectory } from "../../src/directory/changes.ts";
import { buildFeedLog } from "../../src/directory/follow.ts";
import { signDirectoryHeads } from "../../src/directory/heads.ts";
import { insertChange } from "../../src/journal/directory-store.ts";
import { hashLog } from "../../src/journal/running-log.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { AGENTS, CHANGES, changesFrom, read } from "./support.ts";

const DAY = 86_400_000;
let world: World;
beforeAll(async () => {
  world = await createWorld();
});
beforeEach(() => {
  world.offset = 0;
});

const types = (records: readonly Json[]): string[] => records.map(({ change_type }) => change_type);
const refused = async (query: string, key: string | null = world.key): Promise<unknown[]> => {
  const { status, body } = await world.call("GET", `${CHANGES}?${query}`, { key });
  return [status, body.code, body.field_errors?.[0]?.field];
};
const edit = async (did: string) =>
  expectStatus(
    await world.call("PATCH", `/v1/agents/${did}`, { body: { profile: { description: crypto.randomUUID() } } }),
    200,
  );

/** Inserts many further records, numbered as the database numbers them. */
async function fill(did: string, count: number): Promise<void> {
  const { db } = world.deps;
  for (let at = 0; at < count; at += 100)
    await commit(
      db,
      Array.from({ length: 100 }, () => insertChange(db, { environment: "sandbox", did }, "updated")),
    );
}

/** Prunes records that are too old: 31 days pass, and the job runs. */
async function prune(): Promise<void> {
  await world.run(signDirectoryHeads);
  world.advance(31 * DAY);
  await world.run(pruneDirectory);
}

describe("a page", () => {
  it("has the records in their order, and a cursor to continue, also at the end", async () => {
    const { cursor } = await changesFrom(world, "");
    const { did } = await world.consumer();
    await edit(did);
    expectStatus(await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "SUSPENDED" } }), 200);
    expectStatus(await world.call("POST", `/v1/agents/${did}/revoke`, { body: { reason: "x" } }), 200);
    const { records } = await changesFrom(world, `cursor=${cursor}`);
    expect(records.map((record) => [record.did, record.change_type])).toEqual(
      ["registered", "updated", "status_changed", "revoked"].map((type) => [did, type]),
    );
    expect(Object.keys(records[0])).toEqual(["seq", "did", "change_type", "occurred_at"]);
    const seqs = records.map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, n) => seqs[0] + n));
    const first = await read(world, `${CHANGES}?limit=3&cursor=${cursor}`);
    expect([first.data, first.has_more]).toEqual([records.slice(0, 3), true]);
    const last = await read(world, `${CHANGES}?limit=3&cursor=${first.next_cursor}`);
    expect([last.data, last.has_more]).toEqual([records.slice(3), false]);
    const end = await read(world, `${CHANGES}?cursor=${last.next_cursor}`);
    expect([end.data, end.has_more, end.next_cursor]).toEqual([[], false, last.next_cursor]);
    expect((await read(world, `${AGENTS}/${did}`)).updated_at).toBe(records[3].occurred_at);
  });

  it("begins after a number or after an instant, whether or not the job has noted it", async () => {
    const { did } = await world.consumer();
    for (let n = 0; n < 3; n++) await edit(did);
    const { records } = await changesFrom(world, "");
    const [, second] = records.slice(-4);
    for (const noted of [false, true]) {
      if (noted) await hashLog(world.deps, buildFeedLog("sandbox"));
      const expected = records.slice(-2);
      expect((await read(world, `${CHANGES}?since=${second.seq}`)).data).toEqual(expected);
      expect((await read(world, `${CHANGES}?since=${second.occurred_at}`)).data).toEqual(expected);
      expect((await read(world, `${CHANGES}?since=${second.occurred_at.replace("Z", "%2B00:00")}`)).data).toEqual(
        expected,
      );
      const between = new Date(Date.parse(second.occurred_at) - 1).toISOString();
      expect((await read(world, `${CHANGES}?since=${between}`)).data[0].seq).toBe(second.seq);
    }
  });

  it("begins at the end, with a cursor to continue, if nothing is later", async () => {
    for (const place of ["seq", "occurred_at", "now"]) {
      const last = (await changesFrom(world, "")).records.at(-1);
      const since = place === "now" ? new Date().toISOString() : last[place];
      const page = await read(world, `${CHANGES}?since=${since}`);
      expect([since, page.data, page.has_more]).toEqual([since, [], false]);
      const { did } = await world.consumer();
      const next = await read(world, `${CHANGES}?cursor=${page.next_cursor}`);
      expect(next.data[0].did).toBe(did);
    }
  });

  it("shows the environment of the key", async () => {
    const { did } = await world.consumer();
    const { records } = await changesFrom(world, "", world.liveKey);
    expect(records.filter((record) => record.did === did)).toEqual([]);
  });

  it("has at most 1,000 records, by default 100", async () => {
    expect(await refused("limit=1001")).toEqual([422, "validation_failed", "limit"]);
    expect(await refused("limit=0")).toEqual([422, "validation_failed", "limit"]);
    const [{ did }] = (await read(world, `${CHANGES}?limit=1`)).data;
    await fill(did, 1_100);
    const { data } = await read(world, CHANGES);
    expect(data).toHaveLength(100);
    const [{ seq }] = data;
    const long = await read(world, `${CHANGES}?limit=1000&since=${seq - 1}`);
    expect([long.data.length, long.has_more]).toEqual([1_000, true]);
    expect(long.data.slice(0, 100)).toEqual(data);
    const next = await read(world, `${CHANGES}?limit=1000&cursor=${long.next_cursor}`);
    expect(next.data[0].seq).toBe(long.data[999].seq + 1);
  });

  it("is the same for an account in any status", async () => {
    const fresh = await createWorld();
    await env.DB.prepare("update platforms set status = 'PROFILE_PENDING' where platform_id = ?")
      .bind(fresh.platformId)
      .run();
    const first = await read(world, `${CHANGES}?limit=1000`);
    expect((await read(fresh, `${CHANGES}?limit=1000`)).data).toEqual(first.data);
    expect((await read(fresh, `${AGENTS}?limit=100&status=all`)).data.length).toBeGreaterThan(0);
  });
});

describe("refusals", () => {
  it("of a place in the future, of two places, and of an invalid place", async () => {
    const [last] = (await changesFrom(world, "")).records.slice(-1);
    const later = (ms: number) => new Date(Date.now() + ms).toISOString();
    const { next_cursor } = await read(world, CHANGES);
    for (const query of [
      `since=${last.seq + 1}`,
      `since=${later(60_000)}`,
      `since=0&cursor=${next_cursor}`,
      "since=2026-01-01T00:00:00+00:00",
      "since=yesterday",
      "since=-1",
      "since=1.5",
      "since=",
    ]) {
      expect([query, ...(await refused(query))]).toEqual([query, 422, "validation_failed", "since"]);
    }
    expect(await refused("since=0&cursor=x", null)).toEqual([401, "unauthorized", undefined]);
    const listing = await read(world, `${AGENTS}?limit=1&status=all`);
    expect(await refused(`cursor=${listing.next_cursor}`)).toEqual([422, "validation_failed", "cursor"]);
    expect(await refused(`cursor=${next_cursor}`, world.liveKey)).toEqual([422, "validation_failed", "cursor"]);
    expect(await refused("types=updated")).toEqual([422, "validation_failed", "types"]);
    for (const [query, field] of [
      ["cursor=", "cursor"],
      ["cursor=xyz", "cursor"],
      [`cursor=${next_cursor.slice(0, -2)}`, "cursor"],
      [`cursor=${next_cursor}&cursor=${next_cursor}`, "cursor"],
      ["since=1&since=1", "since"],
      ["limit=ten", "limit"],
      ["limit=1.5", "limit"],
      ["limit=", "limit"],
      ["limit=9007199254740993", "limit"],
    ]) {
      expect([query, ...(await refused(query ?? ""))]).toEqual([query, 422, "validation_failed", field]);
    }
  });

  it("the last record's own instant is not in the future, even ahead of the clock", async () => {
    const ahead = Date.now() + HOUR_MS;
    await world.consumer();
    await env.DB.prepare(
      "update directory_changes set occurred_at = ? where environment = 'sandbox' and seq = (select max(seq) from directory_changes where environment = 'sandbox')",
    )
      .bind(ahead)
      .run();
    const page = await read(world, `${CHANGES}?since=${new Date(ahead).toISOString()}`);
    expect(page.data).toEqual([]);
    // The next record comes after it nevertheless.
    const { did } = await world.consumer();
    const [next] = (await read(world, `${CHANGES}?cursor=${page.next_cursor}`)).data;
    expect([next.did, Date.parse(next.occurred_at)]).toEqual([did, ahead + 1]);
    await hashLog(world.deps, buildFeedLog("sandbox"));
  });
});

describe("after 30 days", () => {
  it("a place has expired, whether or not the job ran, and the numbers continue", async () => {
    const { did } = await world.consumer();
    const before = await changesFrom(world, "");
    const [last] = before.records.slice(-1);
    const old = await read(world, `${CHANGES}?limit=1`);
    for (const pruned of [false, true]) {
      if (pruned) await prune();
      else world.advance(31 * DAY);
      for (const query of [
        "since=0",
        `since=${last.seq - 1}`,
        `since=${last.occurred_at}`,
        `cursor=${old.next_cursor}`,
      ]) {
        expect([pruned, query, ...(await refused(query))]).toEqual([pruned, query, 410, "cursor_expired", undefined]);
      }
      // A reader that has read everything has missed nothing.
      expect((await read(world, `${CHANGES}?cursor=${before.cursor}`)).data).toEqual([]);
      expect((await read(world, CHANGES)).data).toEqual([]);
      world.offset = 0;
    }
    expect(
      (await env.DB.prepare("select count(*) as n from directory_changes where environment = 'sandbox'").first())?.[
        "n"
      ],
    ).toBe(0);
    await edit(did);
    const page = await read(world, `${CHANGES}?cursor=${before.cursor}`);
    expect([types(page.data), page.data[0].seq]).toEqual([["updated"], last.seq + 1]);
    for (const query of ["since=0", `cursor=${old.next_cursor}`]) {
      expect([query, ...(await refused(query))]).toEqual([query, 410, "cursor_expired", undefined]);
    }
  });

  it("records are pruned in slices, and only when a head covers them", async () => {
    const { did } = await world.consumer();
    await edit(did);
    // More records than one slice.
    await fill(did, 2_100);
    world.advance(31 * DAY);
    await world.run(pruneDirectory);
    const left = await env.DB.prepare("select count(*) as n from directory_changes where did = ?").bind(did).first();
    expect(left?.["n"]).toBe(2_102);
    await world.run(signDirectoryHeads);
    await world.run(pruneDirectory);
    const gone = await env.DB.prepare("select count(*) as n from directory_changes where did = ?").bind(did).first();
    expect(gone?.["n"]).toBe(0);
  });
});

describe("a database that was restored to an earlier state", () => {
  it("sends readers that had read further to the listing", async () => {
    const { did } = await world.consumer();
    await edit(did);
    const { cursor, records } = await changesFrom(world, "");
    const [last] = records.slice(-1);
    await env.DB.prepare("delete from directory_changes where environment = 'sandbox' and seq = ?")
      .bind(last.seq)
      .run();
    expect(await refused(`cursor=${cursor}`)).toEqual([410, "cursor_expired", undefined]);
    await edit(did);
    expect(await refused(`cursor=${cursor}`)).toEqual([410, "cursor_expired", undefined]);
  });
});
