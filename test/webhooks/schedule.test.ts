// How answers are judged, when deliveries are retried, and how endpoints are disabled (EVT-25 to EVT-28). Only the tests move the world's clock,
// which stands for real time.
import { afterEach, describe, expect, it, vi } from "vitest";
import { notices } from "../../src/db/tables/accounts.ts";
import { webhookEndpoints, webhookQueue } from "../../src/db/tables/webhooks.ts";
import {
  computeNextAttempt,
  computeRestMs,
  RETRY_WAITS_MS,
  type StartTimer,
  startTimer,
} from "../../src/webhooks/post.ts";
import { stopped } from "../support/clock.ts";
import type { Behaviour } from "../support/receiver.ts";
import { withVars } from "../support/variants.ts";
import { expectStatus, type Json } from "../support/world.ts";
import { anEvent, asleep, deliveriesOf, endpoint, receiver, settle, work } from "./support.ts";

const world = stopped(await asleep());
const DAY_MS = 86_400_000;

const shown = async (made: Json): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/webhooks/${made.webhook_id}`), 200);

/** Resolves once the service has received the beginning of an answer from the address. */
function answerBegins(url: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const real = globalThis.fetch;
  const spy = vi.spyOn(globalThis, "fetch").mockImplementation(async (asked, init) => {
    const response = await real(asked, init);
    if (asked === url && init?.method === "POST") resolve();
    return response;
  });
  return promise.finally(() => spy.mockRestore());
}

// An account may have few endpoints, and this file creates many.
afterEach(async () => {
  await world.deps.db.delete(webhookEndpoints);
});

describe("an answer", () => {
  it.each<[string, Behaviour, Json]>([
    ["200", { status: 200, body: "thanks" }, { status_code: 200, error: null, answer: "thanks" }],
    ["202 with a long body", { status: 202, body: "y".repeat(5_000) }, { status_code: 202, answer: "y".repeat(1_024) }],
    ["204", { status: 204 }, { status_code: 204, error: null, answer: "" }],
    // Each takes six characters in the log, and the stored length is bounded too.
    ["controls", { status: 200, body: "\u0001".repeat(1_000) }, { status_code: 200, answer: "\u0001".repeat(213) }],
    [
      "many scripts",
      { status: 200, body: "Grüße, 世界 🌍 ".repeat(20) },
      { status_code: 200, answer: "Grüße, 世界 🌍 ".repeat(20) },
    ],
    ["an endless body", { status: 200, how: "endless" }, { status_code: 200, error: null, answer: "x".repeat(1_024) }],
  ])("counts as a success if it is %s", async (_what, behaviour, attempt) => {
    const there = await receiver(behaviour);
    const made = await endpoint(world, there.url, { event_types: ["agent.registered"] });
    await anEvent(world);
    expect(await settle(world, made)).toBe(null);
    const [delivery] = await deliveriesOf(world, made);
    expect(delivery).toMatchObject({ status: "delivered", next_attempt_at: null, attempts: [attempt] });
    expect((await shown(made)).failing_since).toBe(null);
  });

  it.each<[string, Behaviour, Json]>([
    ["302", { status: 302, headers: { Location: "http://127.0.0.1:1/" } }, { status_code: 302, error: "redirected" }],
    ["404", { status: 404, body: "no" }, { status_code: 404, error: null, answer: "no" }],
    ["500", { status: 500 }, { status_code: 500, error: null }],
    ["a closed connection", { how: "close" }, { status_code: null, error: "connection_failed", answer: null }],
    [
      "half an answer",
      { status: 200, how: "cut" },
      { status_code: 200, error: "connection_failed", answer: "half of" },
    ],
  ])(
    "counts as a failure if it is %s, and is followed by another attempt with the same bytes",
    async (_what, behaviour, attempt) => {
      const there = await receiver(behaviour, {});
      const made = await endpoint(world, there.url, { event_types: ["agent.registered"] });
      await anEvent(world);
      const next = await settle(world, made);
      const [failed] = await deliveriesOf(world, made);
      expect(failed).toMatchObject({ status: "pending", attempts: [attempt] });
      expect(Date.parse(failed.next_attempt_at)).toBe(next);
      expect((await shown(made)).failing_since).not.toBe(null);
      world.advance((next ?? 0) - world.now());
      expect(await work(world, made)).toBe(null);
      const [delivered] = await deliveriesOf(world, made);
      expect(delivered).toMatchObject({ status: "delivered", delivery_id: failed.delivery_id });
      expect(delivered.attempts).toHaveLength(2);
      const [first, second] = await there.received();
      expect([second?.body, second?.headers["webhook-id"]]).toEqual([first?.body, first?.headers["webhook-id"]]);
      expect((await shown(made)).failing_since).toBe(null);
    },
  );

  it.each<[string, Behaviour, "ends" | "does not end", string, string | null, number | null]>([
    ["comes in time", { how: "hold" }, "does not end", "delivered", null, 204],
    ["has not begun in time", { how: "hold" }, "ends", "pending", "timeout", null],
    ["has begun and not ended in time", { how: "drip", status: 200 }, "ends", "pending", "timeout", 200],
  ])("has a time limit of 15 seconds: it %s", async (_what, behaviour, limit, status, error, code) => {
    const timers: { ms: number; end: () => void; stopped: boolean }[] = [];
    const startTimer: StartTimer = (ms, end) => {
      const timer = { ms, end, stopped: false };
      timers.push(timer);
      return () => {
        timer.stopped = true;
      };
    };
    const there = await receiver(behaviour);
    const made = await endpoint(world, there.url, { event_types: ["agent.registered"] });
    await anEvent(world);
    const begun = behaviour.how === "drip" ? answerBegins(there.url) : there.until(1);
    const settling = settle(world, made, { startTimer, random: () => 0 });
    await begun;
    if (limit === "ends") timers[0]?.end();
    else await there.release();
    await settling;
    const [delivery] = await deliveriesOf(world, made);
    const [attempt] = delivery.attempts;
    expect([delivery.status, attempt.error, attempt.status_code]).toEqual([status, error, code]);
    expect(timers.map(({ ms, stopped: isStopped }) => [ms, isStopped])).toEqual([[15_000, true]]);
    await there.release();
  });

  it("counts as a failure if the connection is refused", async () => {
    const made = await endpoint(world, "http://127.0.0.1:1/", { event_types: ["agent.registered"] });
    await anEvent(world);
    await settle(world, made);
    expect((await deliveriesOf(world, made))[0].attempts[0]).toMatchObject({
      status_code: null,
      error: "connection_failed",
    });
  });
});

describe("the schedule", () => {
  it("waits 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h, each up to a tenth longer", async () => {
    expect(RETRY_WAITS_MS.map((wait) => wait / 1_000)).toEqual([5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]);
    for (const [failed, wait] of RETRY_WAITS_MS.entries())
      expect([0, 1].map((random) => computeNextAttempt(failed + 1, 1_000, random))).toEqual([
        1_000 + wait,
        1_000 + Math.round(wait * 1.1),
      ]);
    expect(computeNextAttempt(8, 0, 1)).toBe(null);
  });

  it("fails a delivery after eight attempts, and starts again with a redelivery", async () => {
    const there = await receiver({ status: 500 });
    const made = await endpoint(world, there.url, { event_types: ["agent.registered"] });
    await anEvent(world);
    const chance = { startTimer, random: () => 0.5 };
    let next = await settle(world, made, chance);
    for (const wait of RETRY_WAITS_MS) {
      expect(next).toBe(world.now() + wait * 1.05);
      // A moment earlier, nothing is tried.
      world.advance(wait * 1.05 - 1);
      expect(await work(world, made, chance)).toBe(next);
      world.advance(1);
      next = await work(world, made, chance);
    }
    expect(next).toBe(null);
    const [failed] = await deliveriesOf(world, made, "?status=failed");
    expect([failed.attempts.length, failed.next_attempt_at]).toEqual([8, null]);
    expect(await world.deps.db.select().from(webhookQueue)).toEqual(
      expect.not.arrayContaining([expect.objectContaining({ deliveryId: failed.delivery_id })]),
    );
    await there.behave({ status: 500 }, ...Array.from({ length: 8 }, () => ({ status: 500 })), { status: 200 });
    const path = `/v1/webhooks/${made.webhook_id}/deliveries/${failed.delivery_id}/redeliver`;
    expect(expectStatus(await world.call("POST", path), 200)).toMatchObject({ status: "pending" });
    await work(world, made);
    const received = await there.received();
    expect(new Set(received.map(({ body }) => body)).size).toBe(1);
    expect((await deliveriesOf(world, made))[0].attempts).toHaveLength(9);
  });

  it("makes an endpoint rest after many failures in a row, for at most five minutes", () => {
    expect([1, 19, 20, 22, 40, 1_000].map(computeRestMs)).toEqual([0, 0, 5_000, 10_000, 300_000, 300_000]);
  });
});

describe("disabling an endpoint", () => {
  const told = async (made: Json) =>
    (await world.deps.db.select().from(notices)).filter(
      ({ kind, data }) => kind === "customer.webhook_disabled" && (data as Json).webhookId === made.webhook_id,
    );
  const entries = async (made: Json): Promise<Json[]> =>
    expectStatus(
      await world.call("GET", `/v1/platform/activity?subject_id=${made.webhook_id}&action=webhook.disabled`),
      200,
    ).data;

  it("happens at once on 410, with an entry and a notice, and keeps waiting deliveries until it is enabled again", async () => {
    const there = await receiver({ status: 410 }, { status: 200 });
    const made = await endpoint(world, there.url, { event_types: ["agent.registered"] });
    await anEvent(world);
    await anEvent(world);
    await settle(world, made);
    expect(await shown(made)).toMatchObject({ status: "disabled", disabled_cause: "gone" });
    expect(await entries(made)).toMatchObject([
      { actor: { type: "system" }, changes: { disabled_cause: { to: "gone" } } },
    ]);
    expect(await told(made)).toMatchObject([{ data: { cause: "gone", host: new URL(there.url).host } }]);
    const waiting = await deliveriesOf(world, made, "?status=pending");
    expect(waiting.every(({ next_attempt_at }) => next_attempt_at === null)).toBe(true);
    world.advance(DAY_MS);
    await anEvent(world);
    const before = (await there.received()).length;
    await settle(world, made);
    expect(await there.received()).toHaveLength(before);
    expectStatus(await world.call("PATCH", `/v1/webhooks/${made.webhook_id}`, { body: { status: "enabled" } }), 200);
    await work(world, made);
    const delivered = await deliveriesOf(world, made, "?status=delivered");
    // The event that was written meanwhile is not delivered.
    expect(delivered).toHaveLength(2);
  });

  it("happens after five days of failures, and not a moment earlier", async () => {
    const there = await receiver({ status: 503 });
    const made = await endpoint(world, there.url, { event_types: ["agent.registered"] });
    await anEvent(world);
    await settle(world, made);
    world.advance(5 * DAY_MS - 1);
    await anEvent(world);
    await settle(world, made);
    expect((await shown(made)).status).toBe("enabled");
    world.advance(1);
    await anEvent(world);
    await settle(world, made);
    expect(await shown(made)).toMatchObject({ status: "disabled", disabled_cause: "failing", failing_since: null });
    expect([(await entries(made)).length, (await told(made)).length]).toEqual([1, 1]);
  });

  it("does not happen if it has given a good answer meanwhile", async () => {
    const there = await receiver({ status: 503 }, { status: 200 }, { status: 503 });
    const made = await endpoint(world, there.url, { event_types: ["agent.registered"] });
    for (let day = 0; day < 3; day++) {
      await anEvent(world);
      await settle(world, made);
      world.advance(3 * DAY_MS);
    }
    expect((await shown(made)).status).toBe("enabled");
  });

  it("stops tests, redeliveries and replays", async () => {
    const there = await receiver();
    const made = await endpoint(world, there.url, { event_types: ["agent.registered"] });
    await anEvent(world);
    await settle(world, made);
    const path = `/v1/webhooks/${made.webhook_id}`;
    const [{ delivery_id }] = await deliveriesOf(world, made);
    expectStatus(await world.call("PATCH", path, { body: { status: "disabled" } }), 200);
    for (const [end, body] of [
      ["/test", undefined],
      [`/deliveries/${delivery_id}/redeliver`, undefined],
      ["/replay", { since: new Date(world.now() - 1_000).toISOString() }],
    ] as const) {
      const reply = await world.call("POST", `${path}${end}`, body && { body });
      expect([end, reply.status, reply.body.code, reply.body.detail]).toEqual([
        end,
        409,
        "invalid_status",
        { status: "disabled" },
      ]);
    }
  });
});

describe("the address", () => {
  it("is judged again before each delivery, and gets nothing if it is no longer accepted", async () => {
    const there = await receiver();
    const made = await endpoint(world, there.url, { event_types: ["agent.registered"] });
    await anEvent(world);
    const deployed = withVars(world, { WEBHOOK_LOOPBACK: "off" });
    await settle(deployed, made);
    expect((await deliveriesOf(world, made))[0].attempts[0]).toMatchObject({
      error: "address_refused",
      status_code: null,
    });
    expect(await there.received()).toEqual([]);
  });
});
