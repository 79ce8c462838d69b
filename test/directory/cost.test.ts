// The cost of the directory at each size (DIR-8, DIR-9, DIR-10, DIR-11): the rows of the page, however many agents there are.
import { beforeAll, describe, expect, it } from "vitest";
import { SCAN_LIMIT } from "../../src/db/pages.ts";
import { indexDirectory } from "../../src/directory/changes.ts";
import { signDirectoryHeads } from "../../src/directory/heads.ts";
import { copyRow } from "../support/copies.ts";
import { isWhole } from "../support/scale.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { AGENTS, CHANGES, read } from "./support.ts";

const SIZES = isWhole() ? [1_000, 20_000, 200_000] : [1_000, 4_000];
/** One in this many agents has the rare word, and one in twice as many the rarer word too. */
const RARE_ONE_IN = 50;
const PAST = 1_500_000_000_000;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

/** Copies entries up to a size, with their terms and records. */
async function fill(from: number, to: number): Promise<void> {
  const { did } = first;
  const copy = `'did:aeap:' || printf('%08x', i * 2654435761 % 4294967296) || substr(t.did, 18)`;
  const words = `case when i % ${RARE_ONE_IN} = 0 then case when i % ${2 * RARE_ONE_IN} = 0 then '["translation","rare","rarer"]' else '["translation","rare"]' end else '["translation"]' end`;
  await copyRow(
    "directory_entries",
    `did = '${did}'`,
    { did: copy, capabilities: words, updated_at: `${PAST} + i`, terms: words },
    { from, to },
  );
  const term = (word: string, every: number) =>
    copyRow(
      "directory_terms",
      `did = '${did}' and term like '% capability translation'`,
      {
        did: `(select d.did from directory_entries d where d.environment = 'sandbox' and d.listed_as = 'active' and d.updated_at = ${PAST} + i * ${every})`,
        term: `'sandbox capability ${word}'`,
      },
      { from: from / every, to: to / every },
    );
  await term("translation", 1);
  await term("rare", RARE_ONE_IN);
  await term("rarer", 2 * RARE_ONE_IN);
  const count = (word: string, entries: number) =>
    env.DB.prepare("insert into directory_term_counts values (?1, ?2) on conflict do update set entries = ?2")
      .bind(`sandbox capability ${word}`, entries)
      .run();
  await count("translation", to + 1);
  await count("rare", to / RARE_ONE_IN);
  await count("rarer", to / RARE_ONE_IN / 2);
}

/** Fills the feed up to this many records. */
async function fillFeed(from: number, to: number): Promise<void> {
  const changed = { seq: "i + 1000", occurred_at: "t.occurred_at + i + 1000" };
  await copyRow("directory_changes", "environment = 'sandbox' and seq = 1", changed, { from, to });
  // The job notes one record in sixteen.
  const noted = { seq: "16 * i + 1000", occurred_at: "t.occurred_at + 16 * i + 1000" };
  await copyRow("directory_hashes", "environment = 'sandbox' and seq = 1", noted, { from: from / 16, to: to / 16 });
}

let first: { did: string };
async function cost(path: string, headers: Record<string, string> = {}) {
  world.meter.reset();
  const reply = await world.call("GET", path, { headers });
  const { rowsRead, trips } = world.meter.reading;
  return { reply, rowsRead, trips };
}
const rowsOf = async (path: string): Promise<number> => {
  const { reply, rowsRead, trips } = await cost(path);
  expect([path, reply.status, trips]).toEqual([path, 200, 1]);
  return rowsRead;
};

describe("at each size", () => {
  const measured: Record<string, number[]> = {};
  const note = (name: string, rows: number) => {
    measured[name] = [...(measured[name] ?? []), rows];
  };
  it.each(SIZES)("%i agents: pages cost a bounded number of rows", async (size) => {
    if (size === SIZES[0]) {
      first = await world.consumer();
      await world.run(indexDirectory);
      await world.run(signDirectoryHeads);
    }
    const before = SIZES[SIZES.indexOf(size) - 1] ?? 0;
    await fill(before, size);
    for (const query of ["", "status=all&", "status=suspended&"]) {
      const page = `${AGENTS}?${query}limit=20`;
      note(query, await rowsOf(page));
      expect(measured[query]?.at(-1)).toBeLessThanOrEqual(25);
      const { next_cursor } = await read(world, page);
      // With several statuses, each range starts at the place.
      if (next_cursor !== null)
        expect(await rowsOf(`${page}&cursor=${next_cursor}`)).toBeLessThanOrEqual(
          query.startsWith("status=all") ? 27 : 25,
        );
      const tag = (await world.call("GET", page)).headers.get("etag") ?? "";
      const known = await cost(page, { "If-None-Match": tag });
      expect([known.reply.status, known.trips]).toEqual([304, 1]);
      // These are the key and its account, the feed's last number, and the latest end.
      expect(known.rowsRead).toBeLessThanOrEqual(4);
    }
    const rarest = size / RARE_ONE_IN / 2;
    const two = await rowsOf(`${AGENTS}?limit=20&capabilities=rare,rarer`);
    // The rows that one call reads besides entries, and a search by words besides their counts.
    const APART = 4 + 8;
    expect(two).toBeLessThanOrEqual(2 * rarest + APART);
    const found = await read(world, `${AGENTS}?limit=100&capabilities=rare,rarer,translation`);
    if (rarest <= 100) expect(found.data.length).toBe(rarest);
    for (const query of [
      "capabilities=translation",
      "economic_role=CONSUMER",
      "cert_tier=TIER_1&capabilities=translation",
    ]) {
      expect(await rowsOf(`${AGENTS}?limit=20&${query}`)).toBeLessThanOrEqual(60);
    }
    // As many words as an agent may have cost no further row per entry.
    const many = Array.from({ length: 48 }, (_, n) => `absent ${n}`);
    expect(await rowsOf(`${AGENTS}?limit=20&capabilities=rare,rarer,${many.join(",")}`)).toBeLessThanOrEqual(APART);
    // A filter that few entries match costs the scan of one page, which continues after it.
    const { reply, rowsRead } = await cost(`${AGENTS}?limit=20&min_agent_rating=0.9`);
    expect(rowsRead).toBeLessThanOrEqual(2 * SCAN_LIMIT + 25);
    expect([reply.body.data, reply.body.has_more]).toEqual([[], size >= SCAN_LIMIT]);
    expect(await rowsOf(`${AGENTS}/${first.did}`)).toBeLessThanOrEqual(4);
  });

  it.each(SIZES)("%i records: the feed costs a bounded number of rows", async (size) => {
    const before = SIZES[SIZES.indexOf(size) - 1] ?? 0;
    if (before === 0)
      await env.DB.prepare("update directory_feeds set seq = 10000000 where environment = 'sandbox'").run();
    await fillFeed(before, size);
    const { data, next_cursor } = await read(world, `${CHANGES}?limit=100&since=1100`);
    // A record is found by its instant with a binary search between two noted ones.
    const places = [
      ["since=1100", 105],
      [`cursor=${next_cursor}`, 105],
      [`since=${data[0].occurred_at}`, 115],
    ] as const;
    for (const [place, most] of places)
      expect([place, await rowsOf(`${CHANGES}?limit=100&${place}`)]).toEqual([
        place,
        expect.toSatisfy((rows) => rows <= most),
      ]);
    const end = await read(world, `${CHANGES}?limit=100&since=${size + 1000}`);
    expect(await rowsOf(`${CHANGES}?limit=100&cursor=${end.next_cursor}`)).toBeLessThanOrEqual(8);
    expect(await rowsOf("/v1/directory/head")).toBeLessThanOrEqual(4);
  });

  it("pages and feed cost the same", () => {
    for (const [query, rows] of Object.entries(measured))
      expect([query, Math.max(...rows) - Math.min(...rows) <= 2]).toEqual([query, true]);
  });
});

describe("a change", () => {
  it("writes nothing of the directory if the entry does not change", async () => {
    const { did } = await world.consumer();
    world.meter.reset();
    expectStatus(await world.call("PATCH", `/v1/agents/${did}`, { body: { metadata: { a: "b" } } }), 200);
    expect(world.meter.reading.sql.filter((text: Json) => /directory/.test(text))).toEqual([]);
  });

  // The record of the change itself is not counted here.
  it("writes at most three rows of its entry", async () => {
    const { did } = await world.consumer();
    world.meter.reset();
    expectStatus(await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "SUSPENDED" } }), 200);
    const { sql, written } = world.meter.reading;
    const entry = sql.flatMap((text, n) =>
      /^(insert into|update) "directory_entries"/.test(text) ? [written[n]] : [],
    );
    // The entry itself, its place in the listing, and the index of entries that wait for their terms.
    expect(entry).toEqual([expect.toSatisfy((rows) => rows >= 2 && rows <= 3)]);
  });
});
