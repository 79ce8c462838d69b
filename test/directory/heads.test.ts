// The running hash of the feed and its signed heads (DIR-13, DIR-14).
import { beforeAll, describe, expect, it } from "vitest";
import { pruneDirectory } from "../../src/directory/changes.ts";
import { buildFeedLog } from "../../src/directory/follow.ts";
import { signDirectoryHeads } from "../../src/directory/heads.ts";
import { hashLog } from "../../src/journal/running-log.ts";
import { followFeed, verifyDirectoryHead } from "../../src/protocol/directory-head.ts";
import { FIRST_HASH } from "../../src/protocol/running-hash.ts";
import { rows } from "../promotion/support.ts";
import { createWorld, env, ISSUER, type Json, type World } from "../support/world.ts";
import { CHANGES, changesFrom, HEAD, read } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
  await world.consumer();
});

const START = { seq: 0, hash: FIRST_HASH };
const keys = async () => (await world.deps.ca()).verification;
const verified = async (jws: string) => verifyDirectoryHead(jws, await keys(), { issuer: ISSUER });
const recomputed = async (to: number) =>
  followFeed(
    START,
    (await changesFrom(world, "since=0")).records.filter(({ seq }: Json) => seq <= to),
  );

describe("a head", () => {
  it("is the hash that any reader of the feed computes, signed", async () => {
    await world.run(signDirectoryHeads);
    const head = await read(world, HEAD);
    const { records } = await changesFrom(world, "since=0");
    expect(head).toEqual({
      environment: "sandbox",
      seq: records.at(-1).seq,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      signed_at: expect.any(String),
      jws: expect.any(String),
    });
    expect(await recomputed(head.seq)).toEqual({ seq: head.seq, hash: head.hash });
    const checked = await verified(head.jws);
    const { seq, hash } = head;
    expect(checked).toMatchObject({ ok: true, claims: { iss: ISSUER, environment: "sandbox", seq, hash } });
  });

  it("is the same if the database has no row of the feed yet", async () => {
    await rows("delete from directory_feeds where environment = 'sandbox'");
    await world.consumer();
    await world.run(signDirectoryHeads);
    const { seq, hash } = await read(world, HEAD);
    expect(await recomputed(seq)).toEqual({ seq, hash });
    expect(await rows("select hash from directory_feeds where environment = 'sandbox'")).toEqual([{ hash }]);
  });

  it("is signed again only if something has changed, and earlier heads stay", async () => {
    await world.run(signDirectoryHeads);
    const before = await read(world, HEAD);
    expect(await world.run(signDirectoryHeads)).toBe(0);
    expect(await read(world, HEAD)).toEqual(before);
    await world.consumer();
    await world.consumer();
    await world.run(signDirectoryHeads);
    const after = await read(world, HEAD);
    expect(after.seq).toBe(before.seq + 2);
    expect(await read(world, `${HEAD}?seq=${before.seq}`)).toEqual(before);
    // The first head that covers a record.
    expect(await read(world, `${HEAD}?seq=${before.seq + 1}`)).toEqual(after);
    expect(await recomputed(after.seq)).toEqual({ seq: after.seq, hash: after.hash });
  });

  it("is 404 for a number that no head covers, and other numbers are faults", async () => {
    const { seq } = await read(world, HEAD);
    expect((await world.call("GET", `${HEAD}?seq=${seq + 1}`)).body.code).toBe("not_found");
    for (const faulty of ["0", "-1", "x", "1.5", ""]) {
      const { status, body } = await world.call("GET", `${HEAD}?seq=${faulty}`);
      expect([faulty, status, body.field_errors?.[0]?.field]).toEqual([faulty, 422, "seq"]);
    }
  });

  it("of the other environment is separate", async () => {
    const reply = await world.call("GET", HEAD, { key: world.liveKey });
    expect([200, 404]).toContain(reply.status);
    if (reply.status === 200) expect(reply.body.environment).toBe("production");
  });

  it("is signed once by two concurrent runs", async () => {
    await world.consumer();
    await Promise.all([world.run(signDirectoryHeads), world.run(signDirectoryHeads)]);
    const { results } = await env.DB.prepare(
      "select seq, count(*) as n from directory_heads group by environment, seq having n > 1",
    ).all();
    expect(results).toEqual([]);
    const head = await read(world, HEAD);
    expect(await recomputed(head.seq)).toEqual({ seq: head.seq, hash: head.hash });
  });
});

describe("a change of the table after a head", () => {
  const change = async (sql: string, ...values: unknown[]) =>
    env.DB.prepare(sql)
      .bind(...values)
      .run();

  it.each([
    [
      "an edited record",
      "update directory_changes set change_type = 'revoked' where environment = 'sandbox' and seq = ?",
    ],
    [
      "another instant",
      "update directory_changes set occurred_at = occurred_at + 1 where environment = 'sandbox' and seq = ?",
    ],
    ["a removed record", "delete from directory_changes where environment = 'sandbox' and seq = ?"],
    ["a removed newest record", "delete from directory_changes where environment = 'sandbox' and seq = ? + 2"],
    [
      "a number that is left out",
      "update directory_changes set seq = seq + 1000 where environment = 'sandbox' and seq > ?",
    ],
    [
      "an inserted record",
      // Later records move on by one, from the last one down, through numbers that are not in use.
      "update directory_changes set seq = -seq - 1 where environment = 'sandbox' and seq > ?",
      "update directory_changes set seq = -seq where seq < 0",
      "insert into directory_changes select environment, seq + 1, did, 'updated', occurred_at from directory_changes where environment = 'sandbox' and seq = ?",
    ],
  ])("%s is detected by recomputing", async (_what, ...statements) => {
    const fresh = await createWorld();
    for (let n = 0; n < 4; n++) await fresh.consumer();
    await world.run(signDirectoryHeads);
    const head = await read(world, HEAD);
    const kept = (await env.DB.prepare("select * from directory_changes where environment = 'sandbox'").all<Json>())
      .results;
    for (const sql of statements) await change(sql, ...(sql.includes("?") ? [head.seq - 2] : []));
    const now = await recomputed(head.seq + 2_000);
    expect("missing" in now || now.hash !== head.hash || now.seq !== head.seq).toBe(true);
    // Restores the rows for the other cases.
    await change("delete from directory_changes where environment = 'sandbox'");
    for (const row of kept)
      await change(
        "insert into directory_changes values (?, ?, ?, ?, ?)",
        row.environment,
        row.seq,
        row.did,
        row.change_type,
        row.occurred_at,
      );
    expect(await recomputed(head.seq)).toEqual({ seq: head.seq, hash: head.hash });
  });

  it("a gap is reported by the job, and no record after it is signed", async () => {
    await world.consumer();
    await world.consumer();
    const last = (await changesFrom(world, "")).records.at(-1);
    await change("delete from directory_changes where environment = 'sandbox' and seq = ?", last.seq - 1);
    await expect(signDirectoryHeads.record(world.deps, "sandbox")).rejects.toThrow(`record ${last.seq - 1}`);
    const head = await read(world, HEAD);
    expect(head.seq).toBeLessThan(last.seq - 1);
    await change(
      "insert into directory_changes values ('sandbox', ?, ?, 'registered', ?)",
      last.seq - 1,
      last.did,
      Date.parse(last.occurred_at) - 1,
    );
    await world.run(signDirectoryHeads);
    expect((await read(world, HEAD)).seq).toBe(last.seq);
  });
});

describe("heads and hashes", () => {
  it("continue if a noted record has the instant of a pruned one", async () => {
    const lastSeq = async () =>
      Number(
        (await env.DB.prepare("select max(seq) as n from directory_changes where environment = 'sandbox'").first())?.[
          "n"
        ],
      );
    do await world.consumer();
    while ((await lastSeq()) % 16 !== 0);
    const ahead = Date.now() + 60_000;
    await env.DB.batch([
      env.DB.prepare("update directory_changes set occurred_at = ? where environment = 'sandbox' and seq = ?").bind(
        ahead,
        await lastSeq(),
      ),
      env.DB.prepare(
        "insert into directory_hashes (environment, occurred_at, seq, hash) values ('sandbox', ?, 1, '')",
      ).bind(ahead + 1),
    ]);
    await world.consumer();
    await world.run(signDirectoryHeads);
    expect((await read(world, HEAD)).seq).toBe(await lastSeq());
    const { results } = await env.DB.prepare("select seq from directory_hashes where occurred_at = ?")
      .bind(ahead + 1)
      .all();
    expect(results).toEqual([{ seq: expect.toSatisfy((seq) => seq % 16 === 1 && seq > 1) }]);
  });

  it("stay when the records are pruned: all heads, and every sixteenth hash", async () => {
    await world.run(signDirectoryHeads);
    const head = await read(world, HEAD);
    const before = (await changesFrom(world, "")).records;
    world.advance(31 * 86_400_000);
    await world.run(pruneDirectory);
    expect((await read(world, CHANGES)).data).toEqual([]);
    expect(await read(world, `${HEAD}?seq=1`)).toMatchObject({ environment: "sandbox" });
    expect(await read(world, `${HEAD}?seq=${head.seq}`)).toEqual(head);
    const hashes = await env.DB.prepare(
      "select count(*) as n, min(seq) as first, max(seq) as last from directory_hashes where environment = 'sandbox'",
    ).first();
    const noted = Math.ceil(head.seq / 16);
    const followed = await followFeed(
      { seq: 0, hash: FIRST_HASH },
      before.filter(({ seq }) => seq <= 1 + 16 * (noted - 1)),
    );
    const last = await env.DB.prepare(
      "select hash from directory_hashes where environment = 'sandbox' order by seq desc",
    ).first();
    expect(followed).toMatchObject(last ?? {});
    expect(hashes).toEqual({ n: noted, first: 1, last: 1 + 16 * (noted - 1) });
    world.offset = 0;
    await world.consumer();
    await hashLog(world.deps, buildFeedLog("sandbox"));
    await world.run(signDirectoryHeads);
    const next = await read(world, HEAD);
    // A reader with the earlier head continues from it.
    const { records } = await changesFrom(world, `since=${head.seq}`);
    expect(await followFeed({ seq: head.seq, hash: head.hash }, records)).toEqual({ seq: next.seq, hash: next.hash });
  });
});
