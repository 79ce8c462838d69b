// The mails about endpoints (EVT-34): one that is made, and one that goes to another address. They name the endpoint by its id and host.
import { beforeEach, describe, expect, it } from "vitest";
import { mailNotices } from "../../src/accounts/mail-notices.ts";
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

describe("an endpoint", () => {
  it.each(["sandbox", "production"] as const)(
    "of %s is told when it is made, by its id and host",
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
      for (const kept of [secret, "s3cr3t", "0800"]) expect(JSON.stringify([notice, mail])).not.toContain(kept);
    },
  );

  it("that gets another address is told with both hosts", async () => {
    const { webhook_id } = await create();
    world.advance(1);
    expectStatus(await patch(webhook_id, { url: "https://thief.example.net/x", status: "disabled" }), 200);
    expect(await kinds()).toEqual(["customer.webhook_created", "customer.webhook_url_changed"]);
    const notice = (await noticesOf(world)).at(-1);
    expect(notice?.data).toMatchObject({ host: "thief.example.net", previousHost: "hooks.example.com" });
    await world.run(mailNotices);
    const mail = world.mails.find(({ subject }) => subject === "A webhook endpoint has another address");
    expect(mail?.text).toContain("It was at hooks.example.com, and is at thief.example.net now.");
    expect(JSON.stringify([notice, mail])).not.toContain("s3cr3t");
  });

  it("whose address stays is not told", async () => {
    const { webhook_id, url } = await create();
    for (const body of [{ event_types: ["task.closed"] }, { description: "Mine" }, { url, status: "disabled" }])
      expectStatus(await patch(webhook_id, body), 200);
    expect(await kinds()).toEqual(["customer.webhook_created"]);
  });

  it("that is refused is not told", async () => {
    const { webhook_id } = await create();
    const body = { url: "http://10.0.0.1/", event_types: ["*"] };
    expect((await world.call("POST", "/v1/webhooks", { body })).status).toBe(422);
    expect((await patch(webhook_id, { url: body.url })).status).toBe(422);
    expect(await kinds()).toEqual(["customer.webhook_created"]);
  });
});
