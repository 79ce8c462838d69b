// A route that its definition declares deprecated says so on every answer (HTTP-38).
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { createApp, ROUTES } from "../../src/app.ts";
import type { Deprecation, Route } from "../../src/http/route.ts";
import { createWorld, env, ISSUER, type World } from "../support/world.ts";
import { DEPRECATED, oldList } from "./old-list.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

async function ask(path: string, declared: Route, method = "GET"): Promise<Response> {
  const context = createExecutionContext();
  const app = createApp(world.deps, [declared]);
  const response = await app.fetch(new Request(`${ISSUER}${path}`, { method }), env, context);
  await response.arrayBuffer();
  await waitOnExecutionContext(context);
  return response;
}

const shown = ({ headers }: Response) => ["deprecation", "sunset", "link"].map((name) => headers.get(name));
const [SINCE, SUNSET, LINK] = ["@1793491200", "Sat, 01 May 2027 12:00:00 GMT", '</docs#new-list>; rel="deprecation"'];

describe("a deprecated route", () => {
  it("answers with Deprecation, Sunset and a link, in addition to the link to its next page", async () => {
    const response = await ask("/v1/old?limit=7", oldList(DEPRECATED));
    const next = `<${ISSUER}/v1/old?limit=7&cursor=WyJ4Il0>; rel="next"`;
    expect([response.status, ...shown(response)]).toEqual([200, SINCE, SUNSET, `${next}, ${LINK}`]);
  });

  it.each([
    ["a fault of the values", "/v1/old?limit=x", 422],
    ["a refusal of the service", "/v1/old?limit=100", 403],
  ])("also says so on %s", async (_name, path, status) => {
    const response = await ask(path, oldList(DEPRECATED));
    expect([response.status, ...shown(response)]).toEqual([status, SINCE, SUNSET, LINK]);
  });

  it("says so to a caller without a credential", async () => {
    const [management] = ROUTES.filter(({ path }) => path === "/v1/platform");
    const response = await ask("/v1/platform", { ...(management as Route), deprecated: DEPRECATED });
    expect([response.status, ...shown(response)]).toEqual([401, SINCE, SUNSET, LINK]);
  });

  it("says so to HEAD, but not where another method is refused", async () => {
    expect(shown(await ask("/v1/old?limit=100", oldList(DEPRECATED), "HEAD"))).toEqual([SINCE, SUNSET, LINK]);
    const other = await ask("/v1/old", oldList(DEPRECATED), "DELETE");
    expect([other.status, ...shown(other)]).toEqual([405, null, null, null]);
  });

  it("lets scripts of any origin read the headers if they may read the answer", async () => {
    const exposed = (await ask("/v1/old", oldList(DEPRECATED))).headers.get("access-control-expose-headers");
    expect(exposed?.split(", ")).toEqual(expect.arrayContaining(["Deprecation", "Sunset", "Link"]));
    const plain = (await ask("/v1/old", oldList())).headers.get("access-control-expose-headers");
    expect(plain).not.toContain("Deprecation");
  });

  it("may have no end and no link yet", async () => {
    const response = await ask("/v1/old?limit=100", oldList({ since: "2026-11-01" }));
    expect(shown(response)).toEqual([SINCE, null, null]);
  });

  it.each([
    ["no instant", { since: "soon" }, "soon is not an instant"],
    ["an instant without a zone", { since: "2026-11-01T12:00:00" }, "is not an instant"],
    ["an end before its beginning", { since: "2026-11-01", sunset: "2026-10-31" }, "is before"],
    ["a link that would break the header", { since: "2026-11-01", link: "/docs>; rel=next" }, "is not a URL"],
  ])("with %s fails the start", (_name, deprecated: Deprecation, message) => {
    expect(() => createApp(world.deps, [oldList(deprecated)])).toThrow(message);
  });
});

describe("any other route", () => {
  it("answers with neither header", async () => {
    expect(shown(await ask("/v1/old?limit=100", oldList()))).toEqual([null, null, null]);
  });
});
