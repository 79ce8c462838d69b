// The running hash and the signed heads (EVT-12, EVT-13).
import { decodeProtectedHeader } from "jose";
import { describe, expect, it } from "vitest";
import { alerts } from "../../src/db/tables/journal.ts";
import { runMessage } from "../../src/jobs/run.ts";
import { signActivityHeads } from "../../src/jobs/tend.ts";
import { checkChain, hashNewEntries } from "../../src/journal/activity-heads.ts";
import { verifyActivityHead } from "../../src/protocol/activity-head.ts";
import { signJws } from "../../src/protocol/jws.ts";
import { computeNextHash, FIRST_HASH } from "../../src/protocol/running-hash.ts";
import { DAY } from "../consequences/plays/stage.ts";
import { deliver } from "../support/queue.ts";
import { createWorld, type Json } from "../support/world.ts";
import { heads, logOf, readLog, rowsOf, tamper, verify, write } from "./activity-support.ts";

describe("the running hash", () => {
  it("can be recomputed from the entries as the API returns them", async () => {
    const { world } = await logOf(5);
    const { data } = await readLog(world);
    const hashes = (await rowsOf(world)).map((row) => row.hash);
    let hash = FIRST_HASH;
    for (const [i, entry] of data.toReversed().entries()) {
      hash = await computeNextHash(hash, entry);
      expect(hashes[i]).toBe(hash);
    }
  });

  it("is computed by the queue after a commit, which names the platform and does not wait", async () => {
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

  it("is the same for ten concurrent runs over a hundred entries", async () => {
    const world = await createWorld();
    await write(world, 100);
    await Promise.all(
      Array.from({ length: 10 }, () => hashNewEntries(world.deps, world.platformId).catch(() => undefined)),
    );
    await hashNewEntries(world.deps, world.platformId);
    expect(await verify(world)).toMatchObject({ valid: true, checked: 100, has_more: false });
  });

  it("is computed by the daily job if a message was lost", async () => {
    const world = await createWorld();
    await write(world, 3);
    await world.run(signActivityHeads);
    expect((await rowsOf(world)).every(({ hash }) => hash !== null)).toBe(true);
  });
});

describe("hashing", () => {
  it("reads and writes each entry once, however long the log before it is", async () => {
    const { world } = await logOf(1);
    await tamper(
      world,
      `insert into activity_entries with recursive n (n) as (select 2 union all select n + 1 from n where n < 3000)
        select $P, n, 'sandbox', 1795234800000 + n, 'agent.suspended', 'system', 'job', 'agent', 'agt_' || n, null, null from n`,
    );
    for (let hashed = 1; hashed < 3_000; hashed += 2_000) {
      world.meter.reset();
      await hashNewEntries(world.deps, world.platformId);
      expect(world.meter.reading.rowsRead).toBeLessThan(2 * 2_000 + 80);
      expect(world.meter.reading.rowsWritten).toBeLessThan(2_000 + 20);
    }
    expect(await verify(world)).toMatchObject({ valid: true, checked: 1_000 });
    expect((await rowsOf(world)).filter(({ hash }) => hash === null)).toEqual([]);
  });
});

describe("the signed heads", () => {
  it("state the number and the hash of the last entry, once a day if entries were added", async () => {
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
      const { kid } = decodeProtectedHeader(jws);
      const iat = Math.floor(Date.parse(signed_at) / 1000);
      expect(checked).toEqual({
        ok: true,
        claims: { iss: world.deps.config.issuer, sub: world.platformId, seq, hash, iat },
        kid,
      });
    }
  });

  it("are listed page by page, to their platform only", async () => {
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

  it("are signed once by concurrent runs", async () => {
    const { world } = await logOf(2);
    await Promise.allSettled([1, 2, 3].map(() => checkChain(world.deps, world.platformId)));
    expect((await heads(world)).data.map(({ seq }: Json) => seq)).toEqual([2]);
  });

  it.each([
    ["another issuer", { iss: "https://other.example" }, { reason: "issuer_mismatch" }],
    ["no number", { seq: 0 }, { reason: "claims_malformed", claim: "seq" }],
  ])("are refused with %s", async (_what, change, fault) => {
    const { world } = await logOf(1);
    await world.run(signActivityHeads);
    const [{ jws }] = (await heads(world)).data;
    const { verification, signing } = await world.deps.ca();
    const claims = JSON.parse(atob(jws.split(".")[1].replaceAll("-", "+").replaceAll("_", "/")));
    const text = new TextEncoder().encode(JSON.stringify({ ...claims, ...change }));
    const forged = await signJws(text, "aeap-activity-head+jwt", signing);
    const options = { issuer: world.deps.config.issuer };
    expect(await verifyActivityHead(forged, verification, options)).toEqual({ ok: false, ...fault });
    const other = await signJws(text, "aeap-receipt+jwt", signing);
    expect(await verifyActivityHead(other, verification, options)).toEqual({ ok: false, reason: "type_not_allowed" });
  });
});

describe("a log with a gap", () => {
  it("is hashed up to the gap only, and the daily job raises an alert once a day", async () => {
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
