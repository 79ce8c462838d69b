// Tenancy, walked over all routes: an object of another platform, or of the platform's other environment, does not exist for the caller (HTTP-19).
// The answer is byte for byte the answer for an unknown id, whatever else the request says, and nothing is written. All callers and forms are walked
// on one route of each kind of object, and each other route with a foreign object by a key and by a session, each in one environment; `npm run
// test:long` walks all of them on every route in both.
import { beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/app.ts";
import type { Environment } from "../../src/core/vocabulary.ts";
import type { Route } from "../../src/http/route.ts";
import type { Platform } from "./tenancy-makers.ts";
import {
  DIRECTORY,
  NAMELESS,
  NAMING_NOTHING,
  namedIn,
  OF_AGENTS,
  OF_OPERATORS,
  OF_PLATFORMS,
  PUBLIC,
  takes,
  unjudged,
} from "./tenancy-names.ts";
import { placesOf, portions } from "./tenancy-portions.ts";
import {
  ask,
  byKey,
  bySession,
  type Caller,
  ENVIRONMENTS,
  type Form,
  filterOf,
  formsOf,
  idsOf,
  listOf,
  namingOf,
  nowhere,
  objectOf,
  openPlatform,
  otherThan,
  pathOf,
  told,
  watchRows,
} from "./tenancy-support.ts";

let owner: Platform;
let other: Platform;
beforeAll(async () => {
  owner = await openPlatform();
  other = await openPlatform();
  const { world } = owner.production;
  await world.consumer({ principal_id: world.tenantPrincipalId });
});

/** The tenant principal belongs to both environments, and is foreign to other platforms like any other object. */
const tenantPrincipalFor = (member: string): string[] =>
  member === "principal_id" ? [owner.sandbox.world.tenantPrincipalId] : [];

describe("the walk", () => {
  it("covers every route, or finds that it names no object of a tenant", () => {
    const parts = [...PUBLIC, ...NAMELESS, ...new Set([...OF_PLATFORMS, ...OF_AGENTS, ...OF_OPERATORS])];
    expect(parts.map(({ operationId }) => operationId).sort()).toEqual(
      ROUTES.map(({ operationId }) => operationId).sort(),
    );
  });

  it("leaves out only the routes that were judged to name no object", () => {
    expect(NAMELESS.map(({ operationId }) => operationId).sort()).toEqual([...NAMING_NOTHING].sort());
  });

  it.each(ROUTES.map((route) => [route.operationId, route] as const))(
    "has judged all members that %s may name",
    (_id, route) => {
      expect(unjudged(route)).toEqual([]);
    },
  );
});

/** Routes on which a platform also reaches its object from its other environment: from which, and why. */
const REACHED: Readonly<Record<string, readonly [from: readonly Environment[], why: string]>> = {
  getDocument: [ENVIRONMENTS, "documents are the account's, which is one for both environments (ACC-20)"],
  endSession: [ENVIRONMENTS, "sessions are the account's, which is one for both environments (CRED-27)"],
  authorizeMarkets: [["production"], "a live key opens production markets of sandbox agents (MKT-11)"],
  listAuthorizedMarkets: [["production"], "a live key reads what it opened (MKT-11)"],
  removeAuthorizedMarket: [["production"], "a live key removes what it opened (MKT-11)"],
  promoteAgent: [["production"], "a live key promotes sandbox agents (AGT-34)"],
};
/** Routes that refuse even an object's own key, in this environment, with their status and reason. */
const REFUSED: Readonly<Record<string, readonly [status: number, why: string]>> = {
  promoteAgent: [409, "in the sandbox it is the other key's, in production the agent is there already (AGT-34)"],
  releaseAgentEscrow: [403, "its agent is a consumer, which has no escrow (MKT-29)"],
  syncAgentEscrow: [403, "its agent is a consumer, which has no escrow (MKT-27)"],
  evaluateSpendPolicy: [422, "its body names no seller: one that does is walked with the agents' own calls (PAY-20)"],
};
const answeredWith = ({ operationId, status }: Route): number => REFUSED[operationId]?.[0] ?? status;
const isReached = ({ operationId }: Route, from: Environment): boolean =>
  REACHED[operationId]?.[0].includes(from) ?? false;

const credentials = (route: Route, platform: Platform, environment: Environment, whose: string): Caller[] => [
  ...(takes(route, "management") ? [byKey(platform[environment], whose)] : []),
  bySession(platform[environment], whose),
];
const strangers = (route: Route): Caller[] =>
  ENVIRONMENTS.flatMap((environment) => credentials(route, other, environment, "another's"));

const withPath = OF_PLATFORMS.filter((route) => namedIn(route, "path").length > 0);
const { whole } = portions(
  withPath,
  (route) => `${namedIn(route, "path")} ${route.surfaces} ${route.operationId in REACHED}`,
);

describe.each(ENVIRONMENTS)("an object of the %s in the path", (environment) => {
  const here = placesOf(withPath, environment);
  it.each(here.map((route) => [route.operationId, route] as const))("of %s is hidden", async (_id, route) => {
    const side = owner[environment];
    const [member = ""] = namedIn(route, "path");
    const ids = await objectOf(side, route, member);
    const paths = [pathOf(route, side, ids), pathOf(route, side, { ...ids, [member]: nowhere(member) })] as const;
    const forms = formsOf(route, side);
    const [good, faulty] = forms;
    const elsewhere = otherThan(environment);
    const own = credentials(route, owner, elsewhere, "its");
    const foreign = strangers(route);
    const fewer = [foreign.at(0), foreign.at(-1)].filter((caller) => caller !== undefined);
    const callers = [...(whole(route) ? foreign : fewer), ...(isReached(route, elsewhere) ? [] : own)];
    expect(await leaksOf(callers, route, paths, whole(route) ? forms : [good, faulty])).toBe("");
    // Identical requests succeed if the object belongs to the caller.
    if (isReached(route, elsewhere)) {
      for (const caller of own) expect((await ask(caller, route, paths[0], faulty)).status, caller.name).toBe(422);
    }
    const [keeper] = credentials(route, owner, environment, "its own");
    if (keeper) expect((await ask(keeper, route, paths[0], good)).status, keeper.name).toBe(answeredWith(route));
  });
});

/** An endpoint of the caller, and a delivery of another endpoint. */
describe.each(ENVIRONMENTS)(
  "an object that belongs to another, under one of the caller in the path in the %s,",
  (environment) => {
    it.each(
      withPath.filter((route) => namedIn(route, "path").length > 1).map((route) => [route.operationId, route] as const),
    )("of %s is hidden", async (_id, route) => {
      const side = owner[environment];
      const [holder = "", member = ""] = namedIn(route, "path");
      const own = await objectOf(side, route, holder);
      const at = (id = "") => pathOf(route, side, { ...own, [member]: id });
      const callers = credentials(route, owner, environment, "its own");
      for (const of of [side, owner[otherThan(environment)], other[environment]]) {
        const { [member]: foreign } = await objectOf(of, route, holder);
        expect(await leaksOf(callers, route, [at(foreign), at(nowhere(member))], formsOf(route, side))).toBe("");
      }
    });
  },
);

describe("the tenant principal in the path, which its own platform reaches from both environments,", () => {
  it.each(
    withPath
      .filter((route) => namedIn(route, "path").includes("principal_id"))
      .map((route) => [route.operationId, route] as const),
  )("of %s is hidden from strangers", async (_id, route) => {
    const side = owner.sandbox;
    const at = (principal_id: string) => pathOf(route, side, { principal_id });
    const paths = [at(side.world.tenantPrincipalId), at(nowhere("principal_id"))] as const;
    const forms = formsOf(route, side);
    expect(await leaksOf(strangers(route), route, paths, forms)).toBe("");
    for (const environment of ENVIRONMENTS) {
      for (const caller of credentials(route, owner, environment, "its own"))
        expect([200, 409, 422], caller.name).toContain((await ask(caller, route, paths[0], forms[1])).status);
    }
  });
});

/**
 * The differences between the first path, which names a foreign object, and the second, which names none: another status than 404, another byte, or
 * a row, a message or a mail that was written.
 */
async function leaksOf(
  callers: readonly Caller[],
  route: Route,
  [there, none]: readonly [string, string],
  forms: readonly Form[],
): Promise<string> {
  const leaks: string[] = [];
  const isUnchanged = await watchRows(owner.sandbox);
  for (const caller of callers) {
    for (const form of forms) {
      const reply = await ask(caller, route, there, form);
      const leak = [
        reply.status === 404 && reply.body?.code === "not_found" ? "" : `${reply.status} ${reply.body?.code}`,
        told(reply) === told(await ask(caller, route, none, form)) ? "" : "another answer than for an id of nothing",
        (await isUnchanged()) ? "" : "something was written",
      ].filter((fault) => fault !== "");
      if (leak.length > 0) leaks.push(`${caller.name}, ${form[0]}: ${leak.join(", ")}`);
    }
  }
  return leaks.join("\n");
}

// ---- Ids in bodies ---------------------------------------------------------------------------------------------------------

/**
 * The path of `promoteAgent` names an object of one environment and its body one of the other (test/promotion/refusals.test.ts); an object that the
 * body of `fileDispute` names is 404 like an object in a path (test/disputes/refusals.test.ts).
 */
const CROSSING: readonly string[] = ["promoteAgent", "fileDispute"];
const naming = (place: "body" | "query", environment: Environment) => {
  const named = OF_PLATFORMS.filter(({ operationId }) => !CROSSING.includes(operationId)).flatMap((route) =>
    namedIn(route, place).map((member) => [route.operationId, member, route] as const),
  );
  return placesOf(named, environment);
};

describe.each(ENVIRONMENTS)("an object that a body names in the %s", (environment) => {
  it.each(naming("body", environment))(
    "%s: answers another tenant's %s like an unknown one",
    async (_id, member, route) => {
      const side = other[environment];
      const [inPath] = namedIn(route, "path");
      const path = pathOf(route, side, inPath === undefined ? {} : await objectOf(side, route, inPath));
      const { own, body } = await namingOf(side, route, member);
      const foreign = tenantPrincipalFor(member);
      for (const of of [owner.sandbox, owner.production, other[otherThan(environment)]])
        foreign.push((await namingOf(of, route, member)).own);
      const isUnchanged = await watchRows(side);
      for (const caller of credentials(route, other, environment, "its own")) {
        for (const fault of [{}, { nonsense: true }]) {
          const send = (id: string) => ask(caller, route, path, ["", "", { body: { ...body(id), ...fault } }]);
          const none = await send(nowhere(member));
          expect(none.body.field_errors, caller.name).toContainEqual(
            expect.objectContaining({ field: member, code: "not_found" }),
          );
          for (const id of foreign) expect(told(await send(id)), caller.name).toBe(told(none));
          expect(await isUnchanged(), caller.name).toBe(true);
        }
      }
      const [keeper] = credentials(route, other, environment, "its own");
      if (keeper) expect((await ask(keeper, route, path, ["", "", { body: body(own) }])).status).toBe(route.status);
    },
  );
});

// ---- Ids in queries, and lists ---------------------------------------------------------------------------------------------

/** Routes whose data belong to the account, and so are the same in both environments. */
const OF_ACCOUNT = ["getPlatform", "listKeys", "listDocuments", "listActivity", "listActivityHeads", "verifyActivity"];
const isOfAccount = ({ operationId }: Route) => OF_ACCOUNT.includes(operationId);

describe.each(ENVIRONMENTS)("an object that a query names in the %s", (environment) => {
  it.each(naming("query", environment))(
    "%s: finds for another tenant's %s the same as for an unknown one",
    async (_id, member, route) => {
      const path = await listOf(other[environment], route);
      const own = await filterOf(other[environment], route, member);
      const foreign = tenantPrincipalFor(member);
      foreign.push(await filterOf(owner.sandbox, route, member), await filterOf(owner.production, route, member));
      if (!isOfAccount(route)) foreign.push(await filterOf(other[otherThan(environment)], route, member));
      const isUnchanged = await watchRows(other[environment]);
      for (const caller of credentials(route, other, environment, "its own")) {
        const find = (id: string) => ask(caller, route, path, ["", `${member}=${encodeURIComponent(id)}`, {}]);
        const none = await find(nowhere(member));
        for (const id of foreign) expect(told(await find(id)), caller.name).toBe(told(none));
        expect(await isUnchanged(), caller.name).toBe(true);
        const found = await find(own);
        expect([caller.name, found.status, told(found) === told(none)]).toEqual([caller.name, 200, false]);
      }
    },
  );
});

/** Reads without an object in their path, and those of them that show objects of the caller. */
const readings = [...NAMELESS, ...OF_PLATFORMS].filter(
  (route) => route.method === "get" && takes(route, "management", "session") && !route.path.includes("{"),
);
/** Production has no test clock (ACC-28), and nothing has changed in it that a head could cover (DIR-14). */
const answered = (id: string, environment: Environment): number => {
  if (id === "getDirectoryHead") return 404;
  return id === "getSandboxClock" && environment === "production" ? 403 : 200;
};
const SHOWING = [
  "getPlatform",
  "listDocuments",
  "listActivity",
  "listPrincipals",
  "listCustomers",
  "listAgents",
  "listEvents",
  "listWebhooks",
];

describe.each(ENVIRONMENTS)("a read in the %s", (environment) => {
  let mine: string[];
  let theirs: string[];
  let elsewhere: string[];
  beforeAll(async () => {
    mine = await idsOf(other[environment]);
    elsewhere = await idsOf(other[otherThan(environment)]);
    theirs = [...(await idsOf(owner.sandbox)), ...(await idsOf(owner.production))];
  });

  it.each(readings.map((route) => [route.operationId, route] as const))(
    "of %s shows only its tenant's rows",
    async (id, route) => {
      const suffix = route.query && "limit" in route.query.shape ? "limit=100" : "";
      for (const caller of credentials(route, other, environment, "its own")) {
        const { status, text } = await ask(caller, route, route.path, ["", suffix, {}]);
        expect([caller.name, status]).toEqual([caller.name, answered(id, environment)]);
        const shown = (some: readonly string[]) => some.filter((one) => text.includes(one));
        const shared = DIRECTORY.includes(id);
        const hidden = [...(shared ? [] : theirs), ...(isOfAccount(route) ? [] : elsewhere)];
        expect(shown(hidden), caller.name).toEqual([]);
        if (!shared) expect([caller.name, shown(mine).length > 0]).toEqual([caller.name, SHOWING.includes(id)]);
      }
    },
  );
});
