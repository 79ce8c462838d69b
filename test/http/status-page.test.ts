// The discovery document and the OpenAPI document name the operator's page about incidents (HTTP-39).
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { withVars } from "../support/variants.ts";
import { createWorld, env, expectStatus, ISSUER, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const PAGE = "https://status.example/agents?lang=en&q=$&";
const read = async (STATUS_PAGE_URL: string, path: string) =>
  expectStatus(await withVars(world, { STATUS_PAGE_URL }).call("GET", path, { key: null }), 200);

describe("the operator's status page", () => {
  it("is named by the discovery document, with null if there is none", async () => {
    expect(await read(PAGE, "/.well-known/aeap")).toMatchObject({ issuer: ISSUER, status_page: PAGE });
    expect(await read("", "/.well-known/aeap")).toMatchObject({ issuer: ISSUER, status_page: null });
  });

  it("is named by the OpenAPI document, which is otherwise the same", async () => {
    const { externalDocs, ...rest } = await read(PAGE, "/openapi.json");
    expect(externalDocs).toEqual({ description: expect.any(String), url: PAGE });
    expect(await read("", "/openapi.json")).toEqual(rest);
  });
});

describe("STATUS_PAGE_URL", () => {
  it.each(["status.example", "http://status.example", "https://me:secret@status.example", "javascript:alert(1)"])(
    '"%s" is no https URL, so the service refuses its first call',
    async (value) => {
      const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
      const context = createExecutionContext();
      const bindings = { ...env, STATUS_PAGE_URL: value };
      const { status } = await createApp().fetch(new Request(`${ISSUER}/healthz`), bindings, context);
      await waitOnExecutionContext(context);
      const logged = String(log.mock.calls);
      log.mockRestore();
      expect([status, logged]).toEqual([500, expect.stringContaining("STATUS_PAGE_URL must be empty or")]);
    },
  );
});
