// No route bypasses the router (CRED-1, CRED-2): each path of the app is a route of the list, bound to the entrances of the surfaces that it names,
// or one of the few paths that need no caller. So test/auth/credentials.test.ts tries all wrong credentials on one route of each kind.
import { createExecutionContext } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { createApp, ROUTES } from "../../src/app.ts";
import type { Surface } from "../../src/call.ts";
import { ServiceError } from "../../src/core/errors.ts";
import type { Entrance, Entrances } from "../../src/http/call.ts";
import { findMethods } from "../../src/http/headers.ts";
import type { Route } from "../../src/http/route.ts";
import { toHonoPath } from "../../src/http/router.ts";
import { createWorld, env, ISSUER, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

describe("the app", () => {
  it("answers the routes of the list, each bound once, and paths that need no caller", () => {
    const bound = createApp(world.deps).routes.filter(({ method, path }) => method !== "ALL" || path !== "/*");
    const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;
    const listed = ROUTES.map((route) => nameOf({ method: route.method.toUpperCase(), path: toHonoPath(route) }));
    const names = bound.map(nameOf);
    expect(names.slice(0, listed.length)).toEqual(listed);
    expect(new Set(names).size).toBe(names.length);
    for (const { method, path } of bound.slice(listed.length)) {
      expect([method, path, findMethods([], path.replace(":asset", "swagger-ui.css"))]).toEqual([
        "GET",
        path,
        ["GET", "HEAD"],
      ]);
    }
  });
});

/** Entrances that note which one was used, and refuse. */
function watchedEntrances(presented: readonly Surface[], asked: Surface[]): Entrances {
  const entrance = (surface: Surface): Entrance => ({
    presents: () => presented.includes(surface),
    check: async () => {
      asked.push(surface);
      throw new ServiceError("invalid_credentials");
    },
    challenge: () => surface,
  });
  return {
    management: entrance("management"),
    session: entrance("session"),
    agent: entrance("agent"),
    verifier: entrance("verifier"),
    operator: entrance("operator"),
    public: entrance("public"),
  };
}

/** The entrances of the app that a request with these credentials reaches, and whether the route's own code ran. */
async function askedOn(route: Route, presented: readonly Surface[]): Promise<readonly unknown[]> {
  const asked: Surface[] = [];
  let handled = false;
  const handle = async () => {
    handled = true;
  };
  const routes = ROUTES.map((one) => ({ ...one, handle }));
  const app = createApp(world.deps, routes, watchedEntrances(presented, asked));
  const path = route.path.replace(/\{\w+\}/g, "nothing");
  const method = route.method.toUpperCase();
  const { status } = await app.fetch(new Request(`${ISSUER}${path}`, { method }), env, createExecutionContext());
  return [asked, status, handled];
}

/** The order in which the credentials of a request are tried (CRED-2). */
const PRECEDENCE: readonly Surface[] = ["agent", "management", "session", "verifier", "operator", "public"];

describe("every route takes a caller to the entrance of a surface that it names, before its own code runs", () => {
  it.each(ROUTES.map((route) => [route.operationId, route] as const))("%s", async (_id, route) => {
    const own = PRECEDENCE.filter((surface) => route.surfaces.includes(surface));
    const foreign = PRECEDENCE.filter((surface) => !own.includes(surface));
    // Sends all credentials at once, then each surface's own alone, then only those of other surfaces.
    expect(await askedOn(route, PRECEDENCE)).toEqual([[own[0]], 401, false]);
    for (const surface of own) expect(await askedOn(route, [surface])).toEqual([[surface], 401, false]);
    expect(await askedOn(route, foreign)).toEqual([[own.at(-1)], 401, false]);
  });
});
