// DID URLs: a key, a service, or the endpoint of a service (IDN-28, IDN-36).
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { agents } from "../../src/db/tables/agents.ts";
import { type Agent, createWorld, expectStatus, ISSUER, type Json, type World } from "../support/world.ts";
import { ask, DRAFTED, jsonOf, PART, RESULT, refusalOf, typeOf, UNKNOWN, whole } from "./resolver-support.ts";

const ENDPOINT = "https://agent.example/a2a/inbox";
let world: World;
let agent: Agent;
let document: Json;
beforeAll(async () => {
  world = await createWorld();
  agent = await world.agent("PROVIDER", { endpoint_url: ENDPOINT });
  document = jsonOf(await ask(world, agent.did)).didDocument;
});

const url = (rest: string) => whole(`${agent.did}${rest}`);

describe("a DID URL with a fragment", () => {
  it("returns the key, with the document's contexts", async () => {
    const [method] = document.verificationMethod;
    const reply = await ask(world, whole(method.id), PART);
    expect([reply.status, typeOf(reply)]).toEqual([200, PART]);
    const content = { "@context": document["@context"], ...method };
    expect(jsonOf(reply)).toEqual({
      "@context": "https://w3id.org/did-resolution/v1",
      contentStream: content,
      content,
      dereferencingMetadata: { contentType: "application/did" },
      contentMetadata: { created: expect.any(String) },
    });
  });

  it.each(["aid", "endpoint"])("returns the service %s", async (name) => {
    const service = document.service.find(({ id }: Json) => id === `${agent.did}#${name}`);
    expect(jsonOf(await ask(world, url(`#${name}`), PART)).contentStream).toEqual({
      "@context": document["@context"],
      ...service,
    });
  });

  it.each([undefined, "*/*", DRAFTED("did-url-dereferencing")])(
    "with Accept %s returns a dereferencing result",
    async (accept) => {
      const reply = await ask(world, url("#aid"), accept);
      expect([reply.status, typeOf(reply)]).toEqual([200, accept?.includes("profile") ? accept : PART]);
    },
  );

  it.each(["application/json", "application/did+ld+json"])("with Accept %s is the bare content", async (accept) => {
    const reply = await ask(world, url("#aid"), accept);
    expect([typeOf(reply), jsonOf(reply).id]).toEqual([accept, `${agent.did}#aid`]);
  });

  it("is 404 if it selects nothing, has a path, or has an unknown DID", async () => {
    for (const identifier of [url("#other"), url("#"), url("/whois"), `${agent.did}/whois`, whole(`${UNKNOWN}#aid`)]) {
      expect(refusalOf(await ask(world, identifier, PART))).toEqual([404, "NOT_FOUND", null, {}]);
    }
  });

  it("is not resolved: it gets 406, and 400 INVALID_DID_URL if it breaks the grammar", async () => {
    expect(refusalOf(await ask(world, url("#aid"), RESULT)).slice(0, 2)).toEqual([406, "REPRESENTATION_NOT_SUPPORTED"]);
    for (const broken of ["#a#b", "?a b", "/ü", "#%zz"])
      expect(refusalOf(await ask(world, url(broken), PART))).toEqual([400, "INVALID_DID_URL", null, {}]);
  });
});

describe("a DID URL with ?service", () => {
  it.each([undefined, PART, "text/uri-list", "text/html,*/*;q=0.8"])(
    "with Accept %s redirects to the endpoint with 303",
    async (accept) => {
      for (const identifier of [url("?service=endpoint"), `${agent.did}?service=endpoint`]) {
        const reply = await ask(world, identifier, accept);
        expect([reply.status, reply.headers.get("location"), reply.text]).toEqual([303, ENDPOINT, ""]);
      }
    },
  );

  it.each([
    ["?service=aid", () => `${ISSUER}/v1/agents/${agent.did}/aid`],
    ["?serviceType=AgentEndpoint", () => ENDPOINT],
    ["?service=endpoint&serviceType=AgentEndpoint", () => ENDPOINT],
    ["?service=endpoint&relativeRef=%2Fsome%2Fpath%3Fquery#frag", () => "https://agent.example/some/path?query#frag"],
    ["?service=endpoint&relativeRef=outbox", () => "https://agent.example/a2a/outbox"],
    ["?service=endpoint#frag", () => `${ENDPOINT}#frag`],
  ])("%s resolves its reference by RFC 3986", async (rest, location) => {
    const reply = await ask(world, url(rest), PART);
    expect([reply.status, reply.headers.get("location")]).toEqual([303, location()]);
  });

  it("returns the document with only the selected service to a client that asks for a document", async () => {
    const reply = await ask(world, url("?service=aid"), "application/did");
    expect(jsonOf(reply)).toEqual({ ...document, service: [document.service[0]] });
  });

  it.each([
    ...["https://evil.example/", "//evil.example/x", "http://agent.example/", "//bank.example:pw@agent.example/x"],
    ...["//", "//a:99999/", "https://", "//@"],
  ])("is no open redirect: relativeRef %s is 400", async (reference) => {
    const reply = await ask(world, url(`?service=endpoint&relativeRef=${whole(reference)}`), PART);
    expect(refusalOf(reply).slice(0, 2)).toEqual([400, "INVALID_OPTIONS"]);
    expect(reply.headers.get("location")).toBeNull();
  });

  it("is 404 if it selects no service", async () => {
    for (const rest of ["?service=files", "?serviceType=LinkedDomains", "?service=aid&serviceType=AgentEndpoint"])
      expect(refusalOf(await ask(world, url(rest), PART))).toEqual([404, "NOT_FOUND", null, {}]);
  });

  it("refuses a fragment in addition to the endpoint's own", async () => {
    const { did } = await world.agent("PROVIDER", { endpoint_url: `${ENDPOINT}#here` });
    const reply = await ask(world, whole(`${did}?service=endpoint#there`), PART);
    expect(refusalOf(reply).slice(0, 2)).toEqual([400, "INVALID_DID_URL"]);
  });
});

describe("a key that was replaced", () => {
  it("is found next to the newer one until its grace is over, and then is 404", async () => {
    const { did } = await world.agent("PROVIDER");
    const keys = async () => jsonOf(await ask(world, did)).didDocument.verificationMethod.map(({ id }: Json) => id);
    const [older] = await keys();
    const body = { grace_hours: 2 };
    const { key_id } = expectStatus(await world.call("POST", `/v1/agents/${did}/rotate-key`, { body }), 200);
    expect(await keys()).toEqual([`${did}#${key_id}`, older]);
    expect(jsonOf(await ask(world, whole(older), PART)).contentStream.id).toBe(older);
    const [row] = await world.deps.db.select().from(agents).where(eq(agents.did, did));
    const { earlierKey } = row ?? {};
    if (!earlierKey) throw new Error("no earlier key");
    const ended = { ...earlierKey, until: Date.now() - 1 };
    await world.deps.db.update(agents).set({ earlierKey: ended }).where(eq(agents.did, did));
    expect(await keys()).toEqual([`${did}#${key_id}`]);
    expect(refusalOf(await ask(world, whole(older), PART))).toEqual([404, "NOT_FOUND", null, {}]);
  });
});
