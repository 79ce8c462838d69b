// The routes accept exactly the requests that the OpenAPI documents describe (HTTP-31).
import { type Schema, Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type * as z from "zod";
import { buildDocument } from "../../scripts/openapi/document.ts";
import { OPERATORS, PUBLIC } from "../../scripts/openapi/documents.ts";
import { EXAMPLES } from "../../scripts/openapi/examples.ts";
import type { Json } from "../../scripts/openapi/types.ts";
import { FIELD_ERRORS, TOP_LEVEL_422 } from "../../src/core/errors.ts";
import { parseIdempotencyKey } from "../../src/http/idempotency.ts";
import type { Route } from "../../src/http/route.ts";
import { runs } from "../support/scale.ts";

const ROUTES = [...PUBLIC, ...OPERATORS];
const DOCUMENT = buildDocument(ROUTES, "https://service.example");
const operationOf = ({ path, method }: Route): Json => DOCUMENT.paths[path]?.[method] ?? {};
const { schemas = {}, parameters = {} } = DOCUMENT.components;

// ---- Bodies --------------------------------------------------------------------------------------------------------------

type WithBody = Route & { readonly body: z.ZodType };
const WITH_BODY = ROUTES.filter((route): route is WithBody => route.body !== undefined && !route.multipart);

function documented(route: Route, body: unknown): boolean {
  const { content } = operationOf(route)["requestBody"] as { content: Record<string, { schema: Schema }> };
  const schema = { ...content["application/json"]?.schema, components: { schemas } };
  return new Validator(schema, "2020-12").validate(body).valid;
}
const taken = (route: WithBody, body: unknown): boolean =>
  route.body.safeParse(body).success && (route.rules?.(body) ?? []).length === 0;

/** An empty body, the example with an unknown member, the example, and the example without each of its members. */
function bodiesOf({ operationId }: Route): Json[] {
  const example = (EXAMPLES[operationId]?.request ?? {}) as Json;
  const without = Object.keys(example).map((name) => {
    const { [name]: _left, ...rest } = example;
    return rest;
  });
  return [{}, { ...example, unheard_of: 1 }, example, ...without];
}

describe("a body", () => {
  it("is refused by its documented schema exactly when the route refuses it", () => {
    const differences = WITH_BODY.flatMap((route) =>
      bodiesOf(route)
        .filter((body) => documented(route, body) !== taken(route, body))
        .map((body) => `${route.operationId}: ${JSON.stringify(body)}`),
    );
    expect(WITH_BODY.length).toBeGreaterThan(50);
    // Whether a verdict needs its amount depends on the value of another member, which its sentence states.
    expect(differences).toEqual([expect.stringMatching(/^resolveDispute: {"resolution":"partially_upheld","reason":/)]);
  });

  it.each([
    ["facilitate", {}],
    ["fileDispute", { reason: "other", disputed_amount: "1" }],
    ["advanceSandboxClock", {}],
    ["advanceSandboxClock", { seconds: 1, to: "2027-01-01T00:00:00Z" }],
  ])("%s is refused without one of its forms: %j", (operationId, body) => {
    const route = ROUTES.find((one) => one.operationId === operationId);
    expect(route && documented(route, body)).toBe(false);
  });
});

describe("a call that is never busy", () => {
  it("is one of six, and the others may be 503 service_busy", () => {
    const busy = (route: Route): boolean => {
      const { 503: said } = operationOf(route)["responses"] as Record<number, Json>;
      const shared = DOCUMENT.components["responses"]?.["ServiceUnavailable"];
      return said !== undefined && String(said["description"] ?? shared?.["description"]).includes("service_busy");
    };
    const never = ROUTES.filter((route) => route.method !== "get" && !busy(route)).map(
      ({ operationId }) => operationId,
    );
    expect(never.toSorted()).toEqual([
      "evaluateSpendPolicy",
      "forgotPassword",
      "resendVerification",
      "verifyAid",
      "verifyCertificate",
      "verifyProof",
    ]);
  });

  it("may also be a read, and the health check ignores its query", () => {
    const { responses } = DOCUMENT.paths["/healthz"]?.["get"] ?? { responses: {} };
    expect(Object.keys(responses)).toEqual(["200", "429", "500"]);
  });
});

// ---- Stored forms --------------------------------------------------------------------------------------------------------

type Leaf = {
  readonly path: string;
  readonly set: (value: unknown) => unknown;
  readonly get: (body: unknown) => unknown;
};

/** Every text inside a body. */
function textsIn(body: unknown): Leaf[] {
  if (typeof body === "string") return [{ path: "", set: (value) => value, get: (found) => found }];
  if (typeof body !== "object" || body === null) return [];
  return Object.entries(body).flatMap(([name, inner]) =>
    textsIn(inner).map(({ path, set, get }) => ({
      path: `.${name}${path}`,
      set: (value) =>
        Array.isArray(body) ? body.with(Number(name), set(value)) : { ...(body as object), [name]: set(value) },
      get: (found) => get((found as Record<string, unknown>)[name]),
    })),
  );
}

const FIELDS = WITH_BODY.flatMap((route) =>
  textsIn(EXAMPLES[route.operationId]?.request).map(
    (leaf) => [`${route.operationId}${leaf.path}`, route, leaf] as const,
  ),
);
/** The text that is written for an instant or a position that was read. */
function written(stored: unknown): unknown {
  if (typeof stored === "number") return new Date(stored).toISOString();
  if (typeof stored !== "object" || stored === null) return stored;
  const { id, at } = stored as { id?: string; at?: number };
  return id ?? written(at);
}
const OUT_OF_YEARS = ["9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+00:01"];

describe("every text inside a body", () => {
  it("is accepted again in the form in which the route has read it", () => {
    const odd = fc
      .array(
        fc.constantFrom(..."aZ09 .,:-@", "e\u0301", "\u1f82", "\ufb01", "\u00a0", "\t", "\n", "\u200d", "\u00ad"),
        {
          maxLength: 8,
        },
      )
      .map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(fc.constantFrom(...FIELDS), odd, fc.nat(3), ([name, route, leaf], text, form) => {
        const example = leaf.get(EXAMPLES[route.operationId]?.request) as string;
        const given = [text, ` ${example} `, example.normalize("NFD"), example.toUpperCase()][form];
        const read = route.body.safeParse(leaf.set(given));
        if (!read.success) return;
        const stored = written(leaf.get(read.data));
        const again = route.body.safeParse(leaf.set(stored));
        expect([name, given, again.success && written(leaf.get(again.data))]).toEqual([name, given, stored]);
      }),
      { ...runs(40_000) },
    );
  });

  it("that is an instant has the one schema of instants", () => {
    const dated: string[] = [];
    const visit = (node: unknown, path: string): void => {
      if (typeof node !== "object" || node === null) return;
      if ((node as Json)["format"] === "date-time") dated.push(path);
      for (const [key, inner] of Object.entries(node)) if (!key.startsWith("example")) visit(inner, `${path}/${key}`);
    };
    visit(DOCUMENT, "#");
    expect(dated.toSorted()).toEqual(["#/components/schemas/Instant", "#/components/schemas/InstantInput"]);
    const asked = [
      ...WITH_BODY.map(operationOf).map(({ requestBody }) => requestBody),
      parameters,
      Object.values(DOCUMENT.paths)
        .flatMap((methods) => Object.values(methods))
        .map(({ parameters: own }) => own),
    ];
    const reached = new Set<string>();
    const follow = (value: unknown): void => {
      for (const [, name = ""] of JSON.stringify(value ?? null).matchAll(/#\/components\/schemas\/(\w+)/g)) {
        if (reached.has(name)) continue;
        reached.add(name);
        follow(schemas[name]);
      }
    };
    follow(asked);
    expect([reached.has("Instant"), reached.has("InstantInput")]).toEqual([false, true]);
  });

  it("that is an instant is refused outside the years 0000 to 9999 in UTC, and so is an instant in a query", () => {
    const instants = FIELDS.filter(([, route, leaf]) => {
      const read = route.body.safeParse(leaf.set("2027-03-01T09:30:00+01:00"));
      return read.success && typeof leaf.get(read.data) === "number";
    });
    expect(instants.length).toBeGreaterThan(1);
    for (const text of OUT_OF_YEARS)
      for (const [name, route, leaf] of instants)
        expect([name, route.body.safeParse(leaf.set(text)).success]).toEqual([name, false]);

    const asked = ROUTES.flatMap((route) =>
      Object.keys(route.query?.shape ?? {}).map((name) => [route, name] as const),
    );
    const reads = (route: Route, name: string, text: string) => {
      const field = route.query?.shape[name] as z.ZodType;
      return field.safeParse(text).success;
    };
    const dated = asked.filter(
      ([route, name]) => reads(route, name, "2027-03-01T09:30:00+01:00") && !reads(route, name, "2027-03-01T09:30"),
    );
    expect(dated.length).toBeGreaterThan(10);
    for (const text of OUT_OF_YEARS)
      for (const [route, name] of dated)
        expect([route.operationId, name, reads(route, name, text)]).toEqual([route.operationId, name, false]);
  });
});

// ---- Parameters ----------------------------------------------------------------------------------------------------------

describe("the parameter limit", () => {
  const listings = ROUTES.filter(({ query }) => query && "limit" in query.shape);

  it.each(listings.map((route) => [route.operationId, route] as const))(
    "of %s has the route's own maximum",
    (_id, route) => {
      const stated = (operationOf(route)["parameters"] as Json[])
        .map(({ $ref, ...own }) => ($ref ? parameters[String($ref).split("/").at(-1) ?? ""] : own))
        .find((one) => one?.["name"] === "limit");
      const { maximum = 0 } = (stated?.["schema"] ?? {}) as { maximum?: number };
      const takes = (limit: number): boolean => route.query?.safeParse({ limit: String(limit) }).success === true;
      expect([takes(maximum), takes(maximum + 1)]).toEqual([true, false]);
    },
  );

  it("is at most 1,000 in the directory's changes, and 100 elsewhere", () => {
    expect(parameters["Limit"]?.["schema"]).toMatchObject({ maximum: 100 });
    expect(JSON.stringify(operationOf(routeNamed("listDirectoryChanges"))["parameters"])).toContain('"maximum":1000');
  });
});

const routeNamed = (operationId: string): Route => {
  const found = ROUTES.find((route) => route.operationId === operationId);
  if (!found) throw new Error(`there is no operation ${operationId}`);
  return found;
};

describe("the header Idempotency-Key", () => {
  const { schema, ...rest } = parameters["IdempotencyKey"] as Json;
  const pattern = new RegExp(String((schema as Json)["pattern"]));

  it("has no example, which every reader would send", () => {
    expect([rest, schema].flatMap((one) => Object.keys(one as Json)).filter((name) => /example/.test(name))).toEqual(
      [],
    );
  });

  it("is accepted wherever its pattern matches it", () => {
    const header = fc.oneof(
      fc.string({ unit: "binary-ascii", minLength: 0, maxLength: 300, size: "max" }),
      fc.string({ unit: "grapheme-ascii", minLength: 250, maxLength: 258, size: "max" }),
      fc.string({ unit: "grapheme-ascii", minLength: 250, maxLength: 258, size: "max" }).map((key) => `"${key}"`),
    );
    fc.assert(
      fc.property(header, (key) => {
        if (pattern.test(key)) expect(parseIdempotencyKey(key).ok, key).toBe(true);
      }),
      runs(500),
    );
  });

  it.each([
    ["a", true],
    ["a".repeat(255), true],
    [`"${"a".repeat(255)}"`, true],
    ["a".repeat(256), false],
    [`"${"a".repeat(256)}"`, false],
    ["", false],
    ["é", false],
  ])("%j: %s, in the document and in the service", (key, right) => {
    expect([pattern.test(key), parseIdempotencyKey(key).ok]).toEqual([right, right]);
  });
});

// ---- Codes of fields -----------------------------------------------------------------------------------------------------

describe("FieldError", () => {
  const { code } = (schemas["FieldError"]?.["properties"] ?? {}) as Record<
    string,
    { anyOf: Json[]; description: string }
  >;

  it("names every code, and accepts others", () => {
    expect(code?.anyOf).toEqual([
      { type: "string", enum: [...Object.keys(FIELD_ERRORS), ...TOP_LEVEL_422] },
      { type: "string" },
    ]);
  });

  it("has a sentence for every code", () => {
    const said = [...(code?.description ?? "").matchAll(/^`(\w+)`: [A-Z].*\.$/gm)].map(([, name]) => name);
    expect(said.toSorted()).toEqual([...Object.keys(FIELD_ERRORS), ...TOP_LEVEL_422].toSorted());
  });

  it.each([
    ["cert_tier_role_mismatch", ["registerAgent"]],
    ["authorized_action_role_mismatch", ["registerAgent", "patchAgentScope"]],
    ["missing_fields", ["submitVerification"]],
    ["catalog_url_not_permitted", ["registerAgent", "patchAgent"]],
  ])("names the operations that answer %s", (name, operations) => {
    const [, listed = ""] = new RegExp(`^\`${name}\`: .* In (.*)\\.$`, "m").exec(code?.description ?? "") ?? [];
    expect(listed.split(", ")).toEqual(operations.map((one) => `\`${one}\``));
  });
});
