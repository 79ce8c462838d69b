// Request-Id, no-store, security headers and CORS, on every operation (HTTP-21, HTTP-23, HTTP-25).
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { findResponse } from "../../scripts/openapi/responses.ts";
import { createApp, ROUTES } from "../../src/app.ts";
import { send } from "../support/variants.ts";
import { createWorld, env, type World } from "../support/world.ts";

let world: World;
let did: string;
beforeAll(async () => {
  world = await createWorld();
  did = (await world.consumer()).did;
});

const ORIGIN = { Origin: "https://anywhere.example" };
const concrete = (path: string) =>
  path
    .replace("{did}", did)
    .replace(/\{\w+_id\}/g, "abc_x")
    .replace(/\{\w+\}/g, "x");
const operations = ROUTES.map((route) => ({
  name: `${route.method.toUpperCase()} ${route.path}`,
  path: route.path,
  isPublic: route.surfaces.includes("public"),
  cors: route.cors === true,
  /** A page for people: scripts of other origins have no use for it. */
  isPage: findResponse(route).types?.includes("text/html") === true,
  method: route.method.toUpperCase(),
}));
const call = (path: string, method: string, headers: Record<string, string> = {}) =>
  send(world, path, {
    method,
    headers: {
      "Service-Api-Key": world.key,
      ...ORIGIN,
      ...(method !== "GET" && { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(!["GET", "HEAD", "OPTIONS"].includes(method) && { body: "{}" }),
  });

const isOpen = ({ cors }: (typeof operations)[number]) => cors;

describe.each(operations)("$name", (operation) => {
  const { path, method } = operation;

  it("answers with Request-Id, the security headers and, unless it says otherwise, no-store", async () => {
    const { headers } = (await call(concrete(path), method)).response;
    expect(headers.get("request-id")).toMatch(/^req_[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("strict-transport-security")).toMatch(/^max-age=\d{8}/);
    const cache = headers.get("cache-control");
    // A shared cache may keep only answers that are the same for every caller: keys, discovery, earlier versions, status lists.
    if (operation.isPublic)
      expect(cache).toMatch(/^(no-store|no-cache|public, max-age=\d+(, immutable|, s-maxage=\d+)?)$/);
    else expect(cache).toBe("no-store");
  });

  it("lets any origin read it if, and only if, it is a public read or a check", async () => {
    expect(operation.cors).toBe(
      operation.isPublic && !operation.isPage && (method === "GET" || path.startsWith("/v1/verify/")),
    );
    const answered = (await call(concrete(path), method)).response.headers;
    expect(answered.get("access-control-allow-origin")).toBe(isOpen(operation) ? "*" : null);
    expect(answered.get("access-control-allow-credentials")).toBeNull();
    const exposed = "ETag, Request-Id, RateLimit, RateLimit-Policy, Retry-After, Link";
    expect(answered.get("access-control-expose-headers")).toBe(isOpen(operation) ? exposed : null);
  });
});

describe("a preflight", () => {
  const paths = [...new Set(ROUTES.map((route) => route.path))];
  it.each([...paths, "/openapi.json"])("of %s succeeds for the methods that any origin may call", async (path) => {
    const calls = operations.filter((op) => op.path === path && isOpen(op)).map((op) => op.method);
    const open = path === "/openapi.json" ? ["GET"] : calls;
    const allowed = open.includes("GET") ? ["GET", "HEAD"] : open;
    const { response } = await call(concrete(path), "OPTIONS", { "Access-Control-Request-Method": "GET" });
    const { headers } = response;
    expect(response.status).toBe(open.length > 0 ? 204 : 405);
    expect(headers.get("access-control-allow-origin")).toBe(open.length > 0 ? "*" : null);
    expect(headers.get("access-control-allow-methods")).toBe(open.length > 0 ? allowed.join(", ") : null);
    expect(headers.get("access-control-allow-credentials")).toBeNull();
  });
});

describe("a description of the service", () => {
  it.each(["/openapi.json", "/healthz"])("%s may be read from any origin", async (path) => {
    const { response } = await call(path, "GET");
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
  });
});

describe("any other path", () => {
  it.each(["/docs", "/v1/nothing"])("%s may be read from no other origin", async (path) => {
    expect((await call(path, "GET")).response.headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("HEAD", () => {
  it.each(["/v1/platform", "/v1/principals", "/openapi.json", "/.well-known/aeap-ca-jwks"])(
    "%s has the status and headers of GET and no body",
    async (path) => {
      const [get, head] = [await call(path, "GET"), await call(path, "HEAD")];
      expect([head.response.status, head.body]).toEqual([get.response.status, ""]);
      for (const name of ["content-type", "cache-control", "access-control-allow-origin"]) {
        expect(head.response.headers.get(name)).toBe(get.response.headers.get(name));
      }
      expect(head.response.headers.get("request-id")).toMatch(/^req_/);
    },
  );

  it("of an unknown object is 404", async () => {
    expect((await call("/v1/agents/did:aeap:x/status", "HEAD")).response.status).toBe(404);
  });
});

describe("a service without an ISSUER", () => {
  /** Calls the service as it is deployed, twice from its own data centre. */
  const asked = async (path: string, ISSUER: string) => {
    const app = createApp();
    const answers = [];
    for (let i = 0; i < 2; i++) {
      const context = createExecutionContext();
      const request = new Request(`https://evil.example${path}`);
      const response = await app.fetch(request, { ...env, ISSUER }, context);
      answers.push({ text: new TextDecoder().decode(await response.arrayBuffer()), headers: response.headers });
      await waitOnExecutionContext(context);
    }
    return answers;
  };

  it.each([
    ["the OpenAPI document", () => "/openapi.json"],
    ["the discovery document", () => "/.well-known/aeap"],
    ["a status list", () => "/.well-known/aeap-status-lists/1"],
    ["a version of an identity document", () => `/v1/agents/${did}/aid?version=1`],
    ["a DID document", () => `/v1/agents/${did}/did.json`],
    ["the context of DID documents", () => "/contexts/aeap/v1"],
    ["the health check", () => "/healthz"],
  ])("lets no cache keep %s, which may name the Host of the request", async (_name, path) => {
    for (const { headers } of await asked(path(), "")) {
      expect([headers.get("cache-control"), headers.get("age")]).toEqual(["no-store", null]);
    }
  });

  it("names the Host; with an ISSUER it names the issuer, and the answer may be kept", async () => {
    const [open] = await asked("/openapi.json", "");
    expect(open?.text).toContain("https://evil.example");
    const [closed] = await asked("/openapi.json", env.ISSUER);
    expect(closed?.text).not.toContain("evil.example");
    expect(closed?.headers.get("cache-control")).toBe("public, max-age=300");
  });
});
