// Secrets at rest (EVT-23): which key opens which secret, and how the keys are rotated.
import { eq } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { createApp } from "../../src/app.ts";
import { webhookEndpoints } from "../../src/db/tables/webhooks.ts";
import { readWebhookHeaders, verifyWebhook } from "../../src/protocol/webhook-signature.ts";
import { LEASE_MS } from "../../src/webhooks/deliver.ts";
import { openSecret } from "../../src/webhooks/secrets.ts";
import { resealSecrets } from "../../src/webhooks/sweep.ts";
import { stopped } from "../support/clock.ts";
import { withVars } from "../support/variants.ts";
import { env, expectStatus, type Json } from "../support/world.ts";
import { anEvent, asleep, deliveriesOf, endpoint, receiver, settle, work } from "./support.ts";

const world = stopped(await asleep());
const newKey = () => btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))));
const registered = { event_types: ["agent.registered"] };
const { WEBHOOK_SEAL_KEYS: older } = world.deps.env;
const rowOf = async ({ webhook_id }: Json) =>
  (await world.deps.db.select().from(webhookEndpoints).where(eq(webhookEndpoints.webhookId, webhook_id)))[0];

const accepts = async (secret: string, received: { headers: Record<string, string>; body: string } | undefined) =>
  (await verifyWebhook(secret, readWebhookHeaders(new Headers(received?.headers)), received?.body ?? "")) === null;

describe("a sealed secret", () => {
  it("opens for its own endpoint only", async () => {
    const [one, two] = [
      await endpoint(world, "https://a.example.com/"),
      await endpoint(world, "https://b.example.com/"),
    ];
    const row = await rowOf(one);
    expect(await openSecret(world.deps.env, one.webhook_id, row?.secret ?? "")).toBe(one.secret);
    await expect(openSecret(world.deps.env, two.webhook_id, row?.secret ?? "")).rejects.toThrow("cannot be decrypted");
    await expect(openSecret(world.deps.env, one.webhook_id, `${row?.secret}x`)).rejects.toThrow("cannot be decrypted");
  });

  it("delays its deliveries while its key is missing, and they are sent once the key is back", async () => {
    const there = await receiver();
    const made = await endpoint(world, there.url, registered);
    await anEvent(world);
    const without = withVars(world, { WEBHOOK_SEAL_KEYS: newKey() });
    await expect(settle(without, made)).rejects.toThrow("cannot be decrypted");
    expect(await there.received()).toEqual([]);
    expect((await deliveriesOf(world, made))[0]).toMatchObject({ status: "pending", attempts: [] });
    world.advance(LEASE_MS + 1_000);
    await work(world, made);
    expect(await accepts(made.secret, (await there.received())[0])).toBe(true);
  });
});

describe("a rotation of the keys", () => {
  it("reseals secrets and previous secrets under the newest key, and then needs no older key", async () => {
    const there = await receiver();
    const made = await endpoint(world, there.url, registered);
    const path = `/v1/webhooks/${made.webhook_id}/rotate-secret`;
    const { secret } = expectStatus(await world.call("POST", path, { body: { grace_hours: 1 } }), 200);
    const newer = newKey();
    const both = withVars(world, { WEBHOOK_SEAL_KEYS: `${newer},${older}` });
    await anEvent(world);
    await settle(both, made);
    // However old the endpoint is, its reseal counts as due now.
    world.advance(900_000);
    const found = await resealSecrets.find(both.deps, null, 100);
    expect(new Set(found.map(({ at }) => at))).toEqual(new Set([world.now()]));
    expect(await both.run(resealSecrets)).toBeGreaterThan(0);
    expect(await both.run(resealSecrets)).toBe(0);
    const row = await rowOf(made);
    expect(JSON.stringify(row)).not.toContain(secret.slice("whsec_".length));
    const alone = withVars(world, { WEBHOOK_SEAL_KEYS: newer });
    await anEvent(world);
    await settle(alone, made);
    const received = await there.received();
    expect(received).toHaveLength(2);
    for (const one of received)
      expect([await accepts(secret, one), await accepts(made.secret, one)]).toEqual([true, true]);
    // An endpoint that is created under the newest key names that key.
    expect((await rowOf(await endpoint(alone, there.url)))?.sealKey).toBe(row?.sealKey);
    await withVars(world, { WEBHOOK_SEAL_KEYS: `${older},${newer}` }).run(resealSecrets);
  });

  it.each(["", "x", "aGVsbG8=", `${newKey()},short`])(
    "fails the first call, and not the hundredth, if the keys are %j",
    async (keys) => {
      const app = createApp();
      const answer = await app.fetch(new Request("http://service.test/healthz"), { ...env, WEBHOOK_SEAL_KEYS: keys });
      expect(answer.status).toBe(500);
      expect(await answer.text()).not.toContain("SEAL");
    },
  );
});
