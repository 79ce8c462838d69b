// The page of the interactive reference, and every file that it names, come from the Worker itself (HTTP-32); the OpenAPI document has an entity tag
// (HTTP-31).
import { beforeAll, describe, expect, it } from "vitest";
import { ERRORS } from "../../src/core/errors.ts";
import { createWorld, type World } from "../support/world.ts";

const UNKNOWN_PATH = "The path does not exist: see /docs for the paths of this service.";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

describe("/docs", () => {
  it("names only files that the service serves, and none of another origin", async () => {
    const page = await world.call("GET", "/docs", { key: null });
    expect(page.status).toBe(200);
    const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file ?? "");
    expect(files.length).toBeGreaterThanOrEqual(3);
    for (const file of files) {
      expect(file).toMatch(/^\/docs\//);
      const reply = await world.call("GET", file, { key: null });
      expect(reply.status, file).toBe(200);
      expect(reply.headers.get("content-type"), file).toMatch(/javascript|css/);
    }
    expect(page.headers.get("content-security-policy")).toContain("default-src 'self'");
  });

  it("serves no other file of the package", async () => {
    for (const file of ["/docs/package.json", "/docs/index.html", "/docs/nothing.js"]) {
      const { status, body } = await world.call("GET", file, { key: null });
      expect([status, body.code, body.message], file).toEqual([404, "not_found", UNKNOWN_PATH]);
    }
  });
});

describe("/openapi.json", () => {
  const read = (headers: Record<string, string> = {}) => world.call("GET", "/openapi.json", { key: null, headers });

  it("is answered with 304, without a body, to a client that has it", async () => {
    const full = await read();
    const etag = full.headers.get("etag") ?? "";
    expect([full.status, etag]).toEqual([200, expect.stringMatching(/^"[0-9a-f]{32}"$/)]);
    const known = await read({ "If-None-Match": etag });
    expect([known.status, known.text, known.headers.get("etag")]).toEqual([304, "", etag]);
    expect((await read({ "If-None-Match": '"another"' })).status).toBe(200);
  });
});

describe("the bare address", () => {
  it.each(["/", "/docs/"])("%s redirects to the reference", async (path) => {
    const reply = await world.call("GET", path, { key: null });
    expect([reply.status, reply.headers.get("location")]).toEqual([302, "/docs"]);
  });
});

describe("the page of a code", () => {
  it("is the target of its problem's type", async () => {
    const accept = { Accept: "application/problem+json" };
    const refused = await world.call("GET", "/v1/platform", { key: null, headers: accept });
    const [page, anchor] = refused.body.type.split("#");
    const { text } = await world.call("GET", new URL(page).pathname, { key: null });
    expect(anchor).toBe("invalid_credentials");
    for (const code of Object.keys(ERRORS)) expect(text).toContain(`<dt id="${code}">`);
  });
});
