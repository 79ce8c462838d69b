// The DID document as linked data, under its did:web, and with its valid keys (IDN-2, IDN-30, IDN-31).
import jsonld from "jsonld/dist/jsonld.esm.min.js";
import { beforeAll, describe, expect, it } from "vitest";
import { buildDidDocument } from "../../src/identity/resolve.ts";
import { type Agent, createWorld, ISSUER, type Json, type World } from "../support/world.ts";
import didContext from "./contexts/did-v1.json" with { type: "json" };
import jwkContext from "./contexts/jwk-v1.json" with { type: "json" };
import { contextOf, jsonOf, UNKNOWN } from "./resolver-support.ts";

let world: World;
let agent: Agent;
beforeAll(async () => {
  world = await createWorld();
  agent = await world.agent("PROVIDER");
});

const get = (path: string, headers: Record<string, string> = {}) => world.call("GET", path, { key: null, headers });
const documentOf = async (did: string, form = "did.json") => jsonOf(await get(`/v1/agents/${did}/${form}`));

/** Loads the published contexts from copies, and the service's own from the service, and nothing else. */
async function documentLoader(url: string) {
  const published: Json = {
    "https://www.w3.org/ns/did/v1": didContext,
    "https://w3id.org/security/jwk/v1": jwkContext,
  };
  const document = url === contextOf ? jsonOf(await get("/contexts/aeap/v1")) : published[url];
  if (!document) throw new Error(`nobody loads ${url}`);
  return { contextUrl: undefined, documentUrl: url, document };
}
const expand = (document: Json): Promise<Json> => jsonld.expand(document, { documentLoader, safe: true });

describe("JSON-LD in safe mode", () => {
  it("accepts the document, and knows the types of its services", async () => {
    const [expanded] = await expand(await documentOf(agent.did));
    const services = expanded["https://www.w3.org/ns/did#service"];
    expect(services.map((service: Json) => service["@type"])).toEqual([
      [`${contextOf}#AgentIdentityDocument`],
      [`${contextOf}#AgentEndpoint`],
    ]);
    expect(services.map((service: Json) => service["https://www.w3.org/ns/did#serviceEndpoint"])).toEqual([
      [{ "@id": `${ISSUER}/v1/agents/${agent.did}/aid` }],
      [{ "@id": expect.stringMatching(/^https:/) }],
    ]);
    const [method] = expanded["https://w3id.org/security#verificationMethod"];
    expect(method["@type"]).toEqual(["https://w3id.org/security#JsonWebKey"]);
  });

  it("accepts the did:web document, a DRAFT's document, and one with two keys", async () => {
    const { did } = await world.draft("CONSUMER");
    const own = { did: agent.did, endpointUrl: "https://agent.example/é" };
    const publicJwk = { kty: "EC", crv: "P-256", x: "x", y: "y" } as const;
    const documents = [
      await documentOf(agent.did, "did-web/did.json"),
      await documentOf(did),
      buildDidDocument(
        own,
        ["newer", "older"].map((keyId) => ({ keyId, publicJwk })),
        ISSUER,
      ),
    ];
    for (const document of documents) expect(await expand(document)).toHaveLength(1);
  });

  it("refuses the same document without the service's context", async () => {
    const document = await documentOf(agent.did);
    const contexts = document["@context"].filter((url: string) => url !== contextOf);
    await expect(expand({ ...document, "@context": contexts })).rejects.toThrow(/safe mode/i);
  });
});

describe("the context", () => {
  it("never changes, and any origin may read it", async () => {
    const { headers, status } = await get("/contexts/aeap/v1");
    expect([status, headers.get("content-type")]).toEqual([200, "application/ld+json"]);
    expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(headers.get("access-control-allow-origin")).toBe("*");
  });
});

describe("the did:web", () => {
  it("is listed in alsoKnownAs, and resolves by the method's own rule", async () => {
    const document = await documentOf(agent.did);
    const [web] = document.alsoKnownAs;
    expect(web).toBe(`did:web:service.test:v1:agents:${encodeURIComponent(agent.did)}:did-web`);
    const path = web.split(":").slice(3).join("/");
    for (const address of [path, decodeURIComponent(path)]) {
      const reply = await get(`/${address}/did.json`);
      expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "application/did+json"]);
      const same = JSON.parse(JSON.stringify(document).replaceAll(`"${agent.did}`, `"${web}`));
      expect(jsonOf(reply)).toEqual({ ...same, alsoKnownAs: [agent.did] });
    }
  });

  it("encodes the colon of a port", () => {
    const at = (issuer: string) => buildDidDocument({ did: UNKNOWN, endpointUrl: "" }, [], issuer).alsoKnownAs[0];
    expect(at("http://localhost:8787")).toMatch(/^did:web:localhost%3A8787:v1:agents:did%3Aaeap%3A/);
  });

  it("of an unknown agent is 404", async () => {
    expect((await get(`/v1/agents/${UNKNOWN}/did-web/did.json`)).body.code).toBe("not_found");
  });
});

describe("the service endpoint", () => {
  it.each([
    [
      "https://xn--mnchen-3ya.example/über?straße=1#größe",
      "https://xn--mnchen-3ya.example/%C3%BCber?stra%C3%9Fe=1#gr%C3%B6%C3%9Fe",
    ],
    ["HTTPS://Agent.Example:443/a", "https://agent.example/a"],
    ["https://agent.example/a[1]?b[]=%zz", "https://agent.example/a%5B1%5D?b%5B%5D=%25zz"],
  ])("%s is written as in RFC 3986", async (endpoint_url, written) => {
    const { did } = await world.agent("CONSUMER", { endpoint_url });
    const { service } = await documentOf(did);
    expect(service[1].serviceEndpoint).toBe(written);
    const aid = await get(`/v1/agents/${did}/aid`);
    expect(aid.body.identity.endpoint_url).toBe(endpoint_url);
  });
});

describe("the keys", () => {
  it("keep the order in which they are given, each in every relationship", () => {
    const publicJwk = { kty: "EC", crv: "P-256", x: "x", y: "y" } as const;
    const keys = ["newer", "older"].map((keyId) => ({ keyId, publicJwk }));
    const document: Json = buildDidDocument({ did: UNKNOWN, endpointUrl: "https://agent.example/" }, keys, ISSUER);
    const ids = [`${UNKNOWN}#newer`, `${UNKNOWN}#older`];
    expect(document.verificationMethod.map(({ id }: Json) => id)).toEqual(ids);
    expect([document.authentication, document.assertionMethod]).toEqual([ids, ids]);
  });
});
