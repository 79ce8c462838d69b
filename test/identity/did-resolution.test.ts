// DID resolution over HTTP, by the W3C recommendation's binding and its public test suite (IDN-32 to IDN-35, IDN-37, IDN-39).
import { eq } from "drizzle-orm";
import { decodeProtectedHeader } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { agents } from "../../src/db/tables/agents.ts";
import { type Agent, createWorld, expectStatus, ISSUER, type Json, type World } from "../support/world.ts";
import { ask, DRAFTED, ERROR, jsonOf, PART, RESULT, refusalOf, typeOf, UNKNOWN, whole } from "./resolver-support.ts";

let world: World;
let agent: Agent;
beforeAll(async () => {
  world = await createWorld();
  agent = await world.agent("PROVIDER");
});

const open = (path: string, headers: Record<string, string> = {}) => world.call("GET", path, { key: null, headers });
const own = async () => jsonOf(await open(`/v1/agents/${agent.did}/did.json`));

describe("a DID", () => {
  it.each([undefined, "*/*", RESULT, `text/html, ${RESULT}`, "text/html, */*;q=0.8"])(
    "with Accept %s is answered with a resolution result",
    async (accept) => {
      const reply = await ask(world, agent.did, accept);
      expect([reply.status, typeOf(reply)]).toEqual([200, RESULT]);
      expect(jsonOf(reply)).toEqual({
        "@context": "https://w3id.org/did-resolution/v1",
        didDocument: await own(),
        didResolutionMetadata: { contentType: "application/did" },
        didDocumentMetadata: { created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) },
      });
    },
  );

  it("has the document under the requested DID, raw or percent-encoded", async () => {
    for (const identifier of [agent.did, whole(agent.did), agent.did.replaceAll(":", "%3a")]) {
      expect(jsonOf(await ask(world, identifier)).didDocument.id).toBe(agent.did);
    }
  });

  it("is answered under the profile of the drafts, which older resolvers use", async () => {
    const reply = await ask(world, agent.did, DRAFTED("did-resolution"));
    expect([reply.status, typeOf(reply)]).toEqual([200, DRAFTED("did-resolution")]);
    expect(jsonOf(reply).didResolutionMetadata).toEqual({ contentType: "application/did+ld+json" });
  });

  it.each([
    "application/did",
    "application/did+json",
    "application/did+ld+json",
    "application/ld+json",
    "application/json",
    "application/json, text/plain, */*",
  ])("with Accept %s is answered with only the document", async (accept) => {
    const reply = await ask(world, agent.did, accept);
    expect([reply.status, typeOf(reply)]).toEqual([200, accept.split(",")[0]]);
    expect(jsonOf(reply)).toEqual(await own());
  });

  it("can be dereferenced to its document", async () => {
    const reply = await ask(world, agent.did, PART);
    expect([reply.status, typeOf(reply)]).toEqual([200, PART]);
    const document = await own();
    expect(jsonOf(reply)).toMatchObject({
      contentStream: document,
      content: document,
      dereferencingMetadata: { contentType: "application/did" },
      contentMetadata: { created: expect.any(String) },
    });
  });

  it("may be requested from any origin, and is stored by no cache", async () => {
    const { headers } = await ask(world, agent.did);
    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect([headers.get("cache-control"), headers.get("vary")]).toEqual(["no-store", "Accept"]);
  });

  it("accepts the media type as the option accept", async () => {
    const reply = await ask(world, `${whole(agent.did)}?accept=${whole("application/did+json")}`, RESULT);
    expect(typeOf(reply)).toBe("application/did+json");
  });

  it.each(["expandRelativeUrls=true", "expandRelativeUrls=false", "noCache=true"])(
    "is resolved with the option %s",
    async (option) => expectStatus(await ask(world, `${whole(agent.did)}?${option}`), 200),
  );

  it("of a DRAFT has no key, as in did.json", async () => {
    const { did } = await world.draft("CONSUMER");
    const reply = await ask(world, did);
    expect([reply.status, jsonOf(reply).didDocument.verificationMethod]).toEqual([200, []]);
  });
});

describe("the service's own DID", () => {
  const document = async () => {
    const { service_did } = jsonOf(await open("/.well-known/aeap"));
    return { did: service_did, reply: await ask(world, service_did) };
  };

  it("is answered with the CA's published keys, which assert its certificates", async () => {
    const { did, reply } = await document();
    const { keys } = jsonOf(await open("/.well-known/aeap-ca-jwks"));
    expect(keys.length).toBeGreaterThan(0);
    expect([reply.status, typeOf(reply)]).toEqual([200, RESULT]);
    const { didDocument, didDocumentMetadata } = jsonOf(reply);
    expect(didDocument).toEqual({
      "@context": ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/jwk/v1"],
      id: did,
      alsoKnownAs: [ISSUER],
      verificationMethod: keys.map(({ use: _use, ...jwk }: Json) => ({
        id: `${did}#${jwk.kid}`,
        type: "JsonWebKey",
        controller: did,
        publicKeyJwk: jwk,
      })),
      assertionMethod: keys.map(({ kid }: Json) => `${did}#${kid}`),
    });
    expect(didDocumentMetadata).toEqual({});
  });

  it("has the key that a certificate names", async () => {
    const { did } = await document();
    const { certificate } = jsonOf(await open(`/v1/agents/${agent.did}/certificate`));
    const { kid } = decodeProtectedHeader(certificate);
    const reply = await ask(world, whole(`${did}#${kid}`), PART);
    expect([reply.status, jsonOf(reply).content.publicKeyJwk.kid]).toEqual([200, kid]);
  });

  it("has no service and no other key", async () => {
    const { did } = await document();
    for (const part of [`${did}#none`, `${did}?service=aid`])
      expect(refusalOf(await ask(world, whole(part), PART)).slice(0, 2)).toEqual([404, "NOT_FOUND"]);
  });
});

describe("a refusal", () => {
  it.each([
    "",
    "not-a-did",
    "did:example",
    "did:aeap:",
    "did:aeap:agent",
    `${UNKNOWN.toUpperCase()}`,
    "%ff",
    "did:é:1",
  ])("of %j is 400 INVALID_DID, without a document and without metadata", async (identifier) => {
    for (const accept of [undefined, RESULT]) {
      const reply = await ask(world, identifier, accept);
      expect(refusalOf(reply)).toEqual([400, "INVALID_DID", null, {}]);
      expect(typeOf(reply)).toBe(RESULT);
    }
  });

  it("is an RFC 9457 object", async () => {
    const { error } = jsonOf(await ask(world, UNKNOWN)).didResolutionMetadata;
    expect(error).toEqual({ type: `${ERROR}NOT_FOUND`, title: expect.any(String), detail: expect.any(String) });
  });

  it("of an unknown DID is 404 NOT_FOUND, also under the profile", async () => {
    expect(refusalOf(await ask(world, UNKNOWN, RESULT))).toEqual([404, "NOT_FOUND", null, {}]);
    const drafted = await ask(world, UNKNOWN, DRAFTED("did-resolution"));
    expect([refusalOf(drafted)[1], typeOf(drafted)]).toEqual(["NOT_FOUND", DRAFTED("did-resolution")]);
  });

  it("of a DID of another method is 501 METHOD_NOT_SUPPORTED", async () => {
    for (const did of ["did:unsupported:123456789abcdefghi", "did:web:service.test"])
      expect(refusalOf(await ask(world, did, RESULT))).toEqual([501, "METHOD_NOT_SUPPORTED", null, {}]);
  });

  it.each(["application/x-unknown", "application/did+cbor", "text/html", `${RESULT};q=0`, DRAFTED("unknown")])(
    "of Accept %s is 406 REPRESENTATION_NOT_SUPPORTED",
    async (accept) => {
      const reply = await ask(world, agent.did, accept);
      expect(refusalOf(reply)).toEqual([406, "REPRESENTATION_NOT_SUPPORTED", null, {}]);
    },
  );

  it.each([
    ["versionId=1", "FEATURE_NOT_SUPPORTED"],
    ["versionTime=2026-10-07T14:30:00Z", "FEATURE_NOT_SUPPORTED"],
    ["hl=zQmWvQxTqbG2Z9HPJgG57jjwR154cKhbtJenbyYTWkjgF3e", "FEATURE_NOT_SUPPORTED"],
    ["toString=1", "FEATURE_NOT_SUPPORTED"],
    ["versionTime=2026-10-07", "INVALID_OPTIONS"],
    ["versionTime=2026-13-07T12:30:45Z", "INVALID_OPTIONS"],
    ["versionTime=2026-10-07T00:00:00%2B02:00", "INVALID_OPTIONS"],
    ["versionTime=2026-10-07T00:00:00.123Z", "INVALID_OPTIONS"],
    ["versionId=%D0%9F%D1%80", "INVALID_OPTIONS"],
    ["service=%F0%9F%94%A5", "INVALID_OPTIONS"],
    ["relativeRef=my%20path/file", "INVALID_OPTIONS"],
    ["relativeRef=path", "INVALID_OPTIONS"],
    ["accept=%D0%9F%D1%80", "INVALID_OPTIONS"],
    ["noCache=yes", "INVALID_OPTIONS"],
  ])("of the option %s is %s", async (option, type) => {
    const reply = await ask(world, `${whole(agent.did)}?${option}`);
    expect(refusalOf(reply)).toEqual([type === "FEATURE_NOT_SUPPORTED" ? 501 : 400, type, null, {}]);
  });

  it("of a parameter is the same if the parameter is in the DID URL", async () => {
    for (const parameter of ["versionId=1", "versionTime=2026-10-07T14:30:00Z"])
      expect(refusalOf(await ask(world, whole(`${agent.did}?${parameter}`)))[1]).toBe("FEATURE_NOT_SUPPORTED");
  });

  it("of a parameter given both in the DID URL and in the query is 400", async () => {
    const twice = `${whole(`${agent.did}?noCache=true`)}?noCache=false`;
    expect(refusalOf(await ask(world, twice)).slice(0, 2)).toEqual([400, "INVALID_OPTIONS"]);
  });

  it("has the service's own error format for a client that asks only for a document", async () => {
    for (const accept of ["application/did+json", "application/json"]) {
      const [unknown, invalid] = [await ask(world, UNKNOWN, accept), await ask(world, "not-a-did", accept)];
      expect([unknown.status, unknown.body.code]).toEqual([404, "not_found"]);
      expect([invalid.status, invalid.body.code]).toEqual([400, "invalid_request"]);
    }
  });

  it("reads the database only for a DID that may exist", async () => {
    for (const [identifier, trips] of [
      ["not-a-did", 0],
      ["did:web:x", 0],
      [UNKNOWN, 1],
    ] as const) {
      world.meter.reset();
      await ask(world, identifier);
      expect(world.meter.reading.trips).toBe(trips);
    }
  });
});

describe("a deactivated DID", () => {
  it.each(["TERMINATED", "REVOKED"] as const)(
    "of a %s agent is 410 with deactivated, without its document",
    async (status) => {
      const { did } = await world.agent("CONSUMER");
      expect((await ask(world, did)).status).toBe(200);
      await world.deps.db.update(agents).set({ status }).where(eq(agents.did, did));
      const reply = await ask(world, did, RESULT);
      expect([reply.status, typeOf(reply)]).toEqual([410, RESULT]);
      expect(jsonOf(reply)).toMatchObject({
        didDocument: null,
        didResolutionMetadata: {},
        didDocumentMetadata: { created: expect.any(String), deactivated: true },
      });
      const part = await ask(world, whole(`${did}#aid`), PART);
      expect([part.status, jsonOf(part).contentStream, jsonOf(part).contentMetadata.deactivated]).toEqual([
        410,
        null,
        true,
      ]);
      expect((await ask(world, whole(`${did}?service=aid`))).status).toBe(410);
      const bare = await ask(world, did, "application/did");
      expect([bare.status, jsonOf(bare).verificationMethod, jsonOf(bare).service]).toEqual([410, [], undefined]);
    },
  );

  it("does not result from a suspension", async () => {
    const { did } = await world.agent("CONSUMER");
    expectStatus(await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "SUSPENDED" } }), 200);
    const reply = await ask(world, did);
    expect([reply.status, jsonOf(reply).didDocument.verificationMethod.length]).toEqual([200, 1]);
  });
});
