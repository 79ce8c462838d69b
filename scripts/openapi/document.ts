// The OpenAPI 3.1 document, printed from the routes: their schemas through zod, the sentences of fields.ts, the examples that
// examples.json recorded. None of it is in the Worker, which serves what this printed.
import * as z from "zod";
import type { Surface } from "../../src/call.ts";
import { ERRORS, type ErrorCode } from "../../src/core/errors.ts";
import type { Route } from "../../src/http/route.ts";
import { errorSchema } from "../../src/http/schemas.ts";
import { EXAMPLES } from "./examples.ts";
import { FIELDS, SCHEMAS } from "./fields.ts";
import { HEADERS, health, INFO, PARAMETERS, problem, RESPONSE_NAMES, SECURITY_SCHEMES, TAGS } from "./parts.ts";

export type Json = { [name: string]: unknown };
export type Document = {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, Json> } & Json;
} & Json;
export type Operation = { readonly operationId: string; readonly responses: Record<string, Json> } & Json;

/** `serverUrl` is the issuer: where the service is, whatever Host it is asked under. */
export function buildDocument(routes: readonly Route[], serverUrl: string): Document {
  const schemas = new Schemas();
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of [...routes, health]) {
    paths[route.path] = { ...paths[route.path], [route.method]: describe(route, schemas) };
  }
  const used = new Set(routes.map(({ tag }) => tag).concat(health.tag));
  const surfaces = new Set<Surface>(routes.flatMap(({ surfaces: named }) => named as readonly Surface[]));
  const schemes = new Set([...surfaces].flatMap((surface) => SECURITY[surface].flatMap((one) => Object.keys(one))));
  const responses = errorResponses(schemas);
  return {
    openapi: "3.1.0",
    info: INFO,
    servers: [{ url: serverUrl, description: "The service." }],
    security: [],
    tags: TAGS.filter(({ name }) => used.has(name)),
    paths,
    components: {
      schemas: schemas.named(),
      responses,
      parameters: sharedParameters(routes, schemas),
      headers: HEADERS,
      securitySchemes: Object.fromEntries(Object.entries(SECURITY_SCHEMES).filter(([name]) => schemes.has(name))),
    },
  };
}

// ---- Schemas -------------------------------------------------------------------------------------------------------------

type Io = "input" | "output";

/** Each named schema once, whatever names it. */
class Schemas {
  readonly #named = new Map<string, Json>();

  /** The schema as a request sends it or an answer shows it; what has a name is a reference. */
  of(schema: z.ZodType, io: Io): Json {
    const { $schema: _dialect, $defs = {}, ...body } = z.toJSONSchema(schema, { io, unrepresentable: "any" }) as Json;
    for (const [name, definition] of Object.entries($defs as Record<string, Json>)) this.#add(name, definition, io);
    const own = z.globalRegistry.get(schema)?.id;
    if (own !== undefined) {
      if (!("$ref" in body)) this.#add(own, body, io);
      return reference(own);
    }
    return tidy(body, io, "");
  }

  #add(name: string, definition: Json, io: Io): void {
    const { id: _id, ...body } = definition;
    const description = SCHEMAS[name];
    const tidied = { ...(description !== undefined && { description }), ...tidy(body, io, name) };
    const known = this.#named.get(name);
    if (known && JSON.stringify(known) !== JSON.stringify(tidied)) {
      throw new Error(`the schema ${name} differs between requests and answers: give each its own name`);
    }
    this.#named.set(name, tidied);
  }

  named(): Record<string, Json> {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

const reference = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

/** What zod prints as OpenAPI wants it: references into components, no bounds that only JavaScript has, fields with sentences. */
function tidy(schema: Json, io: Io, owner: string): Json {
  const out: Json = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (isBoundOfIntegers(keyword, value)) continue;
    // zod's pattern of an instant says what its format says.
    if (keyword === "pattern" && schema["format"] === "date-time") continue;
    // A reader takes what it knows: an answer may have more.
    if (keyword === "additionalProperties" && value === false && io === "output") continue;
    out[keyword] = tidyKeyword(keyword, value, io, owner);
  }
  return out;
}

const isBoundOfIntegers = (keyword: string, value: unknown): boolean =>
  (keyword === "minimum" && value === Number.MIN_SAFE_INTEGER) ||
  (keyword === "maximum" && value === Number.MAX_SAFE_INTEGER);

function tidyKeyword(keyword: string, value: unknown, io: Io, owner: string): unknown {
  if (keyword === "$ref") return String(value).replace("#/$defs/", "#/components/schemas/");
  if (keyword === "properties") return tidyProperties(value as Record<string, Json>, io, owner);
  if (Array.isArray(value)) return value.map((one) => (isSchema(one) ? tidy(one, io, owner) : one));
  return isSchema(value) && keyword !== "default" && keyword !== "const" ? tidy(value, io, owner) : value;
}

const isSchema = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function tidyProperties(properties: Record<string, Json>, io: Io, owner: string): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => {
      const { id: _id, ...body } = schema;
      const sentence = FIELDS[`${owner}.${name}`] ?? FIELDS[name];
      return [
        name,
        { ...tidy(body, io, `${owner}.${name}`), ...(sentence !== undefined && { description: sentence }) },
      ];
    }),
  );
}

// ---- Operations ----------------------------------------------------------------------------------------------------------

const SECURITY: Readonly<Record<Surface, readonly Record<string, string[]>[]>> = {
  management: [{ ManagementKey: [] }],
  agent: [{ AgentCertificate: [], AgentProof: [], AgentTimestamp: [] }],
  operator: [{ OperatorKey: [] }, { OperatorAccess: [] }],
  public: [],
};

/** The codes that a surface can always answer with. */
const ALWAYS: Readonly<Record<Surface, readonly ErrorCode[]>> = {
  management: ["invalid_credentials", "account_suspended"],
  agent: ["certificate_required", "aeap_verification_failed", "account_suspended", "agent_not_active"],
  operator: ["invalid_credentials"],
  public: [],
};

function describe(route: Route, schemas: Schemas): Operation {
  const surfaces = route.surfaces as readonly Surface[];
  const recorded = EXAMPLES[route.operationId];
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: route.description ?? `${route.summary}.`,
    security: surfaces.flatMap((surface) => SECURITY[surface]),
    ...parametersOf(route, schemas),
    ...(route.body && {
      requestBody: {
        required: true,
        content: {
          "application/json": { schema: schemas.of(route.body, "input"), ...exampleOf(recorded?.request) },
        },
      },
    }),
    responses: {
      ...successOf(route, schemas, recorded?.response),
      ...(isConditional(route) && { 304: { $ref: "#/components/responses/NotModified" } }),
      ...refusalsOf(codesOf(route, surfaces)),
    },
  };
}

const exampleOf = (example: unknown): Json => (example === undefined ? {} : { example });
const isConditional = (route: Route): boolean => route.headers?.includes("if-none-match") === true;
const isList = (route: Route): boolean => route.query !== undefined && "cursor" in route.query.shape;

function successOf(route: Route, schemas: Schemas, example: unknown): Record<string, Json> {
  const types = route.response.types ?? ["application/json"];
  const names = [
    "Request-Id",
    "RateLimit",
    "RateLimit-Policy",
    ...(route.idempotency ? ["Idempotent-Replayed"] : []),
    ...(isConditional(route) ? ["ETag"] : []),
    ...(isList(route) ? ["Link"] : []),
  ];
  const content = Object.fromEntries(
    types.map((type) => [
      type,
      type.endsWith("json")
        ? { schema: schemas.of(route.response.schema, "output"), ...exampleOf(example) }
        : { schema: reference("Jws"), ...exampleOf(EXAMPLES[route.operationId]?.texts?.[type]) },
    ]),
  );
  const headers = Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
  const { description } = route.response;
  return { [route.status]: { description, headers, ...(route.status !== 204 && { content }) } };
}

function codesOf(route: Route, surfaces: readonly Surface[]): ReadonlySet<ErrorCode> {
  return new Set<ErrorCode>([
    ...route.errors,
    ...surfaces.flatMap((surface) => ALWAYS[surface]),
    ...(route.withoutCredential ? [route.withoutCredential] : []),
    // An unknown query parameter is a fault everywhere, and so is a body where none is taken.
    "validation_failed",
    ...(route.method === "get" ? [] : (["invalid_request", "payload_too_large"] as const)),
    ...(route.idempotency ? (["idempotency_key_processing", "idempotency_key_reused"] as const) : []),
    "rate_limited",
    "internal_error",
  ]);
}

/** A reference to the shared answer of each status, which names the codes that this operation gives under it. */
function refusalsOf(codes: ReadonlySet<ErrorCode>): Record<string, Json> {
  const byStatus = Map.groupBy(codes, (code) => ERRORS[code].status);
  return Object.fromEntries(
    [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, named]) => [
        status,
        {
          $ref: `#/components/responses/${RESPONSE_NAMES[status]}`,
          description: named.map((code) => `\`${code}\`: ${ERRORS[code].message}`).join("\n\n"),
        },
      ]),
  );
}

function errorResponses(schemas: Schemas): Record<string, Json> {
  const envelope = schemas.of(errorSchema, "output");
  const asProblem = schemas.of(problem, "output");
  const entries = Object.entries(RESPONSE_NAMES).map(([status, name]) => {
    const code = (Object.keys(ERRORS) as ErrorCode[]).find((one) => String(ERRORS[one].status) === status);
    const headers = [
      "Request-Id",
      ...(status === "401" ? ["WWW-Authenticate"] : []),
      ...(["409", "429", "503"].includes(status) ? ["Retry-After"] : []),
      ...(status === "405" ? ["Allow"] : []),
    ];
    return [
      name,
      {
        description: `Refused with status ${status}. \`code\` says why.`,
        headers: Object.fromEntries(headers.map((header) => [header, { $ref: `#/components/headers/${header}` }])),
        content: {
          "application/json": { schema: envelope, ...(code && exampleOf(errorExample(code))) },
          "application/problem+json": { schema: asProblem, ...(code && exampleOf(problemExample(code))) },
        },
      },
    ];
  });
  const NotModified = {
    description: "The content is still what `If-None-Match` names.",
    headers: { ETag: { $ref: "#/components/headers/ETag" } },
  };
  return { ...Object.fromEntries(entries), NotModified };
}

const REQUEST_ID = "req_01JD3S2Q4N7W8X9Y0Z1A2B3C4D";
const faultsOf = (code: ErrorCode) =>
  code === "validation_failed"
    ? { field_errors: [{ field: "country", code: "invalid_format", message: "Must be two capital letters." }] }
    : {};

function errorExample(code: ErrorCode): Json {
  const { status, message } = ERRORS[code];
  return { code, message, status, request_id: REQUEST_ID, error: code, ...faultsOf(code) };
}

function problemExample(code: ErrorCode): Json {
  const { status, message } = ERRORS[code];
  const own = { code, request_id: REQUEST_ID, ...faultsOf(code) };
  return {
    type: `https://issuer.example/docs#${code}`,
    title: code,
    status,
    detail: message,
    instance: REQUEST_ID,
    ...own,
  };
}

// ---- Parameters ----------------------------------------------------------------------------------------------------------

type Parameter = { readonly name: string; readonly in: "path" | "query" | "header" } & Json;

function parametersOf(route: Route, schemas: Schemas): { parameters?: readonly Json[] } {
  const own = [
    ...declared(route.params, "path", schemas),
    ...declared(route.query, "query", schemas),
    ...(route.idempotency ? [PARAMETERS.IdempotencyKey] : []),
    ...(isConditional(route) ? [PARAMETERS.IfNoneMatch] : []),
  ];
  const parameters = own.map((parameter) => {
    const name = sharedName(parameter);
    return name === null ? parameter : { $ref: `#/components/parameters/${name}` };
  });
  return parameters.length === 0 ? {} : { parameters };
}

function declared(object: z.ZodObject | undefined, where: "path" | "query", schemas: Schemas): Parameter[] {
  if (!object) return [];
  return Object.entries(object.shape).map(([name, schema]) => {
    const required = where === "path" || !z.safeParse(schema, undefined).success;
    const { description: _own, ...shape } = schemas.of(unwrap(schema as z.ZodType), "input");
    const description = FIELDS[`${where}.${name}`] ?? FIELDS[name];
    const fallback = z.safeParse(schema, undefined).data;
    return {
      name,
      in: where,
      required,
      ...(description !== undefined && { description }),
      schema: { ...shape, ...(fallback !== undefined && { default: fallback }) },
    };
  });
}

/** The schema of a value that is there. */
function unwrap(schema: z.ZodType): z.ZodType {
  const { def } = schema._zod;
  return (def.type === "optional" || def.type === "default") && "innerType" in def
    ? unwrap(def.innerType as z.ZodType)
    : schema;
}

/** Parameters that are the same wherever they occur. */
const SHARED: Readonly<Record<string, string>> = {
  "path did": "Did",
  "query limit": "Limit",
  "query cursor": "Cursor",
  "header Idempotency-Key": "IdempotencyKey",
  "header If-None-Match": "IfNoneMatch",
};
const sharedName = (parameter: Parameter): string | null => SHARED[`${parameter.in} ${parameter.name}`] ?? null;

function sharedParameters(routes: readonly Route[], schemas: Schemas): Record<string, Json> {
  const all = routes.flatMap((route) => [
    ...declared(route.params, "path", schemas),
    ...declared(route.query, "query", schemas),
    ...(route.idempotency ? [PARAMETERS.IdempotencyKey] : []),
    ...(isConditional(route) ? [PARAMETERS.IfNoneMatch] : []),
  ]);
  const shared = all.flatMap((parameter) => {
    const name = sharedName(parameter);
    return name === null ? [] : [[name, parameter] as const];
  });
  return Object.fromEntries(shared);
}
