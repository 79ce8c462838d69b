// Public operations need no credential (CRED-1).
import { beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/app.ts";
import { createWorld, type World } from "../support/world.ts";
import { bearer, type Headers, key } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

describe("a public operation", () => {
  it.each(
    ROUTES.filter(({ surfaces }) => surfaces.includes("public")).map(
      (operation) => [operation.method.toUpperCase(), operation.path, operation] as const,
    ),
  )("%s %s accepts a call without credential, and ignores a wrong one", async (method, path, operation) => {
    const call = (headers: Headers) =>
      world.call(method, path.replace(/\{\w+\}/g, "nothing"), {
        key: null,
        headers,
        ...(operation.body && { rawBody: '{"no_such_field":1}' }),
      });
    const [none, wrong] = [
      await call({}),
      await call({ ...key("nonsense"), ...bearer("nonsense"), "AEAP-Certificate": "x" }),
    ];
    expect([401, 403]).not.toContain(none.status);
    expect(wrong.status).toBe(none.status);
  });
});
