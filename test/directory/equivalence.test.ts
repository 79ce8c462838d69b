// Three readers follow the directory while everything in it changes, and finally hold exactly what a fresh listing shows (DIR-5 to DIR-12), in both
// environments: one that always follows, one that resumes after many changes, and one whose place was pruned.
import { expect, it } from "vitest";
import { indexDirectory, pruneDirectory } from "../../src/directory/changes.ts";
import { signDirectoryHeads } from "../../src/directory/heads.ts";
import { followFeed } from "../../src/protocol/directory-head.ts";
import { FIRST_HASH } from "../../src/protocol/running-hash.ts";
import { entryFaults } from "../support/directory.ts";
import { isWhole } from "../support/scale.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { drawFrom, playOne, prepare, settle } from "./operations.ts";
import { AGENTS, CHANGES, HEAD, listAll, read } from "./support.ts";

const SEED = 20_270_301;
const [OPERATIONS, RESUMED_AFTER] = isWhole() ? [10_000, 1_000] : [200, 40];
/** Most operations make this many trips. */
const TRIPS = 4;
const DAY = 86_400_000;

/** A reader as described in docs/directory.md. */
class Mirror {
  readonly entries = new Map<string, Json>();
  /** How often it had to read the listing. */
  listed = 0;
  /** Its place in the feed, as a query. */
  private place: string | null = null;
  private page: string | null = null;
  private readonly world: World;
  private readonly key: string;

  constructor(world: World, key: string) {
    this.world = world;
    this.key = key;
  }

  /** Reads one page; false when nothing is left to read. */
  async step(limit: number): Promise<boolean> {
    if (this.place === null) return this.begin();
    if (this.page !== null) return this.list(limit);
    const reply = await this.world.call("GET", `${CHANGES}?limit=${limit}&${this.place}`, { key: this.key });
    if (reply.status === 410) return this.begin();
    const { data, next_cursor, has_more } = expectStatus(reply, 200);
    for (const did of new Set<string>(data.map((record: Json) => record.did))) await this.fetch(did);
    this.place = `cursor=${next_cursor}`;
    return has_more;
  }

  async toEnd(): Promise<void> {
    while (await this.step(50));
  }

  /** Takes the place in the feed first, at the last signed head, then reads the listing: changes in between are read again. */
  private async begin(): Promise<boolean> {
    const { status, body } = await this.world.call("GET", HEAD, { key: this.key });
    this.place = status === 200 ? `since=${body.seq}` : "";
    this.entries.clear();
    this.page = "";
    this.listed++;
    return true;
  }

  private async list(limit: number): Promise<boolean> {
    const page = await read(this.world, `${AGENTS}?status=all&limit=${Math.min(limit, 100)}${this.page}`, this.key);
    for (const entry of page.data) this.entries.set(entry.did, entry);
    this.page = page.has_more ? `&cursor=${page.next_cursor}` : null;
    return true;
  }

  private async fetch(did: string): Promise<void> {
    const reply = await this.world.call("GET", `${AGENTS}/${did}`, { key: this.key });
    if (reply.status === 404) this.entries.delete(did);
    else this.entries.set(did, expectStatus(reply, 200));
  }
}

const sorted = (entries: Iterable<Json>): Json[] => [...entries].sort((a, b) => (a.did < b.did ? -1 : 1));
const lastOf = async (environment: string): Promise<number> =>
  Number(
    (
      await env.DB.prepare("select max(seq) as n from directory_changes where environment = ?")
        .bind(environment)
        .first()
    )?.["n"] ?? 0,
  );

it(`readers agree with a fresh listing after ${OPERATIONS} operations of all kinds`, async () => {
  const [world, other, trading] = [await createWorld(), await createWorld(), await createWorld()];
  const stage = await prepare(world, other, trading, SEED);
  const drawTrip = drawFrom(SEED + 1);
  const sides = [
    { environment: "sandbox", key: world.key },
    { environment: "production", key: world.liveKey },
  ].map((side) => {
    const mirror = () => new Mirror(world, side.key);
    return { ...side, full: mirror(), resumed: mirror(), late: mirror(), resumedAt: 0 };
  });
  for (const { resumed, late } of sides) for (const each of [resumed, late]) await each.toEnd();
  const follow = async () => {
    for (const { full } of sides) await full.step(7);
  };
  for (let n = 0; n < OPERATIONS; n++) {
    // Readers run within the operation, between two of its trips.
    world.meter.beforeBatch(1 + drawTrip.below(TRIPS), follow);
    await playOne(stage);
    for (const side of sides) {
      const last = await lastOf(side.environment);
      if (last - side.resumedAt >= RESUMED_AFTER) {
        await side.resumed.step(RESUMED_AFTER);
        side.resumedAt = last;
      }
    }
    if (n === Math.floor(OPERATIONS / 2)) {
      // A month passes without a read, so the place of the late readers has expired.
      await world.run(signDirectoryHeads);
      const { offset } = world;
      world.offset = offset + 31 * DAY;
      await world.run(pruneDirectory);
      world.offset = offset;
    }
  }
  await settle(stage);
  expect(await entryFaults(env.DB)).toEqual([]);
  for (const { environment, key, full, resumed, late } of sides) {
    const fresh = sorted(await listAll(world, "limit=100&status=all", key));
    for (const reader of [full, resumed, late]) {
      await reader.toEnd();
      expect(sorted(reader.entries.values())).toEqual(fresh);
    }
    // The late reader's place was pruned.
    expect(late.listed).toBe(2);
    if (environment === "sandbox") expect(new Set(fresh.map(({ status }) => status)).size).toBe(4);
    expect(new Set(fresh.map((entry) => entry.updated_at)).size).toBe(fresh.length);
    await expectHead(world, key);
  }
  await expectTerms(world);
  const counts = await env.DB.prepare(
    "select count(*) filter (where environment = 'production') as live, count(agent_rating) as rated from directory_entries",
  ).first<Json>();
  expect([counts.live > 0, counts.rated > 0]).toEqual([true, true]);
  // The trading part was really played, and not only refused.
  const { outcomes } = stage.shop;
  const played = ["bought", "confirmed 200", "filed 201", "advanced 200"].filter((one) => !outcomes.get(one));
  expect(played, JSON.stringify([...outcomes])).toEqual([]);
});

/** Starts at the first head after the oldest record that is kept, like a reader that begins in the middle. */
async function expectHead(world: World, key: string): Promise<void> {
  const head = await read(world, HEAD, key);
  const { data } = await read(world, `${CHANGES}?limit=1000`, key);
  const [first] = data;
  if (!first) return;
  const from = first.seq === 1 ? { seq: 0, hash: FIRST_HASH } : await read(world, `${HEAD}?seq=${first.seq}`, key);
  const records: Json[] = [...data];
  for (let cursor = (await read(world, `${CHANGES}?limit=1000`, key)).next_cursor; ; ) {
    const page = await read(world, `${CHANGES}?limit=1000&cursor=${cursor}`, key);
    records.push(...page.data);
    if (page.data.length === 0) break;
    cursor = page.next_cursor;
  }
  expect(
    await followFeed(
      from,
      records.filter(({ seq }) => seq > from.seq && seq <= head.seq),
    ),
  ).toEqual({ seq: head.seq, hash: head.hash });
}

/** Expects each search to match a comparison of all entries, and the counts to match the terms. */
async function expectTerms(world: World): Promise<void> {
  await world.run(indexDirectory);
  const all = await listAll(world, "limit=100&status=all");
  for (const [one, two] of [
    ["translation", "vision"],
    ["search", "planning"],
  ] as const) {
    const wanted = all.filter(({ capabilities }) => [one, two].every((word) => capabilities.includes(word)));
    expect(await listAll(world, `limit=100&status=all&capabilities=${one},${two}`)).toEqual(wanted);
  }
  const counts = await env.DB.prepare(
    `select c.term, c.entries, (select count(*) from directory_terms t where t.term = c.term) as found from directory_term_counts c
     where entries <> found`,
  ).all();
  expect(counts.results).toEqual([]);
}
