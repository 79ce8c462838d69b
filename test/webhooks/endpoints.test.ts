// Endpoints (EVT-22, EVT-23): creation, reads, changes, deletion, secrets and refusals.
import { afterEach, describe, expect, it } from "vitest";
import { WEBHOOKS_MAX } from "../../src/core/limits.ts";
import { webhookEndpoints } from "../../src/db/tables/webhooks.ts";
import { EVENT_TYPES } from "../../src/journal/events.ts";
import { close, dieBefore, givePassword } from "../cascades/account-support.ts";
import { stopped } from "../support/clock.ts";
import { isWhole } from "../support/scale.ts";
import { withVars } from "../support/variants.ts";
import { createWorld, expectStatus, type Json } from "../support/world.ts";
import { HOSTILE } from "./hostile.ts";
import { asleep, endpoint } from "./support.ts";

const world = stopped(await asleep());
const other = await createWorld();
const URL = "https://hooks.example.com/in";
const body = { url: URL, event_types: ["*"] };

const create = (more: Json = {}, headers = {}) =>
  world.call("POST", "/v1/webhooks", { body: { ...body, ...more }, headers });
const log = async (id: string): Promise<Json[]> =>
  expectStatus(await world.call("GET", `/v1/platform/activity?subject_id=${id}`), 200).data;
const fieldsOf = ({ body: { code, field_errors = [] } }: { body: Json }) => [
  code,
  ...field_errors.map((fault: Json) => `${fault.field} ${fault.code}`),
];

// An account may have few endpoints, and this file creates many.
afterEach(async () => {
  await world.deps.db.delete(webhookEndpoints);
});

describe("POST /v1/webhooks", () => {
  it("returns the endpoint, and shows its secret only once", async () => {
    const made = expectStatus(await create({ description: "Ledger" }), 201);
    expect(made).toMatchObject({
      ...body,
      environment: "sandbox",
      description: "Ledger",
      status: "enabled",
      disabled_cause: null,
      failing_since: null,
      previous_secret_expires_at: null,
    });
    expect(made.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const { secret, ...shown } = made;
    expect(expectStatus(await world.call("GET", `/v1/webhooks/${made.webhook_id}`), 200)).toEqual(shown);
    const [entry, ...more] = await log(made.webhook_id);
    expect(more).toEqual([]);
    expect(entry).toMatchObject({
      action: "webhook.created",
      subject: { type: "webhook_endpoint", id: made.webhook_id },
      actor: { type: "management_api" },
    });
    expect(JSON.stringify(entry)).not.toContain(secret);
  });

  it.each([
    "https://hooks.exam\u00adple.com/in",
    "https://\uff48ooks.example.com/in",
    "https://b\u00fccher.example/in",
  ])("refuses the address %j, whose host the parser rewrites", async (url) => {
    const refused = await create({ url });
    expect([refused.status, fieldsOf(refused)]).toEqual([422, ["validation_failed", "url invalid_format"]]);
  });

  it("accepts a host in capitals, and shows it as it was written", async () => {
    const url = "https://HOOKS.example.com/In";
    expect(expectStatus(await create({ url }), 201).url).toBe(url);
  });

  it("stores no secret in plain text", async () => {
    const { secret } = expectStatus(await create(), 201);
    const rows = await world.deps.db.select().from(webhookEndpoints);
    expect(JSON.stringify(rows)).not.toContain(secret.slice("whsec_".length));
  });

  it("returns the same endpoint and secret again under its Idempotency-Key", async () => {
    const headers = { "Idempotency-Key": "webhook-once" };
    const first = expectStatus(await create({}, headers), 201);
    const again = await create({}, headers);
    expect([expectStatus(again, 201), again.headers.get("idempotent-replayed")]).toEqual([first, "true"]);
    const outcomes = (await world.meter.d1.prepare("select body from idempotency_outcomes").all()).results;
    expect(JSON.stringify(outcomes)).not.toContain(first.secret.slice("whsec_".length));
  });

  it("keeps each selected type once", async () => {
    const made = expectStatus(await create({ event_types: ["task.opened", "agent.registered", "task.opened"] }), 201);
    expect(made.event_types).toEqual(["task.opened", "agent.registered"]);
    expect(expectStatus(await create({ event_types: [...EVENT_TYPES] }), 201).event_types).toEqual([...EVENT_TYPES]);
  });

  it.each([
    ["no address", { url: undefined }, "url required"],
    ["a text that is no address", { url: "hooks" }, "url invalid_value"],
    ["http", { url: "http://hooks.example.com/" }, "url invalid_value"],
    ["a private address", { url: "https://10.0.0.1/" }, "url invalid_value"],
    ["the service itself", { url: "https://service.test/" }, "url invalid_value"],
    ["no types", { event_types: undefined }, "event_types required"],
    ["an empty selection", { event_types: [] }, "event_types too_short"],
    ["an unknown type", { event_types: ["agent.painted"] }, "event_types.0 invalid_value"],
    ["one type as a text", { event_types: "*" }, "event_types invalid_type"],
    ["a long description", { description: "x".repeat(501) }, "description too_long"],
    ["an environment", { environment: "production" }, "environment unknown_field"],
    ["a secret", { secret: "whsec_mine" }, "secret unknown_field"],
    ["a status", { status: "disabled" }, "status unknown_field"],
  ])("refuses %s", async (_what, fault, expected) => {
    const reply = await create(fault);
    expect([reply.status, ...fieldsOf(reply)]).toEqual([422, "validation_failed", expected]);
  });

  it("reports the faults of all fields together", async () => {
    const reply = await create({ url: "https://10.0.0.1/", event_types: [], colour: 1 });
    expect(fieldsOf(reply).sort()).toEqual([
      "colour unknown_field",
      "event_types too_short",
      "url invalid_value",
      "validation_failed",
    ]);
  });

  it(`refuses more than ${WEBHOOKS_MAX} endpoints, also when many are created at once`, async () => {
    const full = await asleep();
    const { webhook_id } = await endpoint(full, URL);
    const rows = await full.deps.db.select().from(webhookEndpoints);
    const row = rows.find(({ webhookId }) => webhookId === webhook_id);
    if (!row) throw new Error("the endpoint has no row");
    for (let n = 1; n < WEBHOOKS_MAX - 2; n++)
      await full.deps.db.insert(webhookEndpoints).values({ ...row, webhookId: `${webhook_id}${n}` });
    const made = await Promise.all(Array.from({ length: 5 }, () => full.call("POST", "/v1/webhooks", { body })));
    expect(made.filter(({ status }) => status === 201)).toHaveLength(2);
    const list = expectStatus(await full.call("GET", "/v1/webhooks?limit=100"), 200);
    expect([list.data.length, list.has_more]).toEqual([WEBHOOKS_MAX, false]);
    expect(fieldsOf(await full.call("POST", "/v1/webhooks", { body }))).toEqual([
      "validation_failed",
      "url invalid_value",
    ]);
    // The other environment has its own count.
    expectStatus(await full.call("POST", "/v1/webhooks", { body, key: full.liveKey }), 201);
  });
});

describe("an endpoint of another account or environment", () => {
  it("answers 404 to every call, before faults of the body", async () => {
    const mine = await endpoint(world, URL);
    const path = `/v1/webhooks/${mine.webhook_id}`;
    for (const [method, end] of [
      ["GET", ""],
      ["PATCH", ""],
      ["DELETE", ""],
      ["POST", "/rotate-secret"],
      ["POST", "/test"],
      ["GET", "/deliveries"],
      ["POST", "/deliveries/dlv_01ARZ3NDEKTSV4RRFFQ69G5FAV/redeliver"],
      ["POST", "/replay"],
    ] as const)
      for (const key of [other.key, world.liveKey]) {
        const faulty = method === "GET" || method === "DELETE" ? {} : { body: { colour: 1 } };
        const reply = await world.call(method, `${path}${end}`, { key, ...faulty });
        expect([method, end, reply.status, reply.body.code]).toEqual([method, end, 404, "not_found"]);
      }
    const listed = expectStatus(await world.call("GET", "/v1/webhooks?limit=100", { key: other.key }), 200);
    expect(listed.data).toEqual([]);
  });
});

describe("PATCH /v1/webhooks/{webhook_id}", () => {
  it("changes each field, and logs each change as its own entry", async () => {
    const made = await endpoint(world, URL);
    const path = `/v1/webhooks/${made.webhook_id}`;
    const next = { url: `${URL}/2`, event_types: ["dispute.filed"], description: "Two", status: "disabled" };
    const changed = expectStatus(await world.call("PATCH", path, { body: next }), 200);
    expect(changed).toMatchObject({ ...next, disabled_cause: "owner" });
    expect(changed.updated_at > made.updated_at).toBe(true);
    expect((await log(made.webhook_id)).map(({ action, changes }) => [action, changes]).reverse()).toEqual([
      ["webhook.created", undefined],
      ["webhook.url_changed", { url: { from: URL, to: `${URL}/2` } }],
      ["webhook.events_changed", { event_types: { from: ["*"], to: ["dispute.filed"] } }],
      ["webhook.description_changed", { description: { from: null, to: "Two" } }],
      ["webhook.disabled", { status: { from: "enabled", to: "disabled" } }],
    ]);
    expect(expectStatus(await world.call("PATCH", path, { body: { status: "enabled" } }), 200)).toMatchObject({
      status: "enabled",
      disabled_cause: null,
    });
    expect((await log(made.webhook_id))[0].action).toBe("webhook.enabled");
  });

  it.each([
    ["environment", { environment: "production" }, [422, "validation_failed", "environment invalid_field"]],
    ["secret", { secret: "whsec_x" }, [422, "validation_failed", "secret invalid_field"]],
    ["webhook_id", { webhook_id: "whe_1" }, [422, "validation_failed", "webhook_id invalid_field"]],
    [
      "a fixed field and a faulty address",
      { url: "ftp://x.example.com", environment: "sandbox" },
      [422, "validation_failed", "environment invalid_field", "url invalid_value"],
    ],
    ["a private address", { url: "https://169.254.169.254/" }, [422, "validation_failed", "url invalid_value"]],
    ["an unknown status", { status: "paused" }, [422, "validation_failed", "status invalid_value"]],
    ["an empty selection", { event_types: [] }, [422, "validation_failed", "event_types too_short"]],
    ["an empty patch", {}, [400, "no_changes_requested"]],
    ["the current values", { url: URL, event_types: ["*"], status: "enabled" }, [400, "no_changes_requested"]],
  ])("refuses %s", async (_what, patch, expected) => {
    const made = await endpoint(world, URL);
    const reply = await world.call("PATCH", `/v1/webhooks/${made.webhook_id}`, { body: patch });
    const [code, ...fields] = fieldsOf(reply);
    expect([reply.status, code, ...fields.sort()]).toEqual(expected);
    expect(await log(made.webhook_id)).toHaveLength(1);
  });
});

describe("DELETE /v1/webhooks/{webhook_id}", () => {
  it("deletes the endpoint", async () => {
    const made = await endpoint(world, URL);
    const path = `/v1/webhooks/${made.webhook_id}`;
    expectStatus(await world.call("DELETE", path), 204);
    expect((await world.call("DELETE", path)).status).toBe(404);
    expect((await world.call("GET", path)).status).toBe(404);
    expect((await log(made.webhook_id)).map(({ action }) => action)).toEqual(["webhook.deleted", "webhook.created"]);
  });

  it("succeeds once when it is called ten times at once", async () => {
    const made = await endpoint(world, URL);
    const path = `/v1/webhooks/${made.webhook_id}`;
    const answers = await Promise.all(Array.from({ length: 10 }, () => world.call("DELETE", path)));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array.from({ length: 9 }, () => 404)]);
    expect(await log(made.webhook_id)).toHaveLength(2);
  });
});

describe("GET /v1/webhooks", () => {
  it("lists endpoints newest first, page by page", async () => {
    const own = await createWorld();
    const made: string[] = [];
    for (let n = 0; n < 3; n++) made.unshift((await endpoint(own, URL)).webhook_id);
    const first = expectStatus(await own.call("GET", "/v1/webhooks?limit=2"), 200);
    const rest = expectStatus(await own.call("GET", `/v1/webhooks?limit=2&cursor=${first.next_cursor}`), 200);
    expect([...first.data, ...rest.data].map(({ webhook_id }: Json) => webhook_id)).toEqual(made);
    expect([first.has_more, rest.has_more, JSON.stringify(first).includes("whsec_")]).toEqual([true, false, false]);
  });
});

describe("POST …/rotate-secret", () => {
  it("returns a new secret, and keeps the old one valid for the grace period", async () => {
    const made = await endpoint(world, URL);
    const path = `/v1/webhooks/${made.webhook_id}`;
    const rotated = expectStatus(await world.call("POST", `${path}/rotate-secret`, { body: { grace_hours: 2 } }), 200);
    expect(rotated.secret).not.toBe(made.secret);
    expect(Date.parse(rotated.previous_secret_expires_at)).toBe(world.now() + 2 * 3_600_000);
    expect(expectStatus(await world.call("GET", path), 200).previous_secret_expires_at).toBe(
      rotated.previous_secret_expires_at,
    );
    const at_once = expectStatus(await world.call("POST", `${path}/rotate-secret`, { body: { grace_hours: 0 } }), 200);
    expect(at_once.previous_secret_expires_at).toBe(null);
    expect((await log(made.webhook_id)).map(({ action }) => action)).toEqual([
      "webhook.secret_rotated",
      "webhook.secret_rotated",
      "webhook.created",
    ]);
  });

  it.each([-1, 25, 1.5, "2"])("refuses a grace of %j", async (grace_hours) => {
    const made = await endpoint(world, URL);
    const reply = await world.call("POST", `/v1/webhooks/${made.webhook_id}/rotate-secret`, { body: { grace_hours } });
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
  });

  it("returns the same secret again under its Idempotency-Key", async () => {
    const made = await endpoint(world, URL);
    const rotate = () =>
      world.call("POST", `/v1/webhooks/${made.webhook_id}/rotate-secret`, {
        body: {},
        headers: { "Idempotency-Key": `rotate-${made.webhook_id}` },
      });
    expect(expectStatus(await rotate(), 200)).toEqual(expectStatus(await rotate(), 200));
  });
});

describe("closing the account", () => {
  it("deletes its endpoints in the same batch, and no others", async () => {
    const closing = await createWorld();
    await endpoint(closing, URL);
    await endpoint(closing, URL, { description: "Two" });
    const kept = await endpoint(other, URL);
    await givePassword(closing);
    const before = () => closing.deps.db.select().from(webhookEndpoints);
    const own = async () => (await before()).filter(({ platformId }) => platformId === closing.platformId).length;
    dieBefore(closing, 2);
    expect((await close(closing)).status).toBe(500);
    expect(await own()).toBe(2);
    expectStatus(await close(closing), 200);
    expect(await own()).toBe(0);
    expectStatus(await other.call("GET", `/v1/webhooks/${kept.webhook_id}`), 200);
  });
});

describe("hostile addresses", () => {
  it("are all refused at creation and at a change", async () => {
    const deployed = withVars(world, { WEBHOOK_LOOPBACK: "off" });
    const made = await endpoint(world, URL);
    for (const [n, hostile] of HOSTILE.entries()) {
      const url = hostile.replace(/issuer\.example/i, "service.test");
      const answers = [await deployed.call("POST", "/v1/webhooks", { body: { ...body, url } })];
      // A change uses the same schema, so two rows are enough to test it.
      if (n < 2 || isWhole())
        answers.push(await deployed.call("PATCH", `/v1/webhooks/${made.webhook_id}`, { body: { url } }));
      for (const answer of answers)
        expect([url, answer.status, fieldsOf(answer)[1]?.split(" ")[0]]).toEqual([url, 422, "url"]);
    }
  });
});
