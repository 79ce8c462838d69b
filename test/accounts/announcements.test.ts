// Announcements of the operator (ACC-15) go once to every account with a verified address that is not closed.
import { beforeEach, describe, expect, inject, it } from "vitest";
import { announceJob } from "../../src/accounts/announcements.ts";
import { mailNotices } from "../../src/accounts/notices.ts";
import { dumpDatabase, failingBatches, withDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";

let world: World;
beforeEach(async () => {
  world = await createWorld();
  const left = ["notices", "announcements", "walks", "platforms where platform_id like 'plt_A%'"];
  await env.DB.batch(left.map((rows) => env.DB.prepare(`delete from ${rows}`)));
});

const NOTICE = {
  kind: "maintenance",
  subject: "Maintenance on Sunday",
  text: "The service pauses from 02:00 to 02:10 UTC.\n\nPayments that are made then are facilitated after.",
};
const send = (body: unknown, headers: Record<string, string> = {}) =>
  world.call("POST", "/v1/operator/notices", {
    key: null,
    headers: { Authorization: `Bearer ${inject("operatorKey")}`, ...headers },
    body,
  });
const notices = async (): Promise<Json[]> =>
  (await env.DB.prepare("select * from notices order by platform_id").all()).results;
const accounts = async (): Promise<Json[]> =>
  (
    await env.DB.prepare(
      "select platform_id from platforms where status not in ('EMAIL_PENDING', 'CLOSED') order by platform_id",
    ).all()
  ).results;

/** Accounts as bare rows, in a separate range of ids. */
let ranges = 0;
async function seed(count: number, status = "PROFILE_PENDING"): Promise<string[]> {
  const stamp = String(++ranges).padStart(14, "0");
  const ids = Array.from({ length: count }, (_, n) => `plt_A${stamp}${String(n).padStart(6, "0")}`);
  await env.DB.prepare(
    `insert into platforms (platform_id, status, email, email_folded, documents, created_at, updated_at)
      select value, ?, value || '@many.example', lower(value) || '@many.example', '{}', 0, 0 from json_each(?)`,
  )
    .bind(status, JSON.stringify(ids))
    .run();
  return ids;
}

describe("an announcement", () => {
  it("is accepted, and reaches each account with a verified address that is not closed by one mail", async () => {
    const [pending = ""] = await seed(1, "EMAIL_PENDING");
    const [closed = ""] = await seed(1, "CLOSED");
    const [suspended = ""] = await seed(1, "SUSPENDED");
    const accepted = expectStatus(await send(NOTICE), 202);
    expect(accepted).toEqual({
      ...NOTICE,
      announcement_id: expect.stringMatching(/^ann_/),
      created_at: expect.any(String),
    });
    expect(await notices()).toEqual([]);
    await world.run(announceJob);
    const reached = (await notices()).map(({ platform_id }) => platform_id);
    expect(reached).toEqual((await accounts()).map(({ platform_id }) => platform_id));
    expect(reached).toContain(suspended);
    for (const left of [pending, closed]) expect(reached).not.toContain(left);
    await world.run(mailNotices);
    expect(world.mails).toHaveLength(reached.length);
    expect(world.mails).toContainEqual(
      expect.objectContaining({
        to: `${suspended}@many.example`,
        subject: NOTICE.subject,
        text: expect.stringContaining(NOTICE.text),
      }),
    );
    expect(await notices()).toEqual([]);
    expect(await world.run(announceJob)).toBe(0);
  });

  it("goes to the admin contact if one is named", async () => {
    const [platformId = ""] = await seed(1);
    const set = "update platforms set admin_contact_email = 'office@many.example' where platform_id = ?";
    await env.DB.prepare(set).bind(platformId).run();
    await send(NOTICE);
    await world.run(announceJob);
    const [own] = (await notices()).filter((notice) => notice.platform_id === platformId);
    expect(own.recipient).toBe("office@many.example");
  });

  it("is stored once, however many accounts it reaches", async () => {
    await seed(1_200);
    await send({ ...NOTICE, text: "A long text. ".repeat(700) });
    world.meter.reset();
    const reached = await world.run(announceJob);
    expect(reached).toBeGreaterThanOrEqual(1_200);
    const { trips, rowsRead } = world.meter.reading;
    expect(trips).toBeLessThanOrEqual(3 * (Math.floor(reached / 500) + 1) + 1);
    expect(rowsRead).toBeLessThan(2 * reached + 200);
    for (const { data } of await notices()) expect(data.length).toBeLessThan(100);
  });

  it("reaches each account once when a run is cut off, and when two run at once", async () => {
    await seed(1_100);
    await send(NOTICE);
    // The first slice is written, but its answer is lost.
    const cut = failingBatches(env.DB, (batch) => (batch === 3 ? "after" : "never"));
    await expect(world.run(announceJob, withDatabase(world, cut).deps)).rejects.toThrow("connection lost");
    expect(await notices()).toHaveLength(500);
    await Promise.all([world.run(announceJob), world.run(announceJob)].map((run) => run.catch(() => undefined)));
    await world.run(announceJob);
    const reached = (await notices()).map(({ platform_id }) => platform_id);
    expect(new Set(reached).size).toBe(reached.length);
    expect(reached).toEqual((await accounts()).map(({ platform_id }) => platform_id));
  });

  it("follows another announcement that is still open", async () => {
    await send(NOTICE);
    await send({ ...NOTICE, kind: "security", subject: "Rotate your keys" });
    await world.run(announceJob);
    const count = (await accounts()).length;
    const kinds = (await notices()).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "customer.maintenance")).toHaveLength(count);
    expect(kinds.filter((kind) => kind === "customer.security")).toHaveLength(count);
  });

  it("is sent once under its Idempotency-Key, which belongs to the operator", async () => {
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const first = expectStatus(await send(NOTICE, headers), 202);
    const again = await send(NOTICE, headers);
    expect([again.status, again.body, again.headers.get("idempotent-replayed")]).toEqual([202, first, "true"]);
    const other = await send({ ...NOTICE, subject: "Another" }, headers);
    expect([other.status, other.body.code]).toEqual([422, "idempotency_key_reused"]);
    const { results } = await env.DB.prepare("select announcement_id from announcements").all();
    expect(results).toHaveLength(1);
  });
});

describe("an announcement is refused", () => {
  it.each([
    ["an unknown kind", { kind: "advertisement" }, "kind"],
    ["a subject of 201 characters", { subject: "x".repeat(201) }, "subject"],
    ["a subject of two lines", { subject: "One\nBcc: all@everybody.example" }, "subject"],
    ["an empty subject", { subject: " " }, "subject"],
    ["a text of 10,001 characters", { text: "x".repeat(10_001) }, "text"],
    ["an empty text", { text: "" }, "text"],
  ])("with %s", async (_what, change, field) => {
    const before = await dumpDatabase();
    const reply = await send({ ...NOTICE, ...change });
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    expect(reply.body.field_errors.map((fault: Json) => fault.field)).toEqual([field]);
    expect(await dumpDatabase()).toEqual(before);
  });

  it("without an operator's key", async () => {
    const reply = await world.call("POST", "/v1/operator/notices", { body: NOTICE });
    expect([reply.status, reply.body.code]).toEqual([401, "invalid_credentials"]);
  });
});
