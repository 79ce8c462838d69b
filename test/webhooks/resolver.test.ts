// The addresses of a name are judged before each delivery if a resolver is configured (EVT-21). The resolver is a real HTTP server on loopback that
// answers like DNS-over-HTTPS. No delivery leaves the machine, because each of these is refused.

import { eq } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { webhookEndpoints } from "../../src/db/tables/webhooks.ts";
import { checkResolver, judgeReceiver } from "../../src/webhooks/post.ts";
import { isWhole } from "../support/scale.ts";
import { withVars } from "../support/variants.ts";
import { HOSTILE } from "./hostile.ts";
import { anEvent, asleep, deliveriesOf, endpoint, receiver, settle, someEvents } from "./support.ts";

const world = await asleep();
const answer = (...addresses: string[]) => ({
  status: 200,
  body: JSON.stringify({
    Status: 0,
    Answer: addresses.map((data) => ({ name: "hooks.example.com", type: data.includes(":") ? 28 : 1, TTL: 60, data })),
  }),
});

/** The environment with a resolver that answers with `body`. It is asked by GET, which the receiver otherwise answers with what it got: an array. */
async function resolving(body: unknown) {
  const there = await receiver();
  await there.answerGet(body);
  return { ...withVars(world, { WEBHOOK_LOOPBACK: "off", WEBHOOK_RESOLVER: there.url }).deps.env };
}

describe("judgeReceiver", () => {
  it.each([
    ["a public address", ["93.184.216.34"], null],
    ["public addresses of both families", ["93.184.216.34", "2606:2800:220:1::1"], null],
    ["an address of this machine", ["127.0.0.1"], "address_refused"],
    ["a private one among public ones", ["93.184.216.34", "10.1.2.3"], "address_refused"],
    ["instance data of a cloud", ["169.254.169.254"], "address_refused"],
    ["a local address of the other family", ["93.184.216.34", "fd00::1"], "address_refused"],
    ["a v4 address in v6 notation", ["::ffff:127.0.0.1"], "address_refused"],
    ["no address", [], "name_not_resolved"],
  ])("judges a name with %s", async (_what, addresses, expected) => {
    const env = await resolving(answer(...addresses).body);
    expect(await judgeReceiver(env, "https://hooks.example.com/in")).toBe(expected);
  });

  it.each([
    ["no JSON", "<html>"],
    ["an answer without a status", "{}"],
    ["an array", "[]"],
    ["null", "null"],
  ])("throws if the resolver answers with %s", async (_what, body) => {
    const judged = judgeReceiver(await resolving(body), "https://hooks.example.com/in");
    await expect(judged).rejects.toThrow("the resolver of WEBHOOK_RESOLVER fails");
  });
});

it("refuses an address that only an earlier version accepted, and delivers nothing to it, whatever its name resolves to", async () => {
  const there = await receiver();
  await there.answerGet(answer("93.184.216.34").body);
  const deployed = withVars(world, {
    WEBHOOK_LOOPBACK: "off",
    WEBHOOK_RESOLVER: there.url,
    ISSUER: "https://issuer.example",
  });
  const made = await endpoint(deployed, "https://hooks.example.com/in", { event_types: ["agent.registered"] });
  const { db } = world.deps;
  for (const [n, url] of HOSTILE.entries()) {
    expect([n, url, await judgeReceiver(deployed.deps.env, url)]).toEqual([n, url, "address_refused"]);
    // A delivery uses the same check, so two rows are enough to test it.
    if (n > 1 && !isWhole()) continue;
    await db.update(webhookEndpoints).set({ url }).where(eq(webhookEndpoints.webhookId, made.webhook_id));
    await someEvents(world, 1);
    await settle(deployed, made);
    const [last] = await deliveriesOf(world, made, "?limit=1");
    const [attempt] = last.attempts;
    expect([n, url, attempt?.error, attempt?.status_code]).toEqual([n, url, "address_refused", null]);
  }
});

it("does not count a resolver that does not answer as a failure of the receiver: nothing is sent, counted or lost", async () => {
  const deaf = withVars(world, { WEBHOOK_LOOPBACK: "off", WEBHOOK_RESOLVER: "http://127.0.0.1:1/" });
  const made = await endpoint(deaf, "https://hooks.example.com/in", { event_types: ["agent.registered"] });
  await anEvent(world);
  await expect(settle(deaf, made)).rejects.toThrow("the resolver of WEBHOOK_RESOLVER fails");
  expect((await deliveriesOf(world, made))[0]).toMatchObject({ status: "pending", attempts: [] });
  expect((await world.call("GET", `/v1/webhooks/${made.webhook_id}`)).body.failing_since).toBe(null);
});

it.each([
  [{ WEBHOOK_RESOLVER: "dns" }, "WEBHOOK_RESOLVER must be"],
  [{ WEBHOOK_RESOLVER: "http://resolver.example.com/" }, "WEBHOOK_RESOLVER must be"],
  [{ WEBHOOK_LOOPBACK: "yes" }, "WEBHOOK_LOOPBACK must be"],
])("a configuration of %j is refused", (vars, message) => {
  expect(() => checkResolver({ ...world.deps.env, ...vars })).toThrow(message);
});

it("delivers nothing to a name that resolves to another address than at its creation", async () => {
  const there = await receiver();
  await there.answerGet(answer("93.184.216.34").body);
  const deployed = withVars(world, { WEBHOOK_LOOPBACK: "off", WEBHOOK_RESOLVER: there.url });
  const made = await endpoint(deployed, "https://hooks.example.com/in", { event_types: ["agent.registered"] });
  await there.answerGet(answer("192.168.1.1").body);
  await anEvent(world);
  await settle(deployed, made);
  const [delivery] = await deliveriesOf(world, made);
  expect(delivery.attempts).toMatchObject([{ status_code: null, error: "address_refused", answer: null }]);
});
