// Mails about endpoints (EVT-34): one is created, gets another address, or is disabled or deleted by a caller. They name the endpoint by its id and
// host. schedule.test.ts has those about an endpoint that fails.
import { beforeEach, describe, expect, it } from "vitest";
import { mailNotices } from "../../src/accounts/notices.ts";
import { stopped } from "../support/clock.ts";
import { noticesOf } from "../support/notices.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";

let world: World;
beforeEach(async () => {
  world = stopped(await createWorld());
});

const SECRET_PATH = "/in/s3cr3t-token?key=abc";
const create = async (url = `https://hooks.example.com${SECRET_PATH}`, key = world.key): Promise<Json> =>
  expectStatus(
    await world.call("POST", "/v1/webhooks", {
      key,
      body: { url, event_types: ["*"], description: "Call <b>0800 STRANGER</b>" },
    }),
    201,
  );
const patch = (id: string, body: Json) => world.call("PATCH", `/v1/webhooks/${id}`, { body });
const kinds = async (): Promise<string[]> => (await noticesOf(world)).map(({ kind }) => kind);

describe("a notice", () => {
  it.each(["sandbox", "production"] as const)(
    "reports the creation of an endpoint in the %s, by its id and host",
    async (environment) => {
      const { webhook_id, secret } = await create(undefined, environment === "sandbox" ? world.key : world.liveKey);
      const [notice, ...others] = await noticesOf(world);
      expect(others).toEqual([]);
      expect(notice).toMatchObject({
        kind: "customer.webhook_created",
        due_at: world.now(),
        data: { environment, webhookId: webhook_id, host: "hooks.example.com" },
      });
      await world.run(mailNotices);
      const [mail] = world.mails;
      expect(mail?.subject).toBe("A webhook endpoint was created");
      expect(mail?.text).toContain(`The ${environment} endpoint ${webhook_id} at hooks.example.com was created`);
      for (const kept of [secret, "s3cr3t", "0800 STRANGER"])
        expect(JSON.stringify([notice, mail])).not.toContain(kept);
    },
  );

  it("reports a new address with both hosts", async () => {
    const { webhook_id } = await create();
    world.advance(1);
    expectStatus(await patch(webhook_id, { url: "https://thief.example.net/x" }), 200);
    expect(await kinds()).toEqual(["customer.webhook_created", "customer.webhook_url_changed"]);
    const notice = (await noticesOf(world)).at(-1);
    expect(notice?.data).toMatchObject({ host: "thief.example.net", previousHost: "hooks.example.com" });
    await world.run(mailNotices);
    const mail = world.mails.find(({ subject }) => subject === "The address of a webhook endpoint was changed");
    expect(mail?.text).toContain("It was at hooks.example.com and is now at thief.example.net.");
    expect(JSON.stringify([notice, mail])).not.toContain("s3cr3t");
  });

  it("is not sent if the address stays the same", async () => {
    const { webhook_id, url } = await create();
    for (const body of [{ event_types: ["task.closed"] }, { description: "Mine" }, { url, description: "Ours" }])
      expectStatus(await patch(webhook_id, body), 200);
    expect(await kinds()).toEqual(["customer.webhook_created"]);
  });

  it("reports once that a key disabled the endpoint, and not that it is enabled again", async () => {
    const { webhook_id } = await create();
    world.advance(1);
    expectStatus(await patch(webhook_id, { status: "disabled" }), 200);
    expectStatus(await patch(webhook_id, { status: "disabled", description: "Mine" }), 200);
    expectStatus(await patch(webhook_id, { status: "enabled" }), 200);
    const [, notice, ...others] = await noticesOf(world);
    expect(others).toEqual([]);
    expect(notice).toMatchObject({
      kind: "customer.webhook_disabled",
      data: { environment: "sandbox", webhookId: webhook_id, host: "hooks.example.com", cause: "owner" },
    });
    await world.run(mailNotices);
    const mail = world.mails.find(({ subject }) => subject === "A webhook endpoint was disabled by the account");
    expect(mail?.text).toContain(`The sandbox endpoint ${webhook_id} at hooks.example.com was disabled at `);
    expect(JSON.stringify([notice, mail])).not.toContain("s3cr3t");
  });

  it("reports both if an endpoint is disabled and gets another address, the first by the host that got its events", async () => {
    const { webhook_id } = await create();
    world.advance(1);
    expectStatus(await patch(webhook_id, { url: "https://thief.example.net/x", status: "disabled" }), 200);
    const told = (await noticesOf(world)).slice(1).map(({ kind, data }) => [kind, data.host]);
    expect(told.sort()).toEqual([
      ["customer.webhook_disabled", "hooks.example.com"],
      ["customer.webhook_url_changed", "thief.example.net"],
    ]);
  });

  it("reports the deletion of an enabled endpoint only", async () => {
    const [enabled, disabled] = [await create(), await create()];
    expectStatus(await patch(disabled.webhook_id, { status: "disabled" }), 200);
    world.advance(1);
    for (const { webhook_id } of [disabled, enabled])
      expectStatus(await world.call("DELETE", `/v1/webhooks/${webhook_id}`), 204);
    const told = (await noticesOf(world)).filter(({ data }) => data.cause === "deleted");
    expect(told).toMatchObject([
      {
        kind: "customer.webhook_disabled",
        data: { environment: "sandbox", webhookId: enabled.webhook_id, host: "hooks.example.com" },
      },
    ]);
    await world.run(mailNotices);
    const mail = world.mails.find(({ subject }) => subject === "A webhook endpoint was deleted by the account");
    expect(mail?.text).toContain(`The sandbox endpoint ${enabled.webhook_id} at hooks.example.com was deleted at `);
    expect(JSON.stringify([told, mail])).not.toContain("s3cr3t");
  });

  it("is not sent for a refused call", async () => {
    const { webhook_id } = await create();
    const body = { url: "http://10.0.0.1/", event_types: ["*"] };
    expect((await world.call("POST", "/v1/webhooks", { body })).status).toBe(422);
    expect((await patch(webhook_id, { url: body.url, status: "disabled" })).status).toBe(422);
    expect(await kinds()).toEqual(["customer.webhook_created"]);
  });
});
