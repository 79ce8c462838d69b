// Signatures of deliveries (EVT-20), checked with the off-the-shelf verifiers that receivers use: the packages `standardwebhooks` and `svix`.
import { createHmac } from "node:crypto";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { describe, expect, it } from "vitest";
import {
  drawWebhookSecret,
  readWebhookHeaders,
  signWebhook,
  verifyWebhook,
} from "../../src/protocol/webhook-signature.ts";

const body = JSON.stringify({
  id: "evt_01",
  type: "task.closed",
  data: { object: { name: "Žluťoučký 🐎", amount: "10.50" } },
});
const now = () => Math.floor(Date.now() / 1_000);
const delivery = (overrides = {}) => ({ id: "evt_01JD3S2Q4N7W8X9Y0Z1A2B3C4D", timestamp: now(), body, ...overrides });

/** Both families of headers, as in a delivery. */
async function signed(secrets: readonly string[], one = delivery()): Promise<Headers> {
  const signature = await signWebhook(secrets, one);
  return new Headers({
    "Service-Event-Id": one.id,
    "Service-Timestamp": String(one.timestamp),
    "Service-Signature": signature,
    "webhook-id": one.id,
    "webhook-timestamp": String(one.timestamp),
    "webhook-signature": signature,
  });
}
const plain = (headers: Headers): Record<string, string> => Object.fromEntries(headers);

describe("a secret", () => {
  it("is whsec_ and base64 of 32 bytes, different each time", () => {
    const secret = drawWebhookSecret();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(drawWebhookSecret()).not.toBe(secret);
  });

  it.each(["", "whsec_", "whsec_!!", "whsec_c2hvcnQ=", drawWebhookSecret().slice(6)])("is not %s", async (secret) => {
    await expect(signWebhook([secret], delivery())).rejects.toThrow(TypeError);
    await expect(verifyWebhook(secret, readWebhookHeaders(new Headers()), body)).rejects.toThrow(TypeError);
  });
});

describe("a signature", () => {
  it("is HMAC-SHA-256 over id.timestamp.body", async () => {
    const secret = drawWebhookSecret();
    const one = delivery({ timestamp: 1_795_000_000 });
    const mac = createHmac("sha256", Buffer.from(secret.slice(6), "base64")).update(`${one.id}.1795000000.${body}`);
    expect(await signWebhook([secret], one)).toBe(`v1,${mac.digest("base64")}`);
  });

  it.each([
    ["standardwebhooks", (secret: string) => new StandardWebhook(secret)],
    ["svix", (secret: string) => new SvixWebhook(secret)],
  ] as const)("is accepted by %s with either secret of a rotation, and with no other", async (_name, webhook) => {
    const [newer, older, other] = [drawWebhookSecret(), drawWebhookSecret(), drawWebhookSecret()];
    const headers = await signed([newer, older]);
    for (const secret of [newer, older]) webhook(secret).verify(body, plain(headers));
    expect(() => webhook(other).verify(body, plain(headers))).toThrow();
    expect(() => webhook(newer).verify(`${body} `, plain(headers))).toThrow();
    const late = await signed([newer], delivery({ timestamp: now() - 301 }));
    expect(() => webhook(newer).verify(body, plain(late))).toThrow();
  });

  it("by these packages is accepted by our verifier", async () => {
    const secret = drawWebhookSecret();
    const [id, at] = ["msg_1", new Date(now() * 1_000)];
    const timestamp = String(now());
    for (const signature of [
      new StandardWebhook(secret).sign(id, at, body),
      new SvixWebhook(secret).sign(id, at, body),
    ]) {
      expect(await verifyWebhook(secret, { id, timestamp, signature }, body)).toBeNull();
    }
  });
});

describe("our verifier", () => {
  const secret = drawWebhookSecret();
  const verdict = async (change: (headers: Headers) => void, text = body) => {
    const headers = await signed([secret]);
    change(headers);
    return verifyWebhook(secret, readWebhookHeaders(headers), text);
  };

  it("accepts either family alone, and timestamps at the bounds", async () => {
    for (const prefix of ["service-", "webhook-"])
      expect(
        await verdict((headers) => {
          for (const name of [...headers.keys()]) if (!name.startsWith(prefix)) headers.delete(name);
        }),
      ).toBeNull();
    const one = delivery({ timestamp: 1_795_000_000 });
    const headers = readWebhookHeaders(await signed([secret], one));
    for (const off of [-300, 300])
      expect(await verifyWebhook(secret, headers, body, { now: 1_795_000_000 + off })).toBeNull();
    for (const off of [-301, 301])
      expect(await verifyWebhook(secret, headers, body, { now: 1_795_000_000 + off })).toBe("stale");
    expect(await verifyWebhook(secret, headers, body, { now: 1_795_000_900, tolerance: 1_000 })).toBeNull();
  });

  it.each([
    ["another id", (headers: Headers) => headers.set("Service-Event-Id", "evt_other"), "signature"],
    ["another timestamp", (headers: Headers) => headers.set("Service-Timestamp", String(now() - 1)), "signature"],
    ["no signature", (headers: Headers) => headers.set("Service-Signature", ""), "malformed"],
    ["a timestamp in words", (headers: Headers) => headers.set("Service-Timestamp", "yesterday"), "malformed"],
    ["another version", (headers: Headers) => headers.set("Service-Signature", `v2,${"A".repeat(43)}=`), "signature"],
    ["no base64", (headers: Headers) => headers.set("Service-Signature", "v1,?"), "signature"],
    ["half a signature", (headers: Headers) => headers.set("Service-Signature", "v1,QUJD"), "signature"],
  ])("refuses %s", async (_name, change, fault) => {
    expect(await verdict(change)).toBe(fault);
  });

  it("refuses another body", async () => {
    expect(await verdict(() => undefined, body.replace("10.50", "10.51"))).toBe("signature");
  });
});
