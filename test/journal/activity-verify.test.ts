// The running hash, the signed heads, and what the verification finds when somebody changes the table itself (EVT-12, EVT-13, EVT-15).
import { describe, expect, it } from "vitest";
import { alerts } from "../../src/db/tables/journal.ts";
import { runMessage } from "../../src/jobs/run.ts";
import { signActivityHeads } from "../../src/jobs/sign-activity-heads.ts";
import { hashNewEntries } from "../../src/journal/activity-chain.ts";
import { checkChain } from "../../src/journal/activity-heads.ts";
import { activityId } from "../../src/journal/activity-id.ts";
import { verifyActivityHead } from "../../src/protocol/activity-head.ts";
import { FIRST_HASH, nextHash } from "../../src/protocol/running-hash.ts";
import { deliver } from "../support/queue.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { LOG, readLog, rowsOf, write } from "./activity-support.ts";
import { DAY } from "./plays/stage.ts";

const verify = async (world: World, query = ""): Promise<Json> =>
  expectStatus(await world.call("GET", `${LOG}/verify${query}`), 200);
const heads = async (world: World, query = ""): Promise<Json> =>
  expectStatus(await world.call("GET", `${LOG}/heads${query}`), 200);

/** A log of so many entries, hashed, and the ids of its entries. */
async function logOf(entries: number): Promise<{ world: World; ids: string[] }> {
  const world = await createWorld();
  await write(world, entries);
  await hashNewEntries(world.deps, world.platformId);
  const { data } = await readLog(world, "?limit=100");
  return { world, ids: data.map(({ id }: Json) => id).reverse() };
}

/** Changes the table itself, as nobody may. */
const tamper = (world: World, sql: string, ...params: unknown[]) =>
  world.deps.env.DB.prepare(sql.replaceAll("$P", `'${world.platformId}'`))
    .bind(...params)
    .run();

describe("the running hash", () => {
  it("is recomputed by anybody from the entries as the API returns them", async () => {
    const { world } = await logOf(5);
    const { data } = await readLog(world);
    const hashes = (await rowsOf(world)).map((row) => row.hash);
    let hash = FIRST_HASH;
    for (const [i, entry] of data.toReversed().entries()) {
      hash = await nextHash(hash, entry);
      expect(hashes[i]).toBe(hash);
    }
  });

  it("is computed by the queue after a commit, which names the platform and waits for nothing", async () => {
    const world = await createWorld();
    const sent: Json[] = [];
    const OUTBOX_QUEUE = { send: async (message: Json) => void sent.push(message) } as never;
    const { env } = world.deps;
    Object.assign(world.deps, { env: { ...env, OUTBOX_QUEUE } });
    await world.principal();
    expect(sent).toEqual([{ kind: "hand_on_events", activityOf: [world.platformId] }]);
    expect((await rowsOf(world)).map(({ hash }) => hash)).toEqual([null]);
    await deliver(world, "agent-accountability-outbox", sent);
    expect((await rowsOf(world)).map(({ hash }) => hash)).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
  });

  it("is the same whoever computes it: ten runs at once over a hundred entries", async () => {
    const world = await createWorld();
    await write(world, 100);
    await Promise.all(
      Array.from({ length: 10 }, () => hashNewEntries(world.deps, world.platformId).catch(() => undefined)),
    );
    await hashNewEntries(world.deps, world.platformId);
    expect(await verify(world)).toMatchObject({ valid: true, checked: 100, has_more: false });
  });

  it("that a lost message left out is computed by the daily job", async () => {
    const world = await createWorld();
    await write(world, 3);
    await world.run(signActivityHeads);
    expect((await rowsOf(world)).every(({ hash }) => hash !== null)).toBe(true);
  });
});

describe("the signed heads", () => {
  it("state the number and the hash of the last entry, once a day where entries were added", async () => {
    const { world } = await logOf(3);
    await world.run(signActivityHeads);
    await write(world, 2);
    await world.run(signActivityHeads);
    expect((await heads(world)).data.map(({ seq }: Json) => seq)).toEqual([3]);
    world.advance(DAY);
    await world.run(signActivityHeads);
    world.advance(DAY);
    await world.run(signActivityHeads);
    const { data } = await heads(world);
    expect(data.map(({ seq }: Json) => seq)).toEqual([5, 3]);
    const rows = await rowsOf(world);
    const { verification } = await world.deps.ca();
    for (const { seq, hash, jws, signed_at } of data) {
      expect(hash).toBe(rows[seq - 1]?.hash);
      const checked = await verifyActivityHead(jws, verification, { issuer: world.deps.config.issuer });
      const iat = Math.floor(Date.parse(signed_at) / 1000);
      expect(checked).toEqual({
        ok: true,
        claims: { iss: world.deps.config.issuer, sub: world.platformId, seq, hash, iat },
      });
    }
  });

  it("are listed page by page, to their platform alone", async () => {
    const { world } = await logOf(1);
    for (let day = 0; day < 3; day++) {
      await world.run(signActivityHeads);
      await write(world, 1);
      world.advance(DAY);
    }
    const first = await heads(world, "?limit=2");
    expect(first.data.map(({ seq }: Json) => seq)).toEqual([3, 2]);
    const rest = await heads(world, `?limit=2&cursor=${encodeURIComponent(first.next_cursor)}`);
    expect([rest.data.map(({ seq }: Json) => seq), rest.has_more]).toEqual([[1], false]);
    expect((await heads(await createWorld())).data).toEqual([]);
  });

  it("are signed once by two runs at once", async () => {
    const { world } = await logOf(2);
    await Promise.allSettled([1, 2, 3].map(() => checkChain(world.deps, world.platformId)));
    expect((await heads(world)).data.map(({ seq }: Json) => seq)).toEqual([2]);
  });

  it.each([
    ["another issuer", { iss: "https://other.example" }, "issuer_mismatch"],
    ["no number", { seq: 0 }, "claims_malformed"],
  ])("are refused with %s", async (_what, change, reason) => {
    const { world } = await logOf(1);
    await world.run(signActivityHeads);
    const [{ jws }] = (await heads(world)).data;
    const { verification, signing } = await world.deps.ca();
    const { signJws } = await import("../../src/protocol/jws.ts");
    const claims = JSON.parse(atob(jws.split(".")[1].replaceAll("-", "+").replaceAll("_", "/")));
    const text = new TextEncoder().encode(JSON.stringify({ ...claims, ...change }));
    const forged = await signJws(text, "aeap-activity-head+jwt", signing);
    const options = { issuer: world.deps.config.issuer };
    expect(await verifyActivityHead(forged, verification, options)).toEqual({ ok: false, reason });
    const other = await signJws(text, "aeap-receipt+jwt", signing);
    expect(await verifyActivityHead(other, verification, options)).toEqual({ ok: false, reason: "type_not_allowed" });
  });
});

describe("the verification", () => {
  it("finds a log as it was written, whole or in part, also what nobody has hashed yet", async () => {
    const { world, ids } = await logOf(5);
    await write(world, 1);
    const whole = await verify(world);
    const newest = (await readLog(world, "?limit=1")).data[0].id;
    expect(whole).toEqual({ valid: true, checked: 6, first_id: ids[0], last_id: newest, has_more: false });
    const part = await verify(world, `?from=${ids[1]}&to=${ids[3]}`);
    expect(part).toEqual({ valid: true, checked: 3, first_id: ids[1], last_id: ids[3], has_more: false });
    const empty = await verify(await createWorld());
    expect(empty).toEqual({ valid: true, checked: 0, first_id: null, last_id: null, has_more: false });
  });

  it("says where an entry was edited", async () => {
    const { world, ids } = await logOf(5);
    await tamper(world, "update activity_entries set actor_id = 'somebody' where platform_id = $P and seq = 3");
    expect(await verify(world)).toEqual({
      valid: false,
      checked: 2,
      first_id: ids[0],
      last_id: ids[1],
      has_more: false,
      broken_at: ids[2],
      broken_seq: 3,
      reason: "hash_mismatch",
    });
    expect(await verify(world, `?from=${ids[3]}`)).toMatchObject({ valid: true, checked: 2 });
  });

  it.each([
    "environment = 'production'",
    "occurred_at = occurred_at + 1",
    "action = 'agent.revoked'",
    "actor_type = 'system'",
    "subject_type = 'principal'",
    "subject_id = 'agt_2'",
    "changes = '{}'",
    "changes = null",
    "hash = null",
    `hash = '${FIRST_HASH}'`,
  ])("says where an entry was edited by %s", async (edit) => {
    const { world } = await logOf(3);
    await tamper(world, `update activity_entries set ${edit} where platform_id = $P and seq = 2`);
    expect(await verify(world)).toMatchObject({ valid: false, checked: 1, broken_seq: 2, reason: "hash_mismatch" });
  });

  it("says where an entry was removed", async () => {
    const { world, ids } = await logOf(5);
    await tamper(world, "delete from activity_entries where platform_id = $P and seq = 3");
    const found = { valid: false, broken_at: ids[3], broken_seq: 3, reason: "sequence_broken" };
    expect(await verify(world)).toMatchObject({ ...found, checked: 2 });
    expect(await verify(world, `?from=${ids[2]}`)).toMatchObject({ ...found, checked: 0, first_id: null });
    expect(await verify(world, `?from=${ids[3]}`)).toMatchObject({ valid: false, broken_seq: 3, broken_at: null });
  });

  it("says where an entry was removed and those after it were moved up", async () => {
    const { world } = await logOf(5);
    await tamper(world, "delete from activity_entries where platform_id = $P and seq = 3");
    await tamper(world, "update activity_entries set seq = seq - 1 where platform_id = $P and seq > 3");
    expect(await verify(world)).toMatchObject({ valid: false, checked: 2, broken_seq: 3, reason: "hash_mismatch" });
  });

  const COPY = `insert into activity_entries select platform_id, ?, environment, occurred_at, action, actor_type, actor_id,
    subject_type, subject_id, changes, hash from activity_entries where platform_id = $P and seq = 2`;

  it("says where an entry was inserted and those after it were moved down", async () => {
    const { world } = await logOf(5);
    await tamper(world, "update activity_entries set seq = -seq - 1 where platform_id = $P and seq > 2");
    await tamper(world, "update activity_entries set seq = -seq where platform_id = $P and seq < 0");
    await tamper(world, COPY, 3);
    expect(await verify(world)).toMatchObject({ valid: false, checked: 2, broken_seq: 3, reason: "hash_mismatch" });
  });

  it.each([
    [2.5, 3, 2],
    [0, 1, 0],
    [-7, 1, 0],
  ])("says where an entry was inserted between others, numbered %d", async (seq, broken_seq, checked) => {
    const { world } = await logOf(5);
    await tamper(world, COPY, seq);
    expect(await verify(world)).toMatchObject({ valid: false, checked, broken_seq, reason: "sequence_broken" });
  });

  it("says where two entries were swapped, with their hashes or without", async () => {
    const { world, ids } = await logOf(5);
    const swap = async (column: string) => {
      await tamper(
        world,
        `update activity_entries set ${column} = -${column} where platform_id = $P and seq in (2, 4)`,
      );
      await tamper(world, `update activity_entries set seq = 6 + seq where platform_id = $P and seq < 0`);
    };
    await swap("seq");
    expect(await verify(world)).toMatchObject({ valid: false, checked: 1, broken_seq: 2, reason: "hash_mismatch" });
    await swap("seq");
    expect(await verify(world)).toMatchObject({ valid: true, checked: 5, last_id: ids[4] });
  });

  it("says where entries were cut from the end, also when the log went on since", async () => {
    const { world, ids } = await logOf(5);
    await tamper(world, "delete from activity_entries where platform_id = $P and seq > 3");
    const found = { valid: false, checked: 3, broken_seq: 4 };
    expect(await verify(world)).toMatchObject({ ...found, broken_at: ids[2], reason: "sequence_broken" });
    await write(world, 1);
    expect(await verify(world)).toMatchObject({ ...found, reason: "hash_mismatch" });
  });

  it("finds by a head what was cut although the chain was set back, and all of it", async () => {
    const { world, ids } = await logOf(5);
    await world.run(signActivityHeads);
    const [, , third] = await rowsOf(world);
    await tamper(world, "delete from activity_entries where platform_id = $P and seq > 3");
    await tamper(world, "update activity_chains set seq = 3, hash = ? where platform_id = $P", third?.hash);
    expect(await verify(world)).toMatchObject({ valid: false, checked: 3, broken_at: ids[2], broken_seq: 4 });
    await tamper(world, "delete from activity_entries where platform_id = $P");
    expect(await verify(world)).toMatchObject({ valid: false, checked: 0, broken_at: null, broken_seq: 1 });
  });

  it("finds by a head that everything was hashed anew after an edit, also where the head's row was changed too", async () => {
    const { world } = await logOf(4);
    await world.run(signActivityHeads);
    await write(world, 2);
    await tamper(
      world,
      "update activity_entries set subject_id = 'agt_2', hash = null where platform_id = $P and seq = 2",
    );
    await tamper(world, "update activity_chains set seq = 0, hash = ? where platform_id = $P", FIRST_HASH);
    const found = { valid: false, checked: 3, broken_seq: 4, reason: "head_mismatch" };
    expect(await verify(world)).toMatchObject(found);
    const [, , , fourth] = await rowsOf(world);
    await tamper(world, "update activity_heads set hash = ? where platform_id = $P", fourth?.hash);
    expect(await verify(world)).toMatchObject(found);
  });

  it("goes on from the last entry that a call has verified", async () => {
    const world = await createWorld();
    await tamper(
      world,
      `insert into activity_entries with recursive n (n) as (select 1 union all select n + 1 from n where n < 2400)
        select $P, n, 'sandbox', 1795234800000 + n, 'agent.suspended', 'system', 'job', 'agent', 'agt_' || n, null, null from n`,
    );
    const seen: [number, boolean][] = [];
    for (let query = ""; ; ) {
      const { valid, checked, last_id, has_more } = await verify(world, query);
      expect(valid).toBe(true);
      seen.push([checked, has_more]);
      if (!has_more) break;
      query = `?from=${last_id}`;
    }
    expect(seen).toEqual([
      [1_000, true],
      [1_000, true],
      [402, false],
    ]);
    await tamper(world, "update activity_entries set subject_id = 'x' where platform_id = $P and seq = 1500");
    const first = await verify(world);
    expect(first).toMatchObject({ valid: true, checked: 1_000, has_more: true });
    expect(await verify(world, `?from=${first.last_id}`)).toMatchObject({ valid: false, broken_seq: 1_500 });
  });

  it("refuses what is no entry of the platform, and a range that ends before it begins", async () => {
    const { world, ids } = await logOf(3);
    const stranger = await createWorld();
    const refused = async (query: string) => {
      const { status, body } = await world.call("GET", `${LOG}/verify?${query}`);
      return [status, body.code, body.field_errors.map(({ field }: Json) => field)];
    };
    const foreign = activityId(stranger.platformId, 1, world.now());
    const later = activityId(world.platformId, 9, world.now());
    expect(await refused(`from=${foreign}`)).toEqual([422, "validation_failed", ["from"]]);
    expect(await refused(`from=act_1&to=${foreign}`)).toEqual([422, "validation_failed", ["from", "to"]]);
    expect(await refused(`from=${later}`)).toEqual([422, "validation_failed", ["from"]]);
    expect(await refused(`from=${ids[2]}&to=${ids[0]}`)).toEqual([422, "validation_failed", ["to"]]);
  });
});

describe("a log with a gap", () => {
  it("is hashed no further, and the daily job raises an alert once a day", async () => {
    const world = await createWorld();
    await world.deps.db.delete(alerts);
    await write(world, 4);
    await tamper(world, "delete from activity_entries where platform_id = $P and seq = 2");
    await hashNewEntries(world.deps, world.platformId);
    expect((await rowsOf(world)).map(({ hash }) => hash !== null)).toEqual([true, false, false]);
    const ids = [world.platformId];
    const { name: job } = signActivityHeads;
    for (let minute = 0; minute < 2; minute++) {
      await runMessage(world.deps, [signActivityHeads], { kind: "record", job, ids });
    }
    const raised = await world.deps.db.select().from(alerts);
    expect(raised).toMatchObject([{ kind: "job_failed", subject: job, seen: 1 }]);
    expect(raised[0]?.message).toContain("entry 2 of the activity log is missing");
    expect(await verify(world)).toMatchObject({ valid: false, broken_seq: 2 });
  });
});
