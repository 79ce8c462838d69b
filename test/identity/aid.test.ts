// The public reads of an agent, and their verification with only the published keys (IDN-2, IDN-6 to IDN-8, IDN-15 to IDN-24).
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { addMonths } from "../../src/core/clock.ts";
import { verifyAid } from "../../src/protocol/aid.ts";
import { verifyCertificate } from "../../src/protocol/certificate.ts";
import { formatProofTimestamp, signProof, verifyProof } from "../../src/protocol/proof.ts";
import { facilitated } from "../facilitation/support.ts";
import { runs } from "../support/scale.ts";
import { send } from "../support/variants.ts";
import { type Agent, createWorld, env, expectStatus, ISSUER, type Json, type World } from "../support/world.ts";

let world: World;
let agent: Agent;
/** The published keys: a verifier needs nothing else. */
let jwks: { keys: unknown[] };
beforeAll(async () => {
  world = await createWorld();
  agent = await world.consumer();
  jwks = expectStatus(await world.call("GET", "/.well-known/aeap-ca-jwks", { key: null }), 200);
});

const get = (path: string, headers: Record<string, string> = {}) => world.call("GET", path, { key: null, headers });
const aidOf = (did: string, query = "", headers = {}) => get(`/v1/agents/${did}/aid${query}`, headers);
const check = (aid: unknown) => verifyAid(aid, jwks, { issuer: ISSUER });
const patchScope = async (did: string, body: unknown) =>
  expectStatus(await world.call("PATCH", `/v1/agents/${did}/scope`, { body }), 200);

describe("the identity document", () => {
  it("of a DRAFT is returned only as JSON, and is 404 to a client that accepts only a JWS", async () => {
    const { did } = await world.draft("CONSUMER");
    const either = await aidOf(did, "", { Accept: "application/jwt, application/json;q=0.5" });
    expect([either.status, either.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect((await aidOf(did, "", { Accept: "application/jwt" })).body.code).toBe("not_found");
  });

  it.each([
    ["application/jwt", true],
    ["application/jwt;q=0.9, application/json;q=0.2", true],
    ["Application/JWT, */*;q=0.1", true],
    ["application/json, application/jwt;q=0.9", false],
    ["application/jwt;q=0, */*", false],
    ["application/jwt;q=0.5, */*", false],
    ["application/*", false],
    ["text/html", false],
    ["application/jwtx", false],
  ])("answers Accept: %s with the type of the highest weight", async (accept, asJwt) => {
    const agent = await world.agent("CONSUMER");
    const reply = await aidOf(agent.did, "", { Accept: accept });
    expect(reply.headers.get("content-type")).toBe(asJwt ? "application/jwt" : "application/json");
  });

  it("verifies with only the published keys, as JSON and as a compact JWS of the same content", async () => {
    const json = expectStatus(await aidOf(agent.did), 200);
    const jwt = await aidOf(agent.did, "", { Accept: "application/jwt" });
    expect([jwt.status, jwt.headers.get("content-type")]).toEqual([200, "application/jwt"]);
    const [fromJson, fromJwt] = [await check(json), await check(jwt.text)];
    expect(fromJson).toMatchObject({ ok: true, content: { did: agent.did, version: json.version } });
    expect(fromJwt).toEqual(fromJson);
    expect(jwt.text.split(".")[1]).not.toBe("");
    for (const aid of [json, jwt.text]) {
      expect((await world.call("POST", "/v1/verify/aid", { key: null, body: { aid } })).body).toMatchObject({
        valid: true,
        did: agent.did,
      });
    }
  });

  it("has the five pillars and their members, and an unsigned live part", async () => {
    const aid = expectStatus(await aidOf(agent.did), 200);
    expect(Object.keys(aid).sort()).toEqual(
      [
        "did",
        "disputes",
        "escrow",
        "governance",
        "identity",
        "issued_at",
        "issuer",
        "live",
        "performance",
        "proof",
        "revision",
        "version",
      ].sort(),
    );
    expect(await check({ ...aid, live: { status: "REVOKED", environment: "production", as_of: "" } })).toMatchObject({
      ok: true,
    });
  });

  it("fails verification when any member is changed, at any depth", async () => {
    const aid = expectStatus(await aidOf(agent.did), 200);
    const leaves: string[][] = [];
    const walk = (value: Json, path: string[]) => {
      if (typeof value === "object" && value !== null)
        for (const name of Object.keys(value)) walk(value[name], [...path, name]);
      else leaves.push(path);
    };
    const { live: _live, ...signed } = aid;
    walk(signed, []);
    expect(leaves.length).toBeGreaterThan(30);
    for (const path of leaves) {
      const changed = structuredClone(aid);
      const last = path.at(-1) ?? "";
      const parent = path.slice(0, -1).reduce((value: Json, name) => value[name], changed);
      const value = parent[last];
      parent[last] = typeof value === "number" ? value + 1 : typeof value === "string" ? `${value}x` : "x";
      expect((await check(changed)).ok, path.join(".")).toBe(false);
    }
    expect((await check({ ...aid, more: 1 })).ok).toBe(false);
  });

  it("fails verification as a compact JWS when any one character is changed", async () => {
    const { text } = await aidOf(agent.did, "", { Accept: "application/jwt" });
    await fc.assert(
      fc.asyncProperty(fc.nat(text.length - 1), async (at) => {
        const changed = text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);
        expect((await check(changed)).ok).toBe(false);
      }),
      runs(3_000),
    );
  });

  it("answers 304 to its ETag until its content changes", async () => {
    const mine = await world.consumer();
    const first = await aidOf(mine.did);
    const tag = first.headers.get("etag") ?? "";
    expect(tag).toMatch(/^W\/"\d+-ACTIVE-sandbox-json"$/);
    for (const known of [tag, `"other", ${tag}`, "*"]) {
      const { response, body } = await send(world, `/v1/agents/${mine.did}/aid`, {
        headers: { "If-None-Match": known },
      });
      expect([response.status, body, response.headers.get("etag")]).toEqual([304, "", tag]);
      expect(response.headers.get("cache-control")).toBe("no-cache");
    }
    expect((await aidOf(mine.did, "", { "If-None-Match": 'W/"other"' })).status).toBe(200);
    await patchScope(mine.did, { dispute_window_days: 3 });
    const changed = await aidOf(mine.did, "", { "If-None-Match": tag });
    expect(changed.status).toBe(200);
    expect(changed.headers.get("etag")).not.toBe(tag);
    expect(changed.headers.get("vary")).toBe("Accept");
  });

  it("of an earlier version is what the platform controlled then: signed, immutable, and cached forever", async () => {
    const mine = await world.consumer();
    const before = expectStatus(await aidOf(mine.did), 200);
    await patchScope(mine.did, { capabilities: ["other"] });
    const earlier = await aidOf(mine.did, `?version=${before.version}`);
    expect(earlier.body.identity).toEqual(before.identity);
    expect(earlier.body.performance).toEqual({});
    expect(earlier.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(await check(earlier.body)).toMatchObject({ ok: true, content: { version: before.version } });
    await patchScope(mine.did, { capabilities: ["third"] });
    expect((await aidOf(mine.did, `?version=${before.version}`)).text).toBe(earlier.text);
    expect((await aidOf(mine.did)).body.identity.scope.capabilities).toEqual(["third"]);
    const jwt = await aidOf(mine.did, `?version=${before.version}`, { Accept: "application/jwt" });
    expect(await check(jwt.text)).toMatchObject({ ok: true, content: { version: before.version } });
  });

  it("of a version that never existed is 404", async () => {
    expect((await aidOf(agent.did, "?version=99")).body.code).toBe("not_found");
  });

  it.each(["?version=0", "?version=x", "?version=1.5", "?version=1&version=2"])("of %s is 422", async (query) => {
    expect((await aidOf(agent.did, query)).body.code).toBe("validation_failed");
  });

  it("of a DRAFT is returned unsigned, and not as a JWT", async () => {
    const { did } = await world.draft("PROVIDER");
    const aid = expectStatus(await aidOf(did), 200);
    expect([aid.proof, aid.live.status, aid.identity.certificate]).toEqual([null, "DRAFT", null]);
    expect(await check(aid)).toEqual({ ok: false, reason: "proof_missing" });
    expect((await aidOf(did, "", { Accept: "application/jwt" })).status).toBe(404);
  });

  it("is signed again once, at the next read after a change made it stale", async () => {
    const mine = await world.consumer();
    const before = expectStatus(await aidOf(mine.did), 200);
    const rated = "update agents set agent_rating = 0.75, revision = revision + 1 where did = ?";
    await env.DB.prepare(rated).bind(mine.did).run();
    const after = expectStatus(await aidOf(mine.did), 200);
    expect([after.version, after.revision, after.performance.agent_rating]).toEqual([
      before.version,
      before.revision + 1,
      0.75,
    ]);
    expect(await check(after)).toMatchObject({ ok: true });
    expect((await aidOf(mine.did)).body.revision).toBe(after.revision);
  });

  it("is read and signed in two trips when it is stale, also with a market and an escrow", async () => {
    const { provider: shop } = await facilitated(world);
    const makeStale = (did: string) =>
      env.DB.prepare("update agents set revision = revision + 1 where did = ?").bind(did).run();
    for (const { did } of [await world.consumer(), shop]) {
      await makeStale(did);
      const before = expectStatus(await aidOf(did), 200);
      if (did === shop.did) {
        expect(before.identity.authorized_markets).toHaveLength(1);
        expect(Number(before.escrow.liability_profile.total_balance)).toBeGreaterThan(0);
      }
      await makeStale(did);
      world.meter.reset();
      const after = expectStatus(await aidOf(did), 200);
      expect(world.meter.reading.trips).toBe(2);
      const { identity, escrow, revision } = before;
      expect(after).toMatchObject({ identity, escrow, revision: revision + 1 });
      expect(await check(after)).toMatchObject({ ok: true });
    }
  });

  it("is read by ten at once without a failure when it is stale, and with one signature", async () => {
    const mine = await world.consumer();
    await env.DB.prepare("update agents set revision = revision + 1 where did = ?").bind(mine.did).run();
    const replies = await Promise.all(Array.from({ length: 10 }, () => aidOf(mine.did)));
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    for (const { body } of replies) expect(await check(body)).toMatchObject({ ok: true });
    // All readers get the first signature of a revision.
    expect(new Set(replies.map(({ body }) => body.proof)).size).toBe(1);
  });

  it("is read in one trip", async () => {
    world.meter.reset();
    expectStatus(await aidOf(agent.did), 200);
    expect(world.meter.reading.trips).toBe(1);
  });
});

describe("the certificate", () => {
  const verify = (certificate: unknown, now = Date.now()) =>
    verifyCertificate(certificate, jwks, { issuer: ISSUER, now });

  it("verifies with only the published keys, and binds the key to DID, role, scope and principal", async () => {
    const checked = await verify(agent.certificate);
    if (!checked.ok) throw new Error(checked.reason);
    const { claims, agentKey } = checked;
    expect(claims).toMatchObject({
      iss: ISSUER,
      sub: agent.did,
      aeap: {
        version: "1",
        agent_id: agent.did,
        economic_role: "CONSUMER",
        cert_tier: "TIER_1",
        principal_id: agent.principalId,
        authorized_actions: ["purchase"],
        capabilities: ["translation"],
        attestation: { model: "kyb" },
      },
    });
    const statement = {
      kind: "bound",
      timestamp: formatProofTimestamp(Date.now()),
      callerDid: agent.did,
      calleeDid: agent.did,
    } as const;
    const { proof } = await signProof(statement, agent.privateKey);
    expect(await verifyProof({ statement, proof, key: agentKey, now: Date.now() })).toMatchObject({ ok: true });
    const published = expectStatus(await get(`/v1/agents/${agent.did}/certificate`), 200);
    expect(published.certificate).toBe(agent.certificate);
    expect(Date.parse(published.certificate_expires_at)).toBe(claims.exp * 1000);
  });

  it("states nothing mutable: no status, environment, escrow or rating", async () => {
    const payload = atob((agent.certificate.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/"));
    for (const word of ['"ACTIVE"', '"sandbox"', "escrow", "agent_rating"]) expect(payload).not.toContain(word);
  });

  it("fails verification when any one character is changed", async () => {
    for (let at = 0; at < agent.certificate.length; at += 9) {
      const changed =
        agent.certificate.slice(0, at) + (agent.certificate[at] === "A" ? "B" : "A") + agent.certificate.slice(at + 1);
      expect((await verify(changed)).ok, `character ${at}`).toBe(false);
    }
  });

  it("lives twelve months, or until the attestation ends if that is earlier", async () => {
    const expiryOf = async (of: Agent) => {
      const checked = await verify(of.certificate);
      return checked.ok ? checked.claims.exp * 1000 : 0;
    };
    const { issued_at, expires_at } = (await world.call("GET", `/v1/principals/${agent.principalId}`)).body
      .verification_attestation;
    expect(Date.parse(expires_at)).toBe(addMonths(Date.parse(issued_at), 12));
    expect(Math.abs((await expiryOf(agent)) - Date.parse(expires_at))).toBeLessThan(2_000);
    const soon = Date.now() + 3_600_000;
    const principal_id = await world.principal();
    await env.DB.prepare("update principals set attestation_expires_at = ? where principal_id = ?")
      .bind(soon, principal_id)
      .run();
    const short = await world.agent("CONSUMER", { principal_id });
    expect(await expiryOf(short)).toBe(Math.floor(soon / 1000) * 1000);
    expect(await verify(short.certificate, soon)).toMatchObject({ ok: false, reason: "expired" });
  });

  it("of a DRAFT is 404", async () => {
    const { did } = await world.draft("CONSUMER");
    expect((await get(`/v1/agents/${did}/certificate`)).body.code).toBe("not_found");
  });
});

describe("the DID document", () => {
  it("has the agent's key and services, and neither once the agent has ended", async () => {
    const mine = await world.consumer();
    const document = async () => JSON.parse((await get(`/v1/agents/${mine.did}/did.json`)).text);
    const active = await document();
    const { public_key_jwk } = (await aidOf(mine.did)).body.identity;
    expect(active.id).toBe(mine.did);
    expect(active.verificationMethod).toEqual([
      expect.objectContaining({
        type: "JsonWebKey",
        controller: mine.did,
        publicKeyJwk: expect.objectContaining(public_key_jwk),
      }),
    ]);
    expect(active.verificationMethod[0].publicKeyJwk).not.toHaveProperty("d");
    expect(active.service.map((service: Json) => service.type)).toEqual(["AgentIdentityDocument", "AgentEndpoint"]);
    expectStatus(await world.call("PATCH", `/v1/agents/${mine.did}/status`, { body: { status: "TERMINATED" } }), 200);
    expect((await document()).verificationMethod).toEqual([]);
  });
});

describe("the status", () => {
  it("shows a suspension at the next read, and is stored by no cache", async () => {
    const mine = await world.consumer();
    const status = () => get(`/v1/agents/${mine.did}/status`);
    expect((await status()).body).toMatchObject({
      status: "ACTIVE",
      principal_status: "ACTIVE",
      escrow_state: null,
      agent_rating: null,
    });
    expectStatus(await world.call("PATCH", `/v1/agents/${mine.did}/status`, { body: { status: "SUSPENDED" } }), 200);
    const after = await status();
    expect([after.body.status, after.headers.get("cache-control")]).toEqual(["SUSPENDED", "no-store"]);
  });

  it.each(["aid", "status", "certificate", "did.json", "rating"])(
    "and …/%s of an unknown agent are 404",
    async (part) => {
      expect((await get(`/v1/agents/did:aeap:00000000-0000-4000-8000-000000000000/${part}`)).body.code).toBe(
        "not_found",
      );
    },
  );
});
