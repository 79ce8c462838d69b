// The examples of the OpenAPI documents against a running service (HTTP-31): each has the structure of today's requests and answers. In `npm test`,
// the reviewer checks the examples against the schemas, and test/support/openapi.ts checks every answer.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildDocument } from "../../scripts/openapi/document.ts";
import { OPERATORS, PUBLIC } from "../../scripts/openapi/documents.ts";
import { EXAMPLES, type Example } from "../../scripts/openapi/examples.ts";
import { playOperations } from "../../scripts/openapi/play.ts";
import type { Json } from "../../scripts/openapi/types.ts";
import { type Stack, startStack } from "../../scripts/stack.ts";

const ALL = [...PUBLIC, ...OPERATORS];
const BOTH = buildDocument(ALL, "https://service.example");
const OPERATION_IDS = ALL.map(({ operationId }) => operationId);

describe("a running service", () => {
  const dir = mkdtempSync(join(tmpdir(), "openapi-"));
  let stack: Stack;
  let played: Record<string, Example>;

  beforeAll(async () => {
    const ports = { service: 0, chain: 0, chainProduction: 0 };
    stack = await startStack({ dir, ports, signal: new AbortController().signal, log: () => undefined });
    played = await playOperations(stack.description);
  });

  afterAll(async () => {
    await stack?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  it("has an example of each operation, and none of a removed one", () => {
    expect(Object.keys(EXAMPLES).sort()).toEqual([...OPERATION_IDS].sort());
  });

  it.each(OPERATION_IDS)("%s has the request and answer that its example shows", (operationId) => {
    const [recorded = {}, real = {}] = [EXAMPLES[operationId], played[operationId]];
    expect(differences(recorded, real, exchangeOf(operationId))).toEqual([]);
  });
});

// ---- The same structure --------------------------------------------------------------------------------------------------

/** The schemas of an operation's request and answer, as the schema of an example. */
function exchangeOf(operationId: string): Json {
  const operations = Object.values(BOTH.paths).flatMap((methods) => Object.values(methods));
  const operation = operations.find((one) => one.operationId === operationId);
  const answer = Object.entries(operation?.responses ?? {}).find(([status]) => status.startsWith("2"))?.[1];
  const schemasIn = (of: unknown) =>
    Object.values(((of as Json | undefined)?.["content"] ?? {}) as Record<string, Json>);
  const [request, response] = [operation?.["requestBody"], answer].map((of) => schemasIn(of)[0]?.["schema"] ?? {});
  return { properties: { request, response } };
}

/** Lists the differences in names and types of two values, at every depth; of a list only the first entry. */
function differences(recorded: unknown, real: unknown, schema: Json, path = ""): string[] {
  const [was, is] = [kindOf(recorded), kindOf(real)];
  if (was !== is) {
    const isNullable = was === "null" || is === "null" ? meanings(schema).some(allowsNull) : false;
    return isNullable ? [] : [`${path}: the example has ${was}, the answer ${is}`];
  }
  if (was === "array") {
    const [[first], [other]] = [recorded as unknown[], real as unknown[]];
    const items = { anyOf: meanings(schema).map((one) => one["items"] ?? {}) };
    return first === undefined || other === undefined ? [] : differences(first, other, items, `${path}[0]`);
  }
  if (was !== "object") return [];
  const [one, two] = [recorded as Json, real as Json];
  return [...new Set([...Object.keys(one), ...Object.keys(two)])].flatMap((name) => {
    if (!(name in one)) return [`${path}.${name}: the example does not have it`];
    if (!(name in two)) return [`${path}.${name}: the answer does not have it`];
    return differences(
      one[name],
      two[name],
      { anyOf: meanings(schema).map((of) => memberOf(of, name)) },
      `${path}.${name}`,
    );
  });
}

const kindOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);
const allowsNull = ({ type }: Json): boolean => type === "null" || (Array.isArray(type) && type.includes("null"));
const memberOf = (schema: Json, name: string): Json =>
  ((schema["properties"] ?? {}) as Record<string, Json>)[name] ?? {};

/** A schema's alternatives, with references followed. */
function meanings(schema: Json): Json[] {
  const { $ref, anyOf, oneOf } = schema;
  if (typeof $ref === "string") return meanings(BOTH.components.schemas[$ref.split("/").at(-1) ?? ""] ?? {});
  const options = (anyOf ?? oneOf) as Json[] | undefined;
  return options ? options.flatMap(meanings) : [schema];
}

describe("a difference of structure", () => {
  const schema = { properties: { a: { type: ["string", "null"] }, b: { type: "array", items: { type: "number" } } } };
  it.each([
    [{ a: "x", b: [1] }, { a: null, b: [2, 3] }, 0],
    [{ a: "x" }, { a: 1 }, 1],
    [{ a: "x" }, { a: "x", b: [] }, 1],
    [{ b: [1] }, { b: ["x"] }, 1],
    [{ b: [1] }, { b: null }, 1],
    [{ c: null }, { c: 1 }, 1],
  ])("between %j and %j is found", (one, two, count) => {
    expect(differences(one, two, schema)).toHaveLength(count);
    expect(differences(two, one, schema)).toHaveLength(count);
  });
});
