// The sandbox clock (ACC-28): it only goes forward, by seconds or to an instant, at most 400 days in all; production has none.
import { beforeAll, describe, expect, it } from "vitest";
import { rows } from "../promotion/support.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { ADVANCE, advance, advanced, CLOCK, DAY_S, HOUR_S, offsetOf } from "./support.ts";

const storedOffset = async ({ platformId }: World): Promise<Json> =>
  (await rows("select clock_offset_ms as ms from platforms where platform_id = ?", platformId))[0].ms;
const entriesOf = ({ platformId }: World): Promise<Json[]> =>
  rows(
    "select actor_type, actor_id, subject_type, subject_id, changes, environment from activity_entries where platform_id = ? and action = 'sandbox.clock_advanced' order by seq",
    platformId,
  );

describe("the clock of a sandbox (ACC-28)", () => {
  it("shows real time until it is moved, and answers have its header only afterwards", async () => {
    const world = await createWorld();
    const reply = await world.call("GET", CLOCK);
    expect(expectStatus(reply, 200)).toEqual({
      now: reply.body.real_time,
      real_time: expect.any(String),
      offset_ms: 0,
    });
    expect(reply.headers.get("service-clock")).toBe(null);
  });

  it("moves forward by seconds, and to an instant in any time zone", async () => {
    const world = await createWorld();
    const first = await advanced(world, HOUR_S);
    expect(first.offset_ms).toBe(HOUR_S * 1_000);
    expect(Date.parse(first.now) - Date.parse(first.real_time)).toBe(HOUR_S * 1_000);
    const goal = Date.parse(first.now) + DAY_S * 1_000;
    const to = new Date(goal + 2 * HOUR_S * 1_000).toISOString().replace("Z", "+02:00");
    const second = expectStatus(await advance(world, { to }), 200);
    expect(second.now).toBe(new Date(goal).toISOString());
    expect(await offsetOf(world)).toBe(second.offset_ms);
    expect(await storedOffset(world)).toBe(second.offset_ms);
  });

  it("can be moved by a session in the sandbox, and each move has an activity entry", async () => {
    const world = await createWorld();
    expectStatus(await world.person("POST", ADVANCE, { body: { seconds: 60 } }), 200);
    await advanced(world, 60);
    const entries = await entriesOf(world);
    expect(entries.map(({ changes }) => JSON.parse(changes))).toEqual([
      { offset_ms: { from: 0, to: 60_000 } },
      { offset_ms: { from: 60_000, to: 120_000 } },
    ]);
    expect(entries.map((entry) => [entry.actor_type, entry.subject_id, entry.environment])).toEqual([
      [expect.any(String), world.platformId, "sandbox"],
      ["management_api", world.platformId, "sandbox"],
    ]);
  });

  it("adds up 20 concurrent advances", async () => {
    const world = await createWorld();
    const replies = await Promise.all(Array.from({ length: 20 }, (_, n) => advance(world, { seconds: n + 1 })));
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(await storedOffset(world)).toBe(210_000);
    expect(await entriesOf(world)).toHaveLength(20);
    expect(new Set(replies.map(({ body }) => body.offset_ms)).size).toBe(20);
  });

  it("is advanced once per Idempotency-Key, however often it is sent", async () => {
    const world = await createWorld();
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const first = expectStatus(await advance(world, { seconds: HOUR_S }, headers), 200);
    const again = await advance(world, { seconds: HOUR_S }, headers);
    expect(expectStatus(again, 200)).toEqual(first);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await storedOffset(world)).toBe(HOUR_S * 1_000);
    expect(await entriesOf(world)).toHaveLength(1);
  });
});

describe("requests that move no clock (ACC-28)", () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld();
    await advanced(world, DAY_S);
  });
  const refusal = async (body: unknown) => {
    const reply = await advance(world, body);
    expect(await storedOffset(world)).toBe(DAY_S * 1_000);
    expect(await entriesOf(world)).toHaveLength(1);
    return [reply.status, reply.body.code, reply.body.field_errors?.map((fault: Json) => [fault.field, fault.code])];
  };
  const within = (...faults: [string, string][]) => [422, "validation_failed", faults];
  const inFuture = () => new Date(Date.now() + 2 * DAY_S * 1_000).toISOString();

  it.each<[string, unknown, unknown[]]>([
    ["nothing", {}, within(["seconds", "required"])],
    ["zero", { seconds: 0 }, within(["seconds", "too_small"])],
    ["a move back", { seconds: -1 }, within(["seconds", "too_small"])],
    ["a fraction", { seconds: 1.5 }, within(["seconds", "invalid_type"])],
    ["a text", { seconds: "60" }, within(["seconds", "invalid_type"])],
    ["null", { seconds: null }, within(["seconds", "invalid_type"])],
    ["an unknown member", { seconds: 60, minutes: 1 }, within(["minutes", "unknown_field"])],
    ["no instant", { to: "tomorrow" }, within(["to", "invalid_format"])],
    ["an instant of the past", { to: "2020-01-01T00:00:00Z" }, within(["to", "too_small"])],
    ["the 401st day", { seconds: 399 * DAY_S + 1 }, within(["seconds", "too_big"])],
    ["more than the clock ever goes", { seconds: 400 * DAY_S + 1 }, within(["seconds", "too_big"])],
    ["an instant after the 400 days", { to: "2099-01-01T00:00:00Z" }, within(["to", "too_big"])],
  ])("%s is refused", async (_name, body, expected) => {
    expect(await refusal(body)).toEqual(expected);
  });

  it("both members are refused, and so is an instant that has passed only on the sandbox clock", async () => {
    expect(await refusal({ seconds: 60, to: inFuture() })).toEqual(within(["to", "invalid_value"]));
    expect(await refusal({ to: new Date(Date.now() + 60_000).toISOString() })).toEqual(within(["to", "too_small"]));
  });

  it.each(["GET", "POST"])("a production key: %s is 403, before the faults of a body", async (method) => {
    const path = method === "GET" ? CLOCK : ADVANCE;
    for (const body of method === "GET" ? [undefined] : [{ seconds: 60 }, { seconds: "x" }]) {
      const reply = await world.call(method, path, { key: world.liveKey, body });
      expect([reply.status, reply.body.code]).toEqual([403, "forbidden"]);
    }
    expect(await storedOffset(world)).toBe(DAY_S * 1_000);
  });

  it("the last day can be reached to the second", async () => {
    const last = await createWorld();
    await advanced(last, 399 * DAY_S);
    expect((await advanced(last, DAY_S)).offset_ms).toBe(400 * DAY_S * 1_000);
    const more = await advance(last, { seconds: 1 });
    expect([more.status, more.body.field_errors[0].code]).toEqual([422, "too_big"]);
  });
});

describe("Service-Clock (ACC-28)", () => {
  it("is on every answer of a moved sandbox, including refusals and agents' calls, and on no other", async () => {
    const world = await createWorld();
    const consumer = await world.consumer();
    await advanced(world, 2 * HOUR_S);
    const stamp = async (sent: Promise<{ headers: Headers; status: number }>) => {
      const { headers, status } = await sent;
      const text = headers.get("service-clock");
      return [status, text === null ? null : Math.round((Date.parse(text) - Date.now()) / HOUR_S / 1_000)];
    };
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    expect(await stamp(world.call("GET", "/v1/principals"))).toEqual([200, 2]);
    expect(await stamp(world.call("GET", "/v1/agents/did:aeap:none"))).toEqual([404, 2]);
    expect(await stamp(world.call("POST", "/v1/principals", { body: {} }))).toEqual([422, 2]);
    expect(await stamp(world.person("GET", "/v1/platform"))).toEqual([200, 2]);
    expect(await stamp(world.as(consumer, "GET", "/v1/payment-intents/pin_none"))).toEqual([404, 2]);
    expect(await stamp(advance(world, { seconds: HOUR_S }, headers))).toEqual([200, 3]);
    expect(await stamp(advance(world, { seconds: HOUR_S }, headers)), "a replay").toEqual([200, 3]);
    expect(await stamp(world.call("GET", "/v1/principals", { key: world.liveKey }))).toEqual([200, null]);
    expect(await stamp(world.call("GET", "/v1/principals", { key: null }))).toEqual([401, null]);
    expect(await stamp(world.call("GET", `/v1/agents/${consumer.did}/rating`, { key: null }))).toEqual([200, null]);
    const other = await createWorld();
    expect(await stamp(other.call("GET", "/v1/principals"))).toEqual([200, null]);
  });
});
