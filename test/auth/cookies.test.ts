// Every change that a session may make × a cookie that another site sends (CRED-13). A browser adds the cookie to whatever a page requests, so for a
// change it counts only from the service's own origin. Registering a new operation covers it: `npm test` tries every origin on one operation of each
// kind and two origins on every other, `npm run test:long` every origin on all.
import { beforeAll, describe, expect, it, vi } from "vitest";
import { ROUTES } from "../../src/app.ts";
import type { Surface } from "../../src/call.ts";
import type { Route } from "../../src/http/route.ts";
import { isWhole } from "../support/scale.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, ISSUER, type Reply, type World } from "../support/world.ts";
import type { Headers } from "./support.ts";

let world: World;
let token: string;
// Every refusal is logged with its reason.
vi.spyOn(console, "info").mockImplementation(() => undefined);
beforeAll(async () => {
  world = await createWorld();
  token = await world.session();
});

/** The surfaces that a session opens. */
const BY_SESSION: ReadonlySet<Surface> = new Set<Surface>(["management", "session"]);
const CHANGES = ROUTES.filter(
  ({ method, surfaces }) => method !== "get" && surfaces.some((one) => BY_SESSION.has(one)),
);

const FOREIGN: [string, Headers][] = [
  ["without Origin", {}],
  ["with a foreign Origin", { Origin: "https://evil.example" }],
  ["with an Origin that is null", { Origin: "null" }],
  ["with an Origin that begins as the service's", { Origin: `${ISSUER}.evil.example` }],
];
const kinds = Map.groupBy(CHANGES, ({ surfaces, method }) => `${surfaces} ${method}`);
const representatives = new Set([...kinds.values()].map(([first]) => first));
const originsFor = (operation: Route) =>
  isWhole() || representatives.has(operation)
    ? FOREIGN
    : FOREIGN.filter(
        (_, at) => (at - CHANGES.indexOf(operation) + CHANGES.length * FOREIGN.length) % FOREIGN.length < 2,
      );
const matrix = CHANGES.flatMap((operation) =>
  originsFor(operation).map(([name, headers]) => ({
    title: `${operation.method.toUpperCase()} ${operation.path}`,
    operation,
    name,
    headers,
  })),
);

/** Sends faults in path, query and body: the credential is judged before them. */
const send = ({ method, path, body }: Route, headers: Headers): Promise<Reply> =>
  world.call(method.toUpperCase(), `${path.replace(/\{\w+\}/g, "nothing")}?no_such_parameter=1`, {
    key: null,
    headers: { Cookie: `__Host-session=${token}`, ...headers },
    ...(body && { rawBody: '{"no_such_field":1}' }),
  });

describe("every change × the cookie of a session", () => {
  it("includes the changes of both surfaces that a session opens", () => {
    const covered = CHANGES.flatMap(({ surfaces }) => surfaces as readonly Surface[]).filter((one) =>
      BY_SESSION.has(one),
    );
    expect(new Set(covered)).toEqual(BY_SESSION);
    expect(CHANGES.length).toBeGreaterThan(15);
  });

  it.each(matrix)("$title $name is refused with 401 invalid_credentials", async ({ operation, headers }) => {
    const before = await dumpDatabase();
    const reply = await send(operation, headers);
    expect([reply.status, reply.body.code]).toEqual([401, "invalid_credentials"]);
    expect(reply.headers.get("www-authenticate")).toContain('Bearer realm="dashboard"');
    expect(await dumpDatabase()).toEqual(before);
  });

  // Sends the identical call: its faults are reported, so its credential was accepted.
  it.each(CHANGES.map((operation) => ({ title: `${operation.method.toUpperCase()} ${operation.path}`, operation })))(
    "$title with the service's own Origin passes authentication",
    async ({ operation }) => {
      const reply = await send(operation, { Origin: ISSUER });
      expect([400, 404, 422]).toContain(reply.status);
    },
  );
});
