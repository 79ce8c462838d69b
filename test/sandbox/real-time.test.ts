// Periods that stay in real time in a sandbox whose clock runs 400 days ahead (ACC-28): each would have ended on that clock.
import { beforeAll, describe, expect, it } from "vitest";
import { importPrivateKeyPem } from "../../src/protocol/ecdsa.ts";
import { signProof } from "../../src/protocol/proof.ts";
import { prove, secondsAway } from "../auth/support.ts";
import { rows } from "../promotion/support.ts";
import { attested, stopped } from "../support/clock.ts";
import { withConfig } from "../support/variants.ts";
import { type Agent, createWorld, expectStatus, principalBody, type World } from "../support/world.ts";
import { advance, advanced, DAY_S } from "./support.ts";

const DAYS = 400;

describe(`at ${DAYS} days ahead, on real time (ACC-28):`, () => {
  let world: World;
  let principalId: string;
  let consumer: Agent;
  let early: { key: string; nonce: string };
  let proof: Record<string, string>;
  const path = "/v1/payment-intents/pin_none";
  const keyed = (name: string) => ({
    body: principalBody({ external_ref: name }),
    headers: { "Idempotency-Key": name },
  });
  const outcome = keyed("before");
  let stored: unknown;
  beforeAll(async () => {
    world = await createWorld();
    // The attestation ends on the sandbox clock, so this one is longer.
    principalId = await world.principal(attested(2 * DAYS * 24));
    consumer = await world.consumer({ principal_id: principalId });
    expectStatus(await world.person("GET", "/v1/platform"), 200);
    stored = expectStatus(await world.call("POST", "/v1/principals", outcome), 201);
    const { nonce } = expectStatus(await world.call("GET", "/v1/verify/challenge", { key: null }), 200);
    early = { key: world.key, nonce };
    proof = await prove(consumer, { method: "GET", path, rawBody: "" });
    await advanced(world, DAYS * DAY_S);
  });

  it("management keys keep their validity, and so does the grace of a rotated one", async () => {
    const other = await createWorld();
    await advanced(other, DAYS * DAY_S);
    const rotated = expectStatus(
      await other.call("POST", "/v1/platform/keys/rotate", { body: { grace_hours: 24 } }),
      200,
    );
    const end = Date.parse(rotated.previous_key_expires_at) - Date.now();
    expect(end).toBeGreaterThan(23 * 3_600_000);
    expect(end).toBeLessThanOrEqual(24 * 3_600_000);
    for (const key of [other.key, rotated.api_key.raw_key]) {
      expectStatus(await other.call("GET", "/v1/platform", { key }), 200);
    }
    expectStatus(await world.call("GET", "/v1/platform", { key: early.key }), 200);
  });

  it("sessions keep their validity and their last use", async () => {
    expectStatus(await world.person("GET", "/v1/platform"), 200);
    const token = await world.session({ usedAt: Date.now() - 3_600_000 });
    const headers = { Authorization: `Bearer ${token}` };
    expectStatus(await world.call("GET", "/v1/platform", { key: null, headers }), 200);
    const used = await rows("select used_at as at from sessions where platform_id = ?", world.platformId);
    expect(used).toHaveLength(2);
    for (const { at } of used) expect(at).toBeLessThanOrEqual(Date.now());
  });

  it("proofs are signed in real time, and can be used once", async () => {
    const ask = async (headers: Record<string, string>) => {
      const { status, body } = await world.call("GET", path, { key: null, headers });
      return [status, body.detail?.reason ?? body.code];
    };
    expect(await ask(proof)).toEqual([404, "not_found"]);
    expect(await ask(proof)).toEqual([401, "replay"]);
    const ahead = await prove(consumer, { method: "GET", path, rawBody: "" }, { at: secondsAway(DAYS * DAY_S) });
    expect(await ask(ahead)).toEqual([401, "timestamp_in_future"]);
  });

  it("nonces keep their validity", async () => {
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const statement = { kind: "challenge", timestamp, nonce: early.nonce, agentDid: consumer.did } as const;
    const signed = await signProof(statement, consumer.privateKey);
    const { certificate } = consumer;
    const body = { proof_type: "challenge_response", certificate, nonce: early.nonce, proof: signed.proof, timestamp };
    expect(expectStatus(await world.call("POST", "/v1/verify/proof", { key: null, body }), 200)).toMatchObject({
      verified: true,
    });
  });

  it("certificates stay valid for a year, and a new one starts now", async () => {
    expect((await world.as(consumer, "GET", path)).status).toBe(404);
    const reissued = expectStatus(await world.call("POST", `/v1/agents/${consumer.did}/certificate`), 200);
    expect(Date.parse(reissued.certificate_expires_at)).toBeLessThan(Date.now() + 366 * DAY_S * 1_000);
    expect((await world.as({ ...consumer, certificate: reissued.certificate }, "GET", path)).status).toBe(404);
  });

  it("both keys of an agent stay valid during a grace", async () => {
    const agent = await world.consumer({ principal_id: principalId });
    const body = { grace_hours: 24 };
    const before = Date.now();
    const rotated = expectStatus(await world.call("POST", `/v1/agents/${agent.did}/rotate-key`, { body }), 200);
    const ends = Date.parse(rotated.previous_key_expires_at) - DAY_S * 1_000;
    expect(ends).toBeGreaterThanOrEqual(before - 1_000);
    expect(ends).toBeLessThanOrEqual(Date.now());
    const certificate = rotated.certificate;
    const next = { ...agent, certificate, privateKey: await importPrivateKeyPem(rotated.private_key) };
    for (const known of [agent, next]) expect((await world.as(known, "GET", path)).status).toBe(404);
  });

  it("the window of an Idempotency-Key does not end", async () => {
    expect(expectStatus(await world.call("POST", "/v1/principals", outcome), 201)).toEqual(stored);
    expectStatus(await world.call("POST", "/v1/principals", keyed("after")), 201);
    const ends = await rows(
      "select expires_at as at from idempotency_outcomes where platform_id = ?",
      world.platformId,
    );
    for (const { at } of ends) expect(at).toBeLessThanOrEqual(Date.now() + DAY_S * 1_000);
  });

  it("quotas do not reset", async () => {
    const other = await createWorld();
    const rate = { credentialQuota: 2, addressQuota: 2, windowSeconds: DAY_S };
    const small = withConfig(stopped(other), { rate });
    const read = async () => {
      const { status, headers } = await small.call("GET", "/v1/platform");
      return [status, Number(/r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1])];
    };
    expect(await read()).toEqual([200, 1]);
    expectStatus(await advance(small, { seconds: DAYS * DAY_S }), 200);
    expect(await read()).toEqual([429, 0]);
  });
});
