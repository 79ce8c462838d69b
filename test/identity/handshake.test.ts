// The handshake, checked by the service and by independent libraries (IDN-12, IDN-25, IDN-26, PRF-13, PRF-14).
import { getListFromStatusListJWT, getStatusListFromJWT } from "@sd-jwt/jwt-status-list";
import { createLocalJWKSet, jwtVerify } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { formatProofTimestamp, signProof } from "../../src/protocol/proof.ts";
import { withEmptyCache } from "../support/variants.ts";
import { type Agent, createWorld, env, expectStatus, type World } from "../support/world.ts";

let world: World;
let agent: Agent;
beforeAll(async () => {
  world = await createWorld();
  agent = await world.provider();
});

const open = (path: string, body?: unknown) =>
  world.call(body === undefined ? "GET" : "POST", path, { key: null, ...(body !== undefined && { body }) });

async function answerTo(nonce: string, overrides: Record<string, unknown> = {}) {
  const timestamp = formatProofTimestamp(Date.now());
  const { proof } = await signProof({ kind: "challenge", timestamp, nonce, agentDid: agent.did }, agent.privateKey);
  return { proof_type: "challenge_response", certificate: agent.certificate, nonce, proof, timestamp, ...overrides };
}

describe("a challenge", () => {
  it("is a nonce of at least 16 characters, valid for 120 seconds, without a trip to the database", async () => {
    world.meter.reset();
    const challenge = expectStatus(await open("/v1/verify/challenge"), 200);
    expect(challenge.nonce.length).toBeGreaterThanOrEqual(16);
    expect(challenge.expires_in).toBe(120);
    expect(world.meter.reading.trips).toBe(0);
  });

  it("can be answered once", async () => {
    const { nonce } = expectStatus(await open("/v1/verify/challenge"), 200);
    const answer = await answerTo(nonce);
    expect((await open("/v1/verify/proof", answer)).body).toEqual({
      verified: true,
      reason: null,
      agent_id: agent.did,
    });
    expect((await open("/v1/verify/proof", answer)).body).toMatchObject({ verified: false, reason: "nonce_used" });
  });

  it("that the service did not issue is refused, with status 200", async () => {
    const reply = await open("/v1/verify/proof", await answerTo("A".repeat(64)));
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({ verified: false, reason: "nonce_forged" });
  });

  it("answered with another agent's key is refused", async () => {
    const other = await world.consumer();
    const { nonce } = expectStatus(await open("/v1/verify/challenge"), 200);
    const reply = await open("/v1/verify/proof", await answerTo(nonce, { certificate: other.certificate }));
    expect(reply.body).toMatchObject({ verified: false, reason: "signature_mismatch" });
  });
});

describe("a bound proof", () => {
  it("may be checked again, because checking it does not use it up", async () => {
    const consumer = await world.consumer();
    const timestamp = formatProofTimestamp(Date.now());
    const { proof } = await signProof(
      { kind: "bound", timestamp, callerDid: consumer.did, calleeDid: agent.did },
      consumer.privateKey,
    );
    const body = {
      proof_type: "bound_proof",
      certificate: consumer.certificate,
      proof,
      timestamp,
      callee_did: agent.did,
    };
    expect((await open("/v1/verify/proof", body)).body.verified).toBe(true);
    expect((await open("/v1/verify/proof", body)).body.verified).toBe(true);
    const elsewhere = { ...body, callee_did: consumer.did };
    expect((await open("/v1/verify/proof", elsewhere)).body).toMatchObject({
      verified: false,
      reason: "signature_mismatch",
    });
  });
});

describe("a certificate", () => {
  it("is checked with status 200 whether it is valid or not", async () => {
    const good = expectStatus(await open("/v1/verify/certificate", { certificate: agent.certificate }), 200);
    expect(good).toMatchObject({
      valid: true,
      reason: null,
      agent_id: agent.did,
      economic_role: "PROVIDER",
      cert_tier: "TIER_2",
    });
    expect(good.claims.aeap.authorized_actions).toEqual(["sell"]);
    const bad = expectStatus(await open("/v1/verify/certificate", { certificate: "e30.e30.AA" }), 200);
    expect(bad).toMatchObject({ valid: false, claims: null });
    expect(bad.reason).toBeTruthy();
  });

  it("names its place in a status list, in which a library reads valid, suspended and revoked", async () => {
    const other = await world.consumer();
    const statusOf = async () => {
      // A list is signed at most once a minute: this forces the next one.
      await env.DB.prepare("update status_lists set signed_at = 0").run();
      const next = await withEmptyCache(world);
      const reply = await next.call("GET", "/.well-known/aeap-status-lists/1", { key: null });
      const jwks = createLocalJWKSet((await open("/.well-known/aeap-ca-jwks")).body);
      const { payload } = await jwtVerify(reply.text, jwks, { typ: "statuslist+jwt" });
      expect(payload["ttl"]).toBe(300);
      const { idx, uri } = getStatusListFromJWT(other.certificate);
      expect(uri).toBe(payload.sub);
      return getListFromStatusListJWT(reply.text).getStatus(idx);
    };
    expect(await statusOf()).toBe(0);
    expectStatus(await world.call("PATCH", `/v1/agents/${other.did}/status`, { body: { status: "SUSPENDED" } }), 200);
    expect(await statusOf()).toBe(2);
    expectStatus(await world.call("PATCH", `/v1/agents/${other.did}/status`, { body: { status: "ACTIVE" } }), 200);
    expect(await statusOf()).toBe(0);
    expectStatus(await world.call("PATCH", `/v1/agents/${other.did}/status`, { body: { status: "TERMINATED" } }), 200);
    expect(await statusOf()).toBe(1);
  });
});

describe("an identity document", () => {
  it("is checked in both forms, and every change is detected", async () => {
    const document = expectStatus(await open(`/v1/agents/${agent.did}/aid`), 200);
    expect((await open("/v1/verify/aid", { aid: document })).body).toMatchObject({
      valid: true,
      did: agent.did,
      version: document.version,
    });
    const compact = await world.call("GET", `/v1/agents/${agent.did}/aid`, {
      key: null,
      headers: { Accept: "application/jwt" },
    });
    expect((await open("/v1/verify/aid", { aid: compact.text })).body.valid).toBe(true);
    // A number is not accepted in place of an amount's text.
    const spender = await world.consumer({
      scope: { authorized_actions: ["purchase"], capabilities: ["translation"], max_transaction_value: "10.50" },
    });
    const limited = (await world.call("GET", `/v1/agents/${spender.did}/aid`, { key: null })).text;
    const verify = async (aid: string) =>
      (await world.call("POST", "/v1/verify/aid", { key: null, rawBody: `{"aid":${aid}}` })).body;
    expect(await verify(limited)).toMatchObject({ valid: true });
    const numbered = limited.replace('"max_transaction_value":"10.50"', '"max_transaction_value":10.50');
    expect(numbered).not.toBe(limited);
    expect(await verify(numbered)).toMatchObject({ valid: false, reason: "signature_invalid" });
    const forged = { ...document, identity: { ...document.identity, cert_tier: "TIER_3" } };
    expect((await open("/v1/verify/aid", { aid: forged })).body).toMatchObject({
      valid: false,
      reason: "signature_invalid",
    });
  });
});

describe("discovery", () => {
  it("names the service's own DID and its keys", async () => {
    const found = expectStatus(await open("/.well-known/aeap"), 200);
    expect(found.service_did).toMatch(/^did:aeap:/);
    const jwks = expectStatus(await open(new URL(found.jwks_uri).pathname), 200);
    expect(jwks).toEqual((await open("/.well-known/aeap-ca-jwks.json")).body);
    expect(JSON.stringify(jwks)).not.toContain('"d"');
  });
});
