// An end that passes between a read and the commit that undoes it (DIR-7, DIR-10, DIR-15), and the cost for readers while an end is not recorded.
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import { finishRestatements } from "../../src/cascades/restate-agents.ts";
import { indexDirectory } from "../../src/directory/changes.ts";
import { followDirectory } from "../../src/directory/follow.ts";
import { attested, stopped } from "../support/clock.ts";
import { copyRow } from "../support/copies.ts";
import { createWorld, env, expectStatus, type World } from "../support/world.ts";
import { AGENTS, CHANGES, changesFrom, read } from "./support.ts";

let world: World;
beforeEach(async () => {
  world = stopped(await createWorld());
});

/** A principal whose attestation ends in 20 seconds, with an agent, and the cursor of the feed. */
async function ending() {
  const body = attested(1);
  const principalId = await world.principal(body);
  const { did } = await world.consumer({ principal_id: principalId });
  const { cursor } = await changesFrom(world, "");
  world.advance(Date.parse(body.verification_attestation.expires_at) - 20_000 - world.now());
  // Afterwards the credential itself writes no rows.
  await read(world, `${AGENTS}/${did}`);
  return { principalId, did, cursor };
}
const renew = async (principalId: string) =>
  expectStatus(
    await world.call("POST", `/v1/principals/${principalId}/attestations`, { body: { placeholder: true } }),
    201,
  );
const statusIn = async (did: string) => {
  const { data } = await read(world, `${AGENTS}?status=all&limit=100&updated_since=${encodeURIComponent(SINCE)}`);
  return data.find((entry: { did: string }) => entry.did === did)?.status;
};
const SINCE = new Date(Date.now() - 60_000).toISOString();
const settle = async () => {
  for (const job of [endAttestations, finishCascades, finishRestatements]) await world.run(job);
};

describe("an attestation that is renewed as it ends", () => {
  it("is reported to readers that saw its agents suspended between the beginning of the call and its commit", async () => {
    const { principalId, did, cursor } = await ending();
    const seen: unknown[] = [];
    world.meter.beforeBatch(2, async () => {
      world.advance(60_000);
      seen.push((await read(world, `${AGENTS}/${did}`)).status, await statusIn(did));
    });
    await renew(principalId);
    expect(seen).toEqual(["SUSPENDED", "SUSPENDED"]);
    await settle();
    const { records } = await changesFrom(world, `cursor=${cursor}`);
    expect(records.filter((record) => record.did === did).map(({ change_type }) => change_type)).toEqual([
      "status_changed",
    ]);
    expect((await read(world, `${AGENTS}/${did}`)).status).toBe("ACTIVE");
  });

  it("has no entity tag until it is reported, whatever other end is not recorded", async () => {
    const { principalId, did } = await ending();
    const later = attested(1);
    later.verification_attestation.attestation_id = `att_${crypto.randomUUID()}`;
    const other = await world.principal(later);
    await world.consumer({ principal_id: other });
    const path = `${AGENTS}?status=all&limit=100&updated_since=${encodeURIComponent(SINCE)}`;
    let tag = "";
    world.meter.beforeBatch(2, async () => {
      world.advance(60_000);
      const reply = await world.call("GET", path);
      tag = reply.headers.get("etag") ?? "";
      expect(reply.body.data.find((entry: { did: string }) => entry.did === did)?.status).toBe("SUSPENDED");
    });
    await renew(principalId);
    expect(tag).not.toBe("");
    const again = await world.call("GET", path, { headers: { "If-None-Match": tag } });
    expect([again.status, again.headers.get("etag")]).toEqual([200, null]);
    await world.run(finishRestatements);
    const told = await world.call("GET", path, { headers: { "If-None-Match": tag } });
    expect([told.status, told.headers.get("etag") === null]).toEqual([200, false]);
    await settle();
  });

  it("is judged at the instant at which its entry is read, not later", async () => {
    const { principalId, did } = await ending();
    const { d1 } = world.meter;
    const batch = d1.batch;
    d1.batch = (async (statements: never) => {
      const answer = await batch.call(d1, statements);
      d1.batch = batch;
      // This runs between the database's answer and the service's next line.
      await renew(principalId);
      world.advance(60_000);
      return answer;
    }) as typeof batch;
    expect((await read(world, `${AGENTS}/${did}`)).status).toBe("ACTIVE");
    await settle();
  });

  it("is not listed again if it is renewed long before its end", async () => {
    const principalId = await world.principal();
    await world.consumer({ principal_id: principalId });
    await renew(principalId);
    expect((await env.DB.prepare("select count(*) as n from walks where kind = 'restatement'").first())?.["n"]).toBe(0);
  });
});

describe("the cost of other accounts for a reader", () => {
  let did: string;
  beforeAll(async () => {
    const first = await createWorld();
    ({ did } = await first.consumer());
    await first.run(indexDirectory);
    const copy = `'did:aeap:' || printf('%08x', i * 2654435761 % 4294967296) || substr(t.did, 18)`;
    const live = { did: copy, environment: "'production'", updated_at: "1500000000000 + i" };
    const ended = { ...live, status: "'REVOKED'", listed_as: "'revoked'" };
    await copyRow("directory_entries", `did = '${did}'`, ended, { from: 0, to: 3_000 });
    await copyRow("directory_entries", `did = '${did}'`, live, { from: 3_000, to: 3_030 });
  });
  const cost = async (path: string, key = world.liveKey) => {
    await world.call("GET", path, { key });
    world.meter.reset();
    const { body, headers } = await world.call("GET", path, { key });
    const { rowsRead, trips } = world.meter.reading;
    return { found: body.data.length, tagged: headers.get("etag") !== null, rowsRead, trips };
  };
  const page = `${AGENTS}?limit=20`;

  it("is nothing if a principal of the other environment, or one without agents, has ended", async () => {
    const before = await cost(page);
    expect(before).toMatchObject({ found: 20, tagged: true, trips: 1 });
    const [stranger, bare] = [await createWorld(), await createWorld()];
    await stranger.consumer({ principal_id: await stranger.principal(attested(1)) });
    await bare.principal(attested(1));
    world.advance(2 * 3_600_000);
    const after = await cost(page);
    expect(after).toMatchObject({ found: 20, tagged: true, trips: 1 });
    expect(after.rowsRead - before.rowsRead).toBeLessThanOrEqual(6);
    // In its own environment it is the entries of the page and their principals.
    const own = await cost(page, world.key);
    expect(own.trips).toBe(2);
    expect(own.rowsRead).toBeLessThanOrEqual(2 * 25 + 30);
    for (const one of [stranger, bare]) one.advance(2 * 3_600_000);
    await stranger.run(endAttestations);
    await stranger.run(finishCascades);
  });

  it("is nothing while agents are being reinstated", async () => {
    await env.DB.prepare(
      `insert into walks (kind, subject, started_at, after_at, after_id, "trigger", report) values ('cascade', 'prn_x', 1, 0, '', 'principal_returns', '[]')`,
    ).run();
    expect(await cost(page)).toMatchObject({ found: 20, tagged: true, trips: 1 });
    await env.DB.prepare("delete from walks where subject = 'prn_x'").run();
  });

  it("is a few rows of the feed, however many records are not hashed yet", async () => {
    const { records } = await changesFrom(world, "");
    const last = records.at(-1);
    const backlog = { seq: `${last.seq} + i + 1`, occurred_at: "t.occurred_at + i + 1" };
    await copyRow("directory_changes", `environment = 'sandbox' and seq = ${last.seq}`, backlog, {
      from: 0,
      to: 5_000,
    });
    const newest = await env.DB.prepare(
      "select max(seq) as seq, max(occurred_at) as at from directory_changes where environment = 'sandbox'",
    ).first();
    const [end, at_end] = [Number(newest?.["seq"]), Number(newest?.["at"])];
    expect(end - last.seq).toBeGreaterThanOrEqual(5_000);
    world.advance(60_000);
    for (const back of [0, 1, 10, 2_500, 4_999]) {
      const at = at_end - back;
      const path = `${CHANGES}?limit=10&since=${new Date(at).toISOString()}`;
      const { data } = await read(world, path);
      expect([back, data.length, data[0]?.seq]).toEqual([
        back,
        Math.min(back, 10),
        back === 0 ? undefined : end + 1 - back,
      ]);
      const { rowsRead } = await cost(path, world.key);
      expect([back, rowsRead <= 60]).toEqual([back, true]);
    }
    await env.DB.prepare("delete from directory_changes where environment = 'sandbox' and seq > ?")
      .bind(last.seq)
      .run();
  });

  it("is a bounded number of statements for the job that indexes", async () => {
    // More entries than one run indexes.
    const WAITING = 60;
    const words = JSON.stringify(Array.from({ length: 50 }, (_, n) => `word${n}`));
    const waiting = { capabilities: `'${words}'`, terms: "'[]'", unindexed: "1", updated_at: "1510000000000 + i" };
    const copy = `'did:aeap:' || printf('%08x', i * 2654435761 % 4294967296) || substr(t.did, 18)`;
    await copyRow(
      "directory_entries",
      `did = '${did}'`,
      { did: copy, ...waiting },
      { from: 4_000, to: 4_000 + WAITING },
    );
    world.meter.reset();
    await followDirectory(world.deps, "sandbox");
    expect(world.meter.reading.statements).toBeLessThanOrEqual(350);
    await world.run(indexDirectory);
    const left = await env.DB.prepare("select count(*) as n from directory_entries where unindexed = 1").first();
    expect(left?.["n"]).toBe(0);
    const counted = await env.DB.prepare("select entries from directory_term_counts where term like '%word49'").first();
    expect(counted?.["entries"]).toBe(WAITING);
  });
});
