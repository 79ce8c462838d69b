// Conventions that every route keeps, read from the routes and their OpenAPI documents (HTTP-13, HTTP-33). Every test that calls the service checks
// that its answers match the documents (test/support/openapi.ts).
import { describe, expect, it } from "vitest";
import { buildDocument } from "../../scripts/openapi/document.ts";
import { OPERATORS, PUBLIC } from "../../scripts/openapi/documents.ts";
import type { Json } from "../../scripts/openapi/types.ts";
import { ERRORS, type ErrorCode } from "../../src/core/errors.ts";

const ROUTES = [...PUBLIC, ...OPERATORS];
const DOCUMENT = buildDocument(ROUTES, "https://service.example");
/** The POSTs whose answer is a new resource. */
const CREATING = [
  ...["registerPrincipal", "createCustomer", "registerAgent", "createPaymentIntent"],
  ...["registerPlatform", "logIn", "submitDocument", "renewTenantAttestation", "recordAttestation", "registerVerifier"],
  ...["fileDispute", "addDisputeEvidence", "createWebhook"],
];
/** Operations that are answered before they are done: they send mails. */
const MAILING = ["resendVerification", "forgotPassword", "changeEmail", "announceToAll"];

/** Operations that leave nothing to show. */
const ENDING = ["refuseVerification"];

const operations = ROUTES.map(({ operationId, method, path, errors, anyQuery }) => {
  const { responses } = DOCUMENT.paths[path]?.[method] ?? { responses: {} };
  return { operationId, method, path, errors, anyQuery, responses };
});

describe("success", () => {
  it.each(operations)("of $operationId has the status of its effect", ({ operationId, method, responses }) => {
    const posted = CREATING.includes(operationId) ? "201" : MAILING.includes(operationId) ? "202" : "200";
    const expected = method === "delete" || ENDING.includes(operationId) ? "204" : posted;
    expect(Object.keys(responses).filter((status) => status.startsWith("2"))).toEqual([expected]);
  });

  it("of a POST that creates is checked under names that exist", () => {
    const posts = operations.filter(({ method }) => method === "post").map(({ operationId }) => operationId);
    expect(posts).toEqual(expect.arrayContaining([...CREATING, ...MAILING]));
  });
});

describe("a refusal", () => {
  const shared = ({ $ref }: Json): Json =>
    DOCUMENT.components["responses"]?.[String($ref).split("/").at(-1) ?? ""] ?? {};

  it.each(operations)("of $operationId names every code of its status, in its own words or the shared ones", (one) => {
    const codes: readonly ErrorCode[] = [
      ...one.errors,
      ...(one.anyQuery ? [] : (["validation_failed"] as const)),
      "rate_limited",
      "internal_error",
    ];
    for (const code of codes) {
      const answer = (one.responses as Record<number, Json>)[ERRORS[code].status] ?? {};
      const description = String(answer["description"] ?? shared(answer)["description"]);
      expect(description).toContain(`\`${code}\`: ${ERRORS[code].message}`);
    }
  });

  it("is written out only where it differs from most others", () => {
    const refused = operations.flatMap(({ responses }) =>
      Object.values(responses).filter((one) => "$ref" in (one as Json)),
    );
    const own = (refused as Json[]).filter((answer) => "description" in answer);
    expect(own.filter((answer) => answer["description"] === shared(answer)["description"])).toEqual([]);
    expect(own.length).toBeLessThan(refused.length / 2);
  });
});

describe("the version", () => {
  /** Paths that other documents fix, or that have no version. */
  const UNVERSIONED =
    /^\/(?:\.well-known\/[\w.-]+(?:\/\{\w+\})?|healthz|1\.0\/identifiers\/\{identifier\}|contexts\/aeap\/v1)$/;

  it.each(operations.map(({ path }) => path))("is in %s, unless the path has none", (path) => {
    expect(path).toMatch(UNVERSIONED.test(path) ? UNVERSIONED : /^\/v1\//);
  });
});

describe("an answer", () => {
  it("may grow: its schemas allow members that they do not name, while a request's schemas do not", () => {
    const [answers, requests] = [
      Object.values(DOCUMENT.paths).flatMap((methods) => Object.values(methods).map(({ responses }) => responses)),
      Object.values(DOCUMENT.paths).flatMap((methods) => Object.values(methods).map((one) => one["requestBody"])),
    ].map((parts) => objectSchemasIn(parts));
    expect(answers?.filter((schema) => schema["additionalProperties"] === false)).toEqual([]);
    expect(answers?.length).toBeGreaterThan(30);
    expect(requests?.some((schema) => schema["additionalProperties"] === false)).toBe(true);
  });
});

/** Every schema of an object in a part of the document, with references followed. */
function objectSchemasIn(value: unknown, seen = new Set<unknown>()): Json[] {
  if (typeof value !== "object" || value === null || seen.has(value)) return [];
  seen.add(value);
  const { $ref, ...members } = value as Json;
  const [, kind = "", name = ""] = /^#\/components\/(\w+)\/(\w+)$/.exec(String($ref)) ?? [];
  const referred = DOCUMENT.components[kind]?.[name];
  const own = "properties" in members ? [members] : [];
  return [...own, ...[referred, ...Object.values(members)].flatMap((one) => objectSchemasIn(one, seen))];
}
