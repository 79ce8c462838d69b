// The accepted proofs in all their forms, each accepted once (PRF-2 to PRF-9, PRF-12).
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { P256_ORDER, parseSignature } from "../../src/protocol/ecdsa.ts";
import { buildProofText, digestRequest, type ProofStatement, signProof } from "../../src/protocol/proof.ts";
import { type Agent, createWorld, env, expectStatus, ISSUER, type Reply, type World } from "../support/world.ts";
import { stopRealTime } from "./support.ts";

stopRealTime();
let world: World;
let agent: Agent;
let other: Agent;
const log = vi.spyOn(console, "info").mockImplementation(() => undefined);
const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
beforeAll(async () => {
  world = await createWorld();
  [agent, other] = [await world.consumer(), await world.consumer()];
});

// An agent's call that passes authentication ends here, because there is no such intent.
const PATH = "/v1/payment-intents/pin_none";
const passed = (reply: Reply) => expect([reply.status, reply.body.code]).toEqual([404, "not_found"]);
const refused = (reply: Reply, type?: string) =>
  expect([reply.status, reply.body.code, reply.body.type]).toEqual([401, "aeap_verification_failed", type]);

const seconds = (away = 0) => String(Math.floor(Date.now() / 1000) + away);
const iso = (away = 0) => new Date(Date.now() + away * 1000).toISOString();
const offset = () => `${new Date(Date.now() + 7_200_000).toISOString().slice(0, 19)}+02:00`;

async function requestBound(timestamp: string, did = agent.did): Promise<ProofStatement> {
  const digest = await digestRequest({ method: "GET", query: "" });
  if (!digest.ok) throw new Error(digest.reason);
  return { kind: "request", timestamp, agentDid: did, method: "GET", path: PATH, digest: digest.digest };
}
const boundToService = (timestamp: string): ProofStatement => ({
  kind: "bound",
  timestamp,
  callerDid: agent.did,
  calleeDid: world.deps.config.serviceDid,
});

const callWith = (proof: string, timestamp: string, certificate = agent.certificate) =>
  world.call("GET", PATH, {
    key: null,
    headers: { "AEAP-Certificate": certificate, "AEAP-Proof": proof, "AEAP-Timestamp": timestamp },
  });
const sign = async (statement: ProofStatement, format?: "raw-base64url") =>
  (await signProof(statement, agent.privateKey, format)).proof;

const toBase64 = (text: string) => text.replaceAll("-", "+").replaceAll("_", "/");
const padded = (text: string) => text.padEnd(Math.ceil(text.length / 4) * 4, "=");
const ENCODINGS: [string, (text: string) => string][] = [
  ["base64, padded", (text) => padded(toBase64(text.replaceAll("=", "")))],
  ["base64, not padded", (text) => toBase64(text.replaceAll("=", ""))],
  ["base64url, padded", (text) => padded(text.replaceAll("=", "").replaceAll("+", "-").replaceAll("/", "_"))],
  ["base64url, not padded", (text) => text.replaceAll("=", "").replaceAll("+", "-").replaceAll("/", "_")],
];
const FORMS: [string, (timestamp: string) => ProofStatement | Promise<ProofStatement>][] = [
  ["the request", (timestamp) => requestBound(timestamp)],
  ["the service's own DID", boundToService],
];

describe.each(FORMS)("a proof bound to %s", (_name, statementOf) => {
  it.each(ENCODINGS)("may be DER or raw, in %s", async (_encoding, encode) => {
    for (const format of [undefined, "raw-base64url"] as const) {
      const timestamp = seconds();
      passed(await callWith(encode(await sign(await statementOf(timestamp), format)), timestamp));
    }
  });

  it.each([
    ["epoch seconds", () => seconds()],
    ["ISO 8601 with Z", () => iso()],
    ["ISO 8601 with an offset", offset],
    ["28 seconds ago", () => seconds(-28)],
    ["28 seconds ahead", () => seconds(28)],
    ["28 seconds ago in ISO 8601", () => iso(-28)],
  ])("may have a timestamp in %s", async (_form, at) => {
    const timestamp = at();
    passed(await callWith(await sign(await statementOf(timestamp)), timestamp));
  });

  it.each([
    ["32 seconds ago", () => iso(-32)],
    ["32 seconds ahead", () => iso(32)],
    ["32 seconds ago in epoch seconds", () => seconds(-32)],
  ])("may not have a timestamp of %s", async (_form, at) => {
    const timestamp = at();
    refused(await callWith(await sign(await statementOf(timestamp)), timestamp));
  });

  it("counts once: the second time it is a replay", async () => {
    const timestamp = seconds();
    const proof = await sign(await statementOf(timestamp));
    passed(await callWith(proof, timestamp));
    refused(await callWith(proof, timestamp), "replay");
  });

  it("counts for one of twenty simultaneous calls", async () => {
    const timestamp = seconds();
    const proof = await sign(await statementOf(timestamp));
    const replies = await Promise.all(Array.from({ length: 20 }, () => callWith(proof, timestamp)));
    expect(replies.filter(({ status }) => status === 404)).toHaveLength(1);
    expect(replies.filter(({ body }) => body.type === "replay")).toHaveLength(19);
  });

  it("is also a replay in every other form: raw, mirrored, or in another encoding", async () => {
    const timestamp = seconds();
    const proof = await sign(await statementOf(timestamp));
    passed(await callWith(proof, timestamp));
    const parsed = parseSignature(proof);
    const [raw] = parsed.ok ? parsed.candidates : [];
    if (!raw) throw new Error("no signature");
    const s = raw.subarray(32).reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
    const mirrored = new Uint8Array(raw);
    let rest = P256_ORDER - s;
    for (let i = 63; i >= 32; i--) {
      mirrored[i] = Number(rest & 255n);
      rest >>= 8n;
    }
    for (const bytes of [raw, mirrored])
      refused(await callWith(btoa(String.fromCharCode(...bytes)), timestamp), "replay");
  });

  it("permits a second honest signature over the same text in the same second", async () => {
    const timestamp = seconds();
    const statement = await statementOf(timestamp);
    const [first, second] = [await sign(statement), await sign(statement)];
    expect(first).not.toBe(second);
    passed(await callWith(first, timestamp));
    passed(await callWith(second, timestamp));
  });

  it("is still remembered after the object that remembers it was evicted", async () => {
    const timestamp = seconds();
    const proof = await sign(await statementOf(timestamp));
    passed(await callWith(proof, timestamp));
    await evictDurableObject(env.REPLAY.get(env.REPLAY.idFromName(agent.did)));
    refused(await callWith(proof, timestamp), "replay");
  });
});

describe("a proof", () => {
  it("of another agent is refused, though both agents are honest", async () => {
    const timestamp = seconds();
    const { proof } = await signProof(await requestBound(timestamp, other.did), other.privateKey);
    refused(await callWith(proof, timestamp));
    passed(await callWith(proof, timestamp, other.certificate));
  });

  it("bound to a counterparty is refused here, so that the counterparty cannot use it", async () => {
    const timestamp = seconds();
    const statement = { kind: "bound", timestamp, callerDid: agent.did, calleeDid: other.did } as const;
    refused(await callWith(await sign(statement), timestamp));
  });

  it("covers the body to the byte", async () => {
    const path = "/v1/payment-intents";
    const sent = '{"consumer_did": 1}';
    const headers = await world.prove(agent, "POST", path, sent);
    refused(await world.call("POST", path, { key: null, headers, rawBody: '{"consumer_did":1}' }));
    expect((await world.call("POST", path, { key: null, headers, rawBody: sent })).body.code).toBe("validation_failed");
  });

  it("covers the query, in any order of its pairs", async () => {
    const path = "/v1/payment-address";
    const headers = await world.prove(agent, "GET", `${path}?a=1&b=2`);
    refused(await world.call("GET", `${path}?a=1&b=3`, { key: null, headers }));
    const reply = await world.call("GET", `${path}?b=2&a=1`, { key: null, headers });
    expect(reply.status).not.toBe(401);
  });

  it("is used up by a call that is refused for its values", async () => {
    const path = "/v1/payment-intents";
    const headers = await world.prove(agent, "POST", path, "{}");
    const call = () => world.call("POST", path, { key: null, headers, rawBody: "{}" });
    expect((await call()).body.code).toBe("validation_failed");
    refused(await call(), "replay");
  });

  it("in production is refused with 401 alone: the reason is logged as information", async () => {
    log.mockClear();
    await setEnvironment("production");
    const timestamp = seconds(-100);
    const reply = await callWith(await sign(await requestBound(timestamp)), timestamp);
    await setEnvironment("sandbox");
    refused(reply);
    expect(reply.body.detail).toBeUndefined();
    expect(reply.text).not.toContain("timestamp_too_old");
    expect(log.mock.calls.flat().join()).toContain("timestamp_too_old");
    expect(errors.mock.calls).toEqual([]);
  });

  it("in the sandbox is refused with the reason, the service's time and the text to sign", async () => {
    const timestamp = seconds(-100);
    const reply = await callWith(await sign(await requestBound(timestamp)), timestamp);
    refused(reply);
    const { reason, service_time: time, signed_text: text } = reply.body.detail;
    expect(reason).toBe("timestamp_too_old");
    expect(time).toBe(new Date().toISOString());
    const stated = buildProofText(await requestBound(timestamp));
    expect(text).toBe(stated.ok && stated.text);
  });

  const setEnvironment = (environment: string) =>
    env.DB.prepare("update agents set environment = ? where did = ?").bind(environment, agent.did).run();
});

describe("a retry with its Idempotency-Key and body", () => {
  it("gets the stored answer, although its proof was used", async () => {
    const provider = await world.provider();
    const body = { consumer_did: agent.did, provider_did: provider.did, amount: "1.00", currency: "USDC" };
    const path = "/v1/payment-intents";
    const rawBody = JSON.stringify(body);
    const headers = { ...(await world.prove(agent, "POST", path, rawBody)), "Idempotency-Key": crypto.randomUUID() };
    const call = () => world.call("POST", path, { key: null, headers, rawBody });
    const first = expectStatus(await call(), 201);
    const again = await call();
    expect([again.status, again.body, again.headers.get("idempotent-replayed")]).toEqual([201, first, "true"]);
    refused(
      await world.call("POST", path, { key: null, headers: { ...headers, "Idempotency-Key": "another" }, rawBody }),
      "replay",
    );
  });
});

describe("the memory of proofs", () => {
  it("forgets a proof when its window has passed, and not before", async () => {
    const caller = await world.consumer();
    passed(await world.as(caller, "GET", PATH));
    passed(await world.as(caller, "GET", PATH));
    const stub = env.REPLAY.get(env.REPLAY.idFromName(caller.did));
    const marks = () =>
      runInDurableObject(stub, (_instance, state) =>
        state.storage.sql.exec<{ until: number }>("select until from used").toArray(),
      );
    const seen = await marks();
    expect(seen).toHaveLength(2);
    for (const { until } of seen) expect(until).toBeGreaterThan(Date.now() + 29_000);
    await runInDurableObject(stub, (_instance, state) => {
      state.storage.sql.exec("update used set until = ? where mark = (select min(mark) from used)", Date.now() - 1);
    });
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(await marks()).toHaveLength(1);
    await runInDurableObject(stub, (_instance, state) => {
      state.storage.sql.exec("update used set until = 0");
    });
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(await marks()).toEqual([]);
    passed(await world.as(caller, "GET", PATH));
  });
});

it("publishes the service's own DID", async () => {
  const { body } = await world.call("GET", "/.well-known/aeap", { key: null });
  expect(body).toMatchObject({ service_did: world.deps.config.serviceDid, issuer: ISSUER });
});
