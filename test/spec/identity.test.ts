// The public reads and checks of an agent over HTTP (IDN-1 to IDN-26). Every test names its rule.
import { compactVerify, createLocalJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { type Agent, createWorld, expectStatus, ISSUER, type Json, type Reply, type World } from "../support/world.ts";

let world: World;
let provider: Agent;
let keys: ReturnType<typeof createLocalJWKSet>;
beforeAll(async () => {
  world = await createWorld();
  provider = await world.provider();
  keys = createLocalJWKSet((await open("/.well-known/aeap-ca-jwks")).body);
});

const open = (path: string, headers: Record<string, string> = {}): Promise<Reply> =>
  world.call("GET", path, { key: null, headers });
const aid = (headers: Record<string, string> = {}, query = ""): Promise<Reply> =>
  open(`/v1/agents/${provider.did}/aid${query}`, headers);

describe("the certificate", () => {
  it("IDN-6: has the header {alg, typ: aeap-cert+jwt, kid}, its claims and no others", async () => {
    expect(decodeProtectedHeader(provider.certificate)).toEqual({
      alg: "ES256",
      typ: "aeap-cert+jwt",
      kid: expect.any(String),
    });
    const { payload } = await jwtVerify<Json>(provider.certificate, keys, { issuer: ISSUER, subject: provider.did });
    expect(Object.keys(payload).sort()).toEqual(
      ["iss", "sub", "jti", "iat", "nbf", "exp", "cnf", "status", "aeap"].sort(),
    );
    expect(payload["status"].status_list).toEqual({
      idx: expect.any(Number),
      uri: `${ISSUER}/.well-known/aeap-status-lists/1`,
    });
    expect(Object.keys(payload["aeap"]).sort()).toEqual(
      [
        ...["version", "agent_id", "economic_role", "cert_tier", "principal_id", "principal_name"],
        ...["principal_country", "authorized_actions", "capabilities", "scope", "attestation"],
      ].sort(),
    );
    expect(Object.keys(payload["aeap"].attestation).sort()).toEqual([
      "attestation_id",
      "model",
      "signed",
      "verifier_id",
    ]);
  });

  it("IDN-7: ends after 12 months, or with the attestation if that is earlier", async () => {
    const ends = new Date(Date.now() + 3_600_000);
    const principal_id = await world.principal({
      verification_attestation: {
        attestation_id: "kyb-1",
        verifier_id: "ver-1",
        model: "kyb",
        issued_at: new Date(Date.now() - 1_000).toISOString(),
        expires_at: ends.toISOString(),
      },
    });
    const { certificate } = await world.agent("CONSUMER", { principal_id });
    const { payload } = await jwtVerify(certificate, keys);
    expect(payload.exp).toBe(Math.floor(ends.getTime() / 1000));
  });

  it("IDN-11: is public, and a DRAFT has none", async () => {
    const shown = expectStatus(await open(`/v1/agents/${provider.did}/certificate`), 200);
    expect(shown.certificate).toBe(provider.certificate);
    const { did } = await world.draft("CONSUMER");
    expect((await open(`/v1/agents/${did}/certificate`)).body.code).toBe("not_found");
  });
});

describe("the identity document", () => {
  it("IDN-22: a reader that knows the ETag is answered 304 without a body", async () => {
    const first = await aid();
    const etag = first.headers.get("etag") ?? "";
    expect(etag).toMatch(/^(W\/)?"[\w-]+"$/);
    for (const known of [etag, `"other", ${etag}`, "*"]) {
      const again = await aid({ "If-None-Match": known });
      expect([again.status, again.text, again.headers.get("etag")]).toEqual([304, "", etag]);
    }
    expect((await aid({ "If-None-Match": '"other"' })).status).toBe(200);
  });

  it("IDN-22: the ETag differs after a suspension, with another scope and for the JWT, and ignores live.as_of", async () => {
    const { did } = await world.agent("CONSUMER");
    const tag = async () => (await open(`/v1/agents/${did}/aid`)).headers.get("etag");
    const first = await tag();
    expect(await tag()).toBe(first);
    const jwt = await open(`/v1/agents/${did}/aid`, { Accept: "application/jwt" });
    expect(jwt.headers.get("etag")).not.toBe(first);
    await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "SUSPENDED" } });
    const suspended = await tag();
    expect(suspended).not.toBe(first);
    // A cache that revalidates shows the suspension at once.
    const revalidated = await open(`/v1/agents/${did}/aid`, { "If-None-Match": first ?? "" });
    expect(expectStatus(revalidated, 200).live.status).toBe("SUSPENDED");
    await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "ACTIVE" } });
    expect(await tag()).toBe(first);
    await world.call("PATCH", `/v1/agents/${did}/scope`, { body: { capabilities: ["other"] } });
    expect(await tag()).not.toBe(first);
  });

  it("IDN-22: Accept: application/jwt returns the document as a compact JWS", async () => {
    const document = expectStatus(await aid(), 200);
    const jwt = await aid({ Accept: "application/jwt" });
    expect(jwt.headers.get("content-type")).toBe("application/jwt");
    expect(jwt.headers.get("vary")).toBe("Accept");
    const { payload } = await compactVerify(jwt.text, keys);
    const { proof: _proof, live: _live, ...content } = document;
    expect(JSON.parse(new TextDecoder().decode(payload))).toEqual(content);
  });

  it("IDN-20: lifecycle status is outside the signed content, in live {status, environment, as_of}", async () => {
    const { live } = expectStatus(await aid(), 200);
    expect(live).toEqual({ status: "ACTIVE", environment: "sandbox", as_of: expect.any(String) });
  });

  it("IDN-16, IDN-21: every change by the platform adds one to the version, and the earlier version stays readable", async () => {
    const { version } = expectStatus(await aid(), 200);
    const earlier = await aid({ Accept: "application/jwt" }, `?version=${version}`);
    expect(earlier.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    await world.call("PATCH", `/v1/agents/${provider.did}/scope`, { body: { dispute_window_days: 30 } });
    expect(expectStatus(await aid(), 200).version).toBe(version + 1);
    const later = await aid({ Accept: "application/jwt" }, `?version=${version}`);
    expect(later.text).toBe(earlier.text);
    const { payload } = await compactVerify(later.text, keys);
    const content = JSON.parse(new TextDecoder().decode(payload)) as Json;
    expect([content.version, content.identity.scope.dispute_window_days]).toEqual([version, 14]);
    expect((await aid({}, `?version=${version + 2}`)).body.code).toBe("not_found");
  });

  it("HTTP-11: an unknown query parameter is 422 unknown_field, and a malformed version is 422", async () => {
    for (const query of ["?colour=red", "?version=0", "?version=x"]) expect((await aid({}, query)).status).toBe(422);
  });

  it("IDN-1: a DID in a path may be raw or with %3A; an unknown one is 404", async () => {
    expect((await open(`/v1/agents/${encodeURIComponent(provider.did)}/aid`)).status).toBe(200);
    const unknown = "did:aeap:00000000-0000-4000-8000-000000000000";
    for (const part of ["aid", "status", "certificate", "rating", "did.json"]) {
      expect((await open(`/v1/agents/${unknown}/${part}`)).body.code).toBe("not_found");
    }
  });
});

describe("the public status", () => {
  it("IDN-24: is {did, status, environment, cert_tier, economic_role, escrow_state, agent_rating, principal_status, aid_version, aid_revision, as_of}", async () => {
    const reply = await open(`/v1/agents/${provider.did}/status`);
    expect(expectStatus(reply, 200)).toEqual({
      did: provider.did,
      status: "ACTIVE",
      environment: "sandbox",
      cert_tier: "TIER_2",
      economic_role: "PROVIDER",
      escrow_state: "FUNDING",
      agent_rating: null,
      principal_status: "ACTIVE",
      aid_version: expect.any(Number),
      aid_revision: expect.any(Number),
      as_of: expect.any(String),
    });
    const { version, revision } = expectStatus(await aid(), 200);
    expect(reply.body).toMatchObject({ aid_version: version, aid_revision: revision });
    expect(reply.headers.get("cache-control")).toBe("no-store");
  });

  it("PRN-12: at the attestation's end the principal is ATTESTATION_EXPIRED and its agents SUSPENDED, without grace", async () => {
    const own = await createWorld();
    const { did } = await own.agent("CONSUMER");
    own.advance(366 * 86_400_000);
    const shown = await own.call("GET", `/v1/agents/${did}/status`, { key: null });
    expect(shown.body).toMatchObject({ status: "SUSPENDED", principal_status: "ATTESTATION_EXPIRED" });
    const document = await own.call("GET", `/v1/agents/${did}/aid`, { key: null });
    expect(document.body.live.status).toBe("SUSPENDED");
    const back = await own.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "ACTIVE" } });
    expect([back.status, back.body.code]).toEqual([409, "invalid_status"]);
  });
});

describe("the DID document", () => {
  it("IDN-2: has a JsonWebKey method and the services AgentIdentityDocument and AgentEndpoint", async () => {
    const reply = await open(`/v1/agents/${provider.did}/did.json`);
    expect(reply.headers.get("content-type")).toBe("application/did+json");
    const document = JSON.parse(reply.text) as Json;
    expect(document["@context"][0]).toBe("https://www.w3.org/ns/did/v1");
    expect(document.id).toBe(provider.did);
    const [method] = document.verificationMethod;
    expect(method).toMatchObject({ type: "JsonWebKey", controller: provider.did });
    const { payload } = await jwtVerify<Json>(provider.certificate, keys);
    expect(method.publicKeyJwk).toMatchObject(payload["cnf"].jwk);
    expect(method.publicKeyJwk).not.toHaveProperty("d");
    expect(document.authentication).toEqual([method.id]);
    expect(document.service.map(({ type }: { type: string }) => type)).toEqual([
      "AgentIdentityDocument",
      "AgentEndpoint",
    ]);
  });

  it("IDN-2: has no key for a REVOKED or TERMINATED agent", async () => {
    const { did } = await world.agent("CONSUMER");
    await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "TERMINATED" } });
    const document = JSON.parse((await open(`/v1/agents/${did}/did.json`)).text) as Json;
    expect(document.verificationMethod).toEqual([]);
    expect(document.authentication).toBeUndefined();
  });
});

describe("the well-known documents", () => {
  it("IDN-3, IDN-4: the keys are at /.well-known/aeap-ca-jwks (also with .json), with RFC 7638 thumbprints, use sig, ES256", async () => {
    const plain = expectStatus(await open("/.well-known/aeap-ca-jwks"), 200);
    expect(expectStatus(await open("/.well-known/aeap-ca-jwks.json"), 200)).toEqual(plain);
    for (const key of plain.keys) {
      expect(key).toMatchObject({ kty: "EC", crv: "P-256", use: "sig", alg: "ES256" });
      expect(key).not.toHaveProperty("d");
    }
  });

  it("IDN-26: the JWKS is application/jwk-set+json at both addresses, with a strong ETag, and may be kept for an hour", async () => {
    for (const path of ["/.well-known/aeap-ca-jwks", "/.well-known/aeap-ca-jwks.json"]) {
      const { headers } = await open(path);
      expect(headers.get("content-type")).toBe("application/jwk-set+json");
      expect(headers.get("cache-control")).toBe("public, max-age=3600");
      const etag = headers.get("etag") ?? "";
      expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
      const known = await open(path, { "If-None-Match": `"other", ${etag}` });
      expect([known.status, known.text, known.headers.get("etag")]).toEqual([304, "", etag]);
      expect([known.headers.get("cache-control"), known.headers.get("content-type")]).toEqual([
        "public, max-age=3600",
        null,
      ]);
      expect((await open(path, { "If-None-Match": '"other"' })).status).toBe(200);
    }
  });

  it("IDN-26: /.well-known/aeap → {service_did, issuer, jwks_uri, challenge_endpoint, status_lists_uri, proof_formats, status_page}", async () => {
    const found = expectStatus(await open("/.well-known/aeap"), 200);
    expect(Object.keys(found).sort()).toEqual(
      [
        "service_did",
        "issuer",
        "jwks_uri",
        "challenge_endpoint",
        "status_lists_uri",
        "proof_formats",
        "status_page",
      ].sort(),
    );
    for (const uri of [found.jwks_uri, found.challenge_endpoint, found.status_lists_uri]) {
      expect((await open(new URL(uri).pathname)).status).toBe(200);
    }
  });
});
