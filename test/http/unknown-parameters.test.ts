// An unknown query parameter is a fault (HTTP-11), on every route.
import { beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/app.ts";
import type { Route } from "../../src/http/route.ts";
import { send, withRoute } from "../support/variants.ts";
import { createWorld, type World } from "../support/world.ts";

/** A DID URL may have any parameters: the resolver refuses unknown ones in its own way (IDN-35). */
const OF_A_DID_URL = "resolveDid";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const routes = ROUTES.filter(({ operationId }) => operationId !== OF_A_DID_URL);

function emptyRequest({ method, multipart }: Route): RequestInit {
  if (method === "get") return { method: "GET" };
  if (multipart) return { method: "POST", body: new FormData() };
  return { method: method.toUpperCase(), headers: { "Content-Type": "application/json" }, body: "{}" };
}

describe("an unknown query parameter", () => {
  it.each(routes)("is a fault of $operationId", async (route) => {
    // Removes the checks that come before the values: the credential, and the path's object.
    const { precheck: _precheck, object: _object, withoutCredential: _code, ...rest } = route;
    const open: Route = { ...rest, surfaces: ["public"] };
    const path = `${route.path.replace(/\{\w+\}/g, "x")}?colour=red`;
    const { response, body } = await send(withRoute(world, open), path, emptyRequest(route));
    expect([response.status, body.code ?? body]).toEqual([422, "validation_failed"]);
    expect(body.field_errors).toContainEqual(expect.objectContaining({ field: "colour", code: "unknown_field" }));
  });

  it("that is repeated thousands of times is one fault, and thousands of unknown ones are a hundred", async () => {
    const repeated = await world.call("GET", `/v1/markets?${"a&".repeat(4_000)}`, { key: null });
    expect([repeated.status, repeated.body.field_errors]).toMatchObject([
      422,
      [
        { field: "a", code: "unknown_field" },
        { field: "a", code: "invalid_value" },
      ],
    ]);
    const unknown = Array.from({ length: 2_000 }, (_, n) => `k${n}=1`).join("&");
    expect((await world.call("GET", `/v1/markets?${unknown}`, { key: null })).body.field_errors).toHaveLength(100);
  });

  it("is tested on all routes except that of a DID URL", () => {
    expect(ROUTES.length - routes.length).toBe(1);
  });
});
