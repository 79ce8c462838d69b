// Every refusal has the flat envelope, also the refusal of an unreadable request (HTTP-9, HTTP-10, HTTP-14, HTTP-20 to HTTP-22).
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { JSON_BODY_MAX_BYTES, JSON_DEPTH_MAX } from "../../src/core/limits.ts";
import { failingBatches, send, withDatabase, withDeps } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, principalBody, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const OPTIONAL = ["field_errors", "detail", "type"];

/** HTTP-14: requires the required members, permits the optional ones and no others; the id equals the header's. */
function expectEnvelope(response: Response, body: Json, status: number, code: string): void {
  expect([response.status, body.code]).toEqual([status, code]);
  expect(body).toMatchObject({ status, error: code, message: expect.stringMatching(/\S/) });
  expect(body.request_id).toMatch(/^req_[0-9A-HJKMNP-TV-Z]{26}$/);
  expect(response.headers.get("request-id")).toBe(body.request_id);
  const required = Object.keys(body).filter((name) => !OPTIONAL.includes(name));
  expect(required.sort()).toEqual(["code", "error", "message", "request_id", "status"]);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.get("cache-control")).toBe("no-store");
}

const post = (body: BodyInit | null, headers: Record<string, string> = {}) =>
  send(world, "/v1/principals", {
    method: "POST",
    headers: { "Service-Api-Key": world.key, "Content-Type": "application/json", ...headers },
    body,
  });

const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
const filler = (bytes: number) => `{"legal_name":"${"a".repeat(bytes - 17)}"}`;

describe("a path or a method that does not exist", () => {
  it.each(["/v1/nothing", "/v1/customer", "/v1/principals/", "/v1/agents/x/y/z", "/v2/principals"])(
    "%s is 404 not_found",
    async (path) => {
      const { response, body } = await send(world, path, { method: "GET", headers: { "Service-Api-Key": world.key } });
      expectEnvelope(response, body, 404, "not_found");
      expect(body.message).toBe("The path does not exist: see /docs for the paths of this service.");
    },
  );

  it.each([
    ["DELETE", "/v1/principals", ["GET", "HEAD", "POST"]],
    ["PUT", "/v1/agents/did:aeap:x/scope", ["PATCH"]],
    ["POST", "/v1/platform", ["GET", "HEAD", "PATCH"]],
    ["PATCH", "/openapi.json", ["GET", "HEAD"]],
    ["OPTIONS", "/v1/principals", ["GET", "HEAD", "POST"]],
    ["POST", "/v1/payment-address", ["GET"]],
    ["GET", "/v1/verify/aid", ["POST"]],
  ])("%s %s is 405 with Allow", async (method, path, allowed) => {
    const { response, body } = await send(world, path, { method, headers: { "Service-Api-Key": world.key } });
    expectEnvelope(response, body, 405, "method_not_allowed");
    expect(response.headers.get("allow")?.split(", ").sort()).toEqual(allowed);
  });

  it("answers HEAD of a GET with effects with 405 too, because its proof would not cover the effect", async () => {
    const { response } = await send(world, "/v1/payment-address", { method: "HEAD" });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET"]);
  });
});

describe("a body that cannot be read is 400 invalid_request", () => {
  const invalidUtf8 = new Uint8Array([...new TextEncoder().encode('{"legal_name":"'), 0xc3, 0x28, 0x22, 0x7d]);
  it.each<[string, BodyInit | null, Record<string, string>]>([
    ["malformed JSON", '{"legal_name": ', {}],
    ["a trailing comma", '{"legal_name":"a",}', {}],
    ["a string without an end", '{"legal_name":"a', {}],
    ["a comment", '{"legal_name":"a" /* no */}', {}],
    ["two values", "{}{}", {}],
    ["a byte order mark", "\ufeff{}", {}],
    ["another content type", "{}", { "Content-Type": "text/plain" }],
    ["a content type that only begins alike", "{}", { "Content-Type": "application/jsonp" }],
    ["a form", "legal_name=a", { "Content-Type": "application/x-www-form-urlencoded" }],
    ["no body", null, {}],
    ["an empty body", "", {}],
    ["only space", "  ", {}],
    ["invalid UTF-8", invalidUtf8, {}],
    ["a key twice", '{"legal_name":"a","legal_name":"b"}', {}],
    ["a key twice, once escaped", '{"legal_name":"a","\\u006cegal_name":"b"}', {}],
    ["a key twice in an object inside a list", '{"a":[{"b":1,"c":[],"b":2}]}', {}],
    ["a key twice, far from its colon", `{"a"${" ".repeat(200)}:1,"a"${"\n".repeat(200)}:2}`, {}],
    ["half a surrogate pair in a value", '{"legal_name":"\\ud800"}', {}],
    ["half a surrogate pair in a key", '{"\\udfff":1}', {}],
    ["a number beyond all doubles", '{"legal_name":1e999}', {}],
  ])("%s", async (_name, body, headers) => {
    const { response, body: answer } = await post(body, headers);
    expectEnvelope(response, answer, 400, "invalid_request");
  });

  it("with an Idempotency-Key too", async () => {
    for (const body of ['{"legal_name":"\\ud800"}', '{"legal_name":1e999}', '{"a":1,"a":2}']) {
      const { response, body: answer } = await post(body, { "Idempotency-Key": crypto.randomUUID() });
      expectEnvelope(response, answer, 400, "invalid_request");
    }
  });

  it.each([
    ["a value that looks like a key", { legal_name: "legal_name", external_ref: '{"legal_name":1' }],
    ["quotes, backslashes and braces in text", { legal_name: 'A "B" \\ }{][ ", : \\" C' }],
    ["a whole surrogate pair", { legal_name: "Robots 🤖 GmbH" }],
  ])("unlike %s, which is accepted", async (_name, overrides) => {
    const { response } = await post(JSON.stringify(principalBody(overrides), null, 3));
    expect(response.status).toBe(201);
  });

  it.each(["application/json; charset=utf-8", "APPLICATION/JSON", "application/merge-patch+json"])(
    "unlike %s, which is JSON",
    async (type) => {
      const { response } = await post(JSON.stringify(principalBody()), { "Content-Type": type });
      expect(response.status).toBe(201);
    },
  );

  it.each([
    ["a byte order mark alone", "\ufeff"],
    ["a byte order mark and an empty object", "\ufeff{}"],
    ["an empty object and a byte order mark", "{}\ufeff"],
    ["a space that JSON has not", "\u00a0{}"],
    ["an empty list", "[]"],
    ["null", "null"],
    ["two empty objects", "{}{}"],
  ])("for %s on a call that takes no body", async (_name, rawBody) => {
    const { did } = await world.draft("CONSUMER");
    const path = `/v1/agents/${did}/activate`;
    const headers = { "Service-Api-Key": world.key, "Content-Type": "application/json" };
    const { response, body } = await send(world, path, {
      method: "POST",
      headers,
      body: new TextEncoder().encode(rawBody),
    });
    expectEnvelope(response, body, 400, "invalid_request");
    expect((await world.call("GET", `/v1/agents/${did}`)).body.status).toBe("DRAFT");
  });

  it.each(["", "{}", " \r\n\t{ \n} "])("unlike %j, which counts as no body", async (rawBody) => {
    const { did } = await world.draft("CONSUMER");
    expectStatus(await world.call("POST", `/v1/agents/${did}/activate`, { rawBody }), 200);
  });

  it("on a call that takes no body, except for an empty object", async () => {
    const activate = (did: string, rawBody: string) => world.call("POST", `/v1/agents/${did}/activate`, { rawBody });
    const { did } = await world.draft("CONSUMER");
    expect((await activate(did, '{"status":"ACTIVE"}')).body).toMatchObject({ code: "invalid_request", status: 400 });
    expect((await world.call("GET", `/v1/agents/${did}`)).body.status).toBe("DRAFT");
    expect((await activate(did, "{}")).status).toBe(200);
  });
});

describe("a body that is too large is 413 payload_too_large", () => {
  const chunked = (text: string) =>
    new ReadableStream({
      start(controller) {
        const bytes = new TextEncoder().encode(text);
        for (let at = 0; at < bytes.length; at += 50_000) controller.enqueue(bytes.slice(at, at + 50_000));
        controller.close();
      },
    });

  it("with one byte over 256 KiB, whether or not its length is declared", async () => {
    const text = filler(JSON_BODY_MAX_BYTES + 1);
    expect(text.length).toBe(256 * 1024 + 1);
    for (const body of [text, chunked(text)]) {
      const { response, body: answer } = await post(body);
      expectEnvelope(response, answer, 413, "payload_too_large");
    }
  });

  it("but not with 256 KiB", async () => {
    for (const body of [filler(JSON_BODY_MAX_BYTES), chunked(filler(JSON_BODY_MAX_BYTES))]) {
      const { response, body: answer } = await post(body);
      expectEnvelope(response, answer, 422, "validation_failed");
    }
  });

  it("with a declared length over the limit, before a byte is read", async () => {
    const { response, body } = await post("{}", { "Content-Length": String(JSON_BODY_MAX_BYTES + 1) });
    expectEnvelope(response, body, 413, "payload_too_large");
  });

  it("with 33 levels, and not with 32", async () => {
    expect(JSON_DEPTH_MAX).toBe(32);
    const deep = await post(nested(33));
    expectEnvelope(deep.response, deep.body, 413, "payload_too_large");
    const allowed = await post(nested(32));
    expectEnvelope(allowed.response, allowed.body, 422, "validation_failed");
  });

  it("when 33 lists are nested, while braces in text do not count", async () => {
    const lists = await post(`${"[".repeat(33)}${"]".repeat(33)}`);
    expectEnvelope(lists.response, lists.body, 413, "payload_too_large");
    expect((await post(JSON.stringify(principalBody({ legal_name: `${"{[".repeat(40)} Ltd` })))).response.status).toBe(
      201,
    );
  });
});

describe("an internal failure is 500 internal_error", () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
  afterEach(() => log.mockClear());

  const SECRET = "cause-4711";
  const throwing = (thrown: unknown) => {
    const db = new Proxy(world.deps.db, {
      get() {
        throw thrown;
      },
    });
    return withDeps(world, { ...world.deps, db });
  };

  it.each([
    ["an error", new Error(`${SECRET} in /src/db/batch.ts`)],
    ["a TypeError", new TypeError(SECRET)],
    ["text", SECRET],
    ["nothing", undefined],
  ])("%s leaves no trace of itself in the answer, and is logged with the request id", async (_name, thrown) => {
    const { response, body } = await send(throwing(thrown), "/v1/principals", {
      headers: { "Service-Api-Key": world.key },
    });
    expectEnvelope(response, body, 500, "internal_error");
    const everything = JSON.stringify([body, [...response.headers]]);
    for (const trace of [SECRET, "src/", ".ts", "at "]) expect(everything).not.toContain(trace);
    const logged = log.mock.calls.map(([line]) => String(line)).filter((line) => line.includes(body.request_id));
    expect(logged).toHaveLength(1);
    expect(JSON.parse(logged[0] ?? "")).toMatchObject({ event: "failed" });
  });

  it("when the database fails in a read or in a change, and the change is not written", async () => {
    for (const failing of [1, 2]) {
      const gone = withDatabase(
        world,
        failingBatches(env.DB, (batch) => (batch === failing ? "before" : "never")),
      );
      const ref = crypto.randomUUID();
      const reply = await gone.call("POST", "/v1/principals", { body: principalBody({ external_ref: ref }) });
      expect(reply.body).toMatchObject({ code: "internal_error", status: 500 });
      expect(reply.text).not.toContain("D1_ERROR");
      expect(expectStatus(await world.call("GET", `/v1/principals?external_ref=${ref}`), 200).data).toEqual([]);
    }
  });

  it("when a public read fails", async () => {
    const gone = withDatabase(
      world,
      failingBatches(env.DB, () => "before"),
    );
    const reply = await gone.call("GET", "/v1/agents/did:aeap:x/status", { key: null });
    expect(reply.body).toMatchObject({ code: "internal_error", status: 500 });
  });
});

describe("a client that names application/problem+json", () => {
  const ask = (accept: string) =>
    send(world, "/v1/principals", { headers: { Accept: accept, "Service-Api-Key": "nonsense" } });

  it("gets the members of RFC 9457 for the same refusal, at the issuer", async () => {
    const { response, body } = await ask("application/json;q=0.5, application/problem+json");
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(response.headers.get("request-id")).toBe(body.request_id);
    const { code, request_id } = body;
    expect(body).toEqual({
      type: `${env.ISSUER}/docs#invalid_credentials`,
      title: "invalid_credentials",
      status: 401,
      detail: expect.stringMatching(/\S/),
      instance: request_id,
      code,
      request_id,
    });
  });

  it.each([
    "Application/Problem+JSON",
    "application/problem+json;q=0.001",
    'text/html, application/problem+json; charset="utf-8"; q=0.5',
  ])("gets them with %s", async (accept) => {
    expect((await ask(accept)).response.headers.get("content-type")).toBe("application/problem+json");
  });

  it.each([
    "*/*",
    "application/*",
    "application/json",
    "application/problem+json;q=0",
    "application/problem+json; q=0.0, */*",
  ])("gets the envelope with %s", async (accept) => {
    const { response, body } = await ask(accept);
    expectEnvelope(response, body, 401, "invalid_credentials");
  });
});
