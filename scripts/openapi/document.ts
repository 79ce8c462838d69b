// Prints an OpenAPI 3.1 document from routes: their zod schemas, the descriptions of fields.ts, and the recorded examples of examples.json
// (HTTP-31). The Worker contains only the printed document.
import { OpenAPIHono, type RouteConfig } from "@hono/zod-openapi";
import type { Surface } from "../../src/call.ts";
import { MEDIA_TYPES } from "../../src/core/vocabulary.ts";
import type { Route } from "../../src/http/route.ts";
import { webhooksOf } from "./events.ts";
import { EXAMPLES } from "./examples.ts";
import { isConditional, Parameters as RouteParameters } from "./parameters.ts";
import { HEADERS, INFO, SECURITY_SCHEMES, TAGS, WEBHOOK_PARAMETERS } from "./parts.ts";
import { envelopes, fieldCodes, refusalsOf, saidBy, sharedRefusals, type Usual, usualRefusals } from "./refusals.ts";
import { findResponse } from "./responses.ts";
import { reference, Schemas } from "./schemas.ts";
import { Sentences } from "./sentences.ts";
import { shareExamples } from "./share-examples.ts";
import { shortened } from "./shorten.ts";
import type { Document, Json } from "./types.ts";

/** `serverUrl` is the issuer, regardless of the Host that a request names. */
export function buildDocument(routes: readonly Route[], serverUrl: string, sentences = new Sentences()): Document {
  const app = new OpenAPIHono();
  const registry = app.openAPIRegistry;
  const schemas = new Schemas(sentences);
  const parameters = new RouteParameters(schemas, sentences);
  const usual = usualRefusals(routes);
  for (const route of routes) registry.registerPath(describe(route, schemas, parameters, sentences, usual));
  const tags = new Set(routes.map(({ operationId }) => sentences.ofTitle(operationId).tag));
  const isTold = tags.has("Webhooks");
  if (isTold)
    for (const webhook of webhooksOf((schema) => schemas.of(schema, "output"))) registry.registerWebhook(webhook);
  const add = (kind: ComponentKind, components: Record<string, Json>) => {
    for (const [name, component] of Object.entries(components)) registry.registerComponent(kind, name, component);
  };
  add("responses", {
    ...sharedRefusals(routes, schemas, usual),
    ...(routes.some(isConditional) && { NotModified }),
    ...Object.assign({}, ...routes.map((route) => namedOutcomes(route, schemas))),
  });
  add("parameters", { ...parameters.shared(routes), ...(isTold && WEBHOOK_PARAMETERS) });
  add("schemas", withFieldCodes(schemas.named(), fieldCodes(routes)));
  const schemes = new Set(routes.flatMap(securityOf).flatMap((one) => Object.keys(one)));
  add("securitySchemes", Object.fromEntries(Object.entries(SECURITY_SCHEMES).filter(([name]) => schemes.has(name))));
  const shownTags = TAGS.filter(({ name }) => tags.has(name));
  const servers = [{ url: serverUrl, description: "The service." }];
  const head = { openapi: "3.1.0", info: INFO, servers, security: [], tags: shownTags };
  const { paths, webhooks, components } = app.getOpenAPI31Document(head) as unknown as Document;
  const examples = shareExamples({ paths });
  const headers = namedIn([paths, webhooks, components], "headers", HEADERS);
  const { schemas: printed, securitySchemes, ...rest } = components;
  const shown = {
    schemas: printed,
    ...rest,
    ...(Object.keys(examples).length > 0 && { examples }),
    headers,
    securitySchemes,
  };
  return { ...head, paths, ...(isTold && { webhooks }), components: shown } as Document;
}
type ComponentKind = Parameters<OpenAPIHono["openAPIRegistry"]["registerComponent"]>[0];

/** Adds the message of each code to the description of `FieldError.code`. */
function withFieldCodes(schemas: Record<string, Json>, codes: string): Record<string, Json> {
  const { FieldError } = schemas as Record<string, { properties: Record<string, Json> }>;
  if (!FieldError) return schemas;
  const { code } = FieldError.properties;
  const said = { ...code, description: `${code?.["description"]}\n\n${codes}` };
  return { ...schemas, FieldError: { ...FieldError, properties: { ...FieldError.properties, code: said } } };
}

/** Returns the components of a kind that are referenced. */
function namedIn(where: unknown, kind: string, components: Record<string, Json>): Record<string, Json> {
  const text = JSON.stringify(where);
  return Object.fromEntries(
    Object.entries(components).filter(([name]) => text.includes(`"#/components/${kind}/${name}"`)),
  );
}

const SECURITY: Readonly<Record<Surface, readonly Record<string, string[]>[]>> = {
  management: [{ ManagementKey: [] }, { Session: [] }, { SessionCookie: [] }],
  session: [{ Session: [] }, { SessionCookie: [] }],
  agent: [{ AgentCertificate: [], AgentProof: [], AgentTimestamp: [] }],
  verifier: [{ VerifierCredential: [] }],
  operator: [{ OperatorKey: [] }, { OperatorAccess: [] }],
  public: [],
};
const securityOf = (route: Route): Record<string, string[]>[] =>
  (route.surfaces as readonly Surface[]).flatMap((surface) => SECURITY[surface]);

const NotModified = {
  description: "The content still has the version that `If-None-Match` names.",
  headers: { ETag: { $ref: "#/components/headers/ETag" } },
};

function describe(
  route: Route,
  schemas: Schemas,
  parameters: RouteParameters,
  sentences: Sentences,
  usual: Usual,
): RouteConfig {
  const recorded = EXAMPLES[route.operationId];
  const { tag, summary } = sentences.ofTitle(route.operationId);
  return {
    method: route.method,
    path: route.path,
    operationId: route.operationId,
    tags: [tag],
    summary,
    description: descriptionOf(route, sentences),
    ...(route.deprecated && { deprecated: true }),
    security: securityOf(route),
    ...parameters.of(route),
    ...(route.body && {
      request: {
        body: {
          required: route.optionalBody !== true,
          content: {
            [route.multipart ? "multipart/form-data" : "application/json"]: {
              schema: schemas.of(route.body, "input"),
              ...exampleOf(recorded?.request),
            },
          },
        },
      },
    }),
    responses: {
      ...successOf(route, schemas, sentences),
      ...(isConditional(route) && { 304: { $ref: "#/components/responses/NotModified" } }),
      ...refusalsOf(route, usual),
      ...outcomesOf(route),
    },
  };
}

/** Ends with the deprecation that the headers state, for readers who do not call the operation. */
function descriptionOf({ operationId, deprecated }: Route, sentences: Sentences): string {
  const description = sentences.ofOperation(operationId) ?? `${sentences.ofTitle(operationId).summary}.`;
  if (!deprecated) return description;
  const { since, sunset, link } = deprecated;
  const end = sunset === undefined ? "" : `, ends on ${sunset}`;
  return `${description} Deprecated since ${since}${end}${link === undefined ? "" : `; see ${link}`}.`;
}

const exampleOf = (example: unknown): Json => (example === undefined ? {} : { example: shortened(example) });

/** Returns the names of the headers of a successful answer. */
export const headersOf = (route: Route): readonly string[] => [
  "Request-Id",
  "RateLimit",
  "RateLimit-Policy",
  ...(route.surfaces.some(hasSandbox) ? ["Service-Clock"] : []),
  ...(route.idempotency ? ["Idempotent-Replayed"] : []),
  ...(isConditional(route) ? ["ETag"] : []),
  ...(route.deprecated ? ["Deprecation"] : []),
  ...(route.deprecated?.sunset === undefined ? [] : ["Sunset"]),
  ...(isList(route) || route.deprecated?.link !== undefined ? ["Link"] : []),
];

/** Headers that only some answers have: those from a moved sandbox, replays, and pages before the last. */
export const NOT_ALWAYS: ReadonlySet<string> = new Set(["Service-Clock", "Idempotent-Replayed", "Link"]);

const SANDBOXED: ReadonlySet<Surface> = new Set(["management", "session", "agent"]);
const hasSandbox = (surface: Surface): boolean => SANDBOXED.has(surface);

/** Schemas of text types other than a JWS. */
const TEXTS: Readonly<Record<string, Json>> = { "text/csv": { type: "string" } };
/** Media types of files, which have no schema. */
const FILES: ReadonlySet<string> = new Set(MEDIA_TYPES);
export const isFile = (type: string): boolean => FILES.has(type);

const isList = (route: Route): boolean => route.query !== undefined && "cursor" in route.query.shape;

function successOf(route: Route, schemas: Schemas, sentences: Sentences): Record<string, Json> {
  const description = sentences.ofAnswer(route.operationId) ?? `${sentences.ofTitle(route.operationId).summary}.`;
  const headers = Object.fromEntries(headersOf(route).map((name) => [name, { $ref: `#/components/headers/${name}` }]));
  if (route.status === 204) return { 204: { description, headers } };
  const { schema, types = ["application/json"], forms } = findResponse(route);
  const recorded = EXAMPLES[route.operationId];
  const content = Object.fromEntries(
    types.map((type) => [
      type,
      isFile(type)
        ? {}
        : {
            schema: type.endsWith("jwt")
              ? reference("Jws")
              : (TEXTS[type] ?? schemas.of(forms?.[type] ?? schema, "output")),
            ...exampleOf(
              recorded?.forms?.[type] ?? (type.endsWith("json") ? recorded?.response : recorded?.texts?.[type]),
            ),
          },
    ]),
  );
  return { [route.status]: { description, headers, content } };
}

// ---- Outcomes that a route declares -------------------------------------------------------------------------------------------

const outcomeName = ({ operationId }: Route, status: string): string =>
  `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}${status}`;

/** Outcomes use the schemas of the successful answer. A status that also has error codes may be an envelope too. */
function namedOutcomes(route: Route, schemas: Schemas): Record<string, Json> {
  const coded = new Map<number, string>(saidBy(route));
  const entries = Object.entries(route.outcomes ?? {}).map(([status, { description, types }]) => {
    const codes = coded.get(Number(status));
    const said = codes === undefined ? description : `${description}\n\n${codes}`;
    const { schema, forms } = findResponse(route);
    const own = types.map((type) => [type, schemas.of(forms?.[type] ?? schema, "output")] as const);
    const all = codes === undefined ? own : [...own, ...envelopes(schemas)];
    const content = Object.fromEntries(all.map(([type, shown]) => [type, { schema: shown }]));
    return [
      outcomeName(route, status),
      { description: said, headers: REQUEST_ID_HEADER, ...(all.length > 0 && { content }) },
    ];
  });
  return Object.fromEntries(entries);
}

const REQUEST_ID_HEADER = { "Request-Id": { $ref: "#/components/headers/Request-Id" } };

const outcomesOf = (route: Route): Record<string, Json> =>
  Object.fromEntries(
    Object.keys(route.outcomes ?? {}).map((status) => [
      status,
      { $ref: `#/components/responses/${outcomeName(route, status)}` },
    ]),
  );
