// The refusals of an OpenAPI document: a shared answer for each status, and the codes of each operation.
import type { Surface } from "../../src/call.ts";
import {
  ERRORS,
  type ErrorCode,
  type ErrorStatus,
  FIELD_ERRORS,
  type FieldErrorCode,
  isOwnFieldError,
  TOP_LEVEL_422,
  toFieldError,
} from "../../src/core/errors.ts";
import { errorSchema } from "../../src/http/response-parts.ts";
import type { Route } from "../../src/http/route.ts";
import { problem, RESPONSE_NAMES } from "./parts.ts";
import type { Schemas } from "./schemas.ts";
import type { Json } from "./types.ts";

/** Codes that every route of a surface can return. */
const ALWAYS: Readonly<Record<Surface, readonly ErrorCode[]>> = {
  management: ["invalid_credentials", "account_suspended"],
  session: ["invalid_credentials", "account_suspended"],
  agent: ["certificate_required", "aeap_verification_failed", "account_suspended", "agent_not_active"],
  verifier: ["invalid_credentials"],
  operator: ["invalid_credentials"],
  public: [],
};

const takesSessions = (surfaces: readonly Surface[]): boolean =>
  surfaces.includes("management") || surfaces.includes("session");

function codesOf(route: Route): ReadonlySet<ErrorCode> {
  const surfaces: readonly Surface[] = route.surfaces;
  return new Set<ErrorCode>([
    ...route.errors,
    ...surfaces.flatMap((surface) => ALWAYS[surface]),
    // A session can call in production before the account was promoted.
    ...(takesSessions(surfaces) && !route.unpromoted ? (["not_accredited", "production_locked"] as const) : []),
    ...(route.withoutCredential ? [route.withoutCredential] : []),
    // Every route refuses unknown query parameters, and a body if it takes none.
    ...(route.anyQuery ? [] : (["validation_failed"] as const)),
    ...(route.method === "get" ? [] : (["invalid_request"] as const)),
    ...(route.method === "get" || route.neverBusy ? [] : (["service_busy"] as const)),
    // Routes with a form refuse a large file with a code of their own.
    ...(route.method === "get" || route.multipart ? [] : (["payload_too_large"] as const)),
    ...(route.idempotency ? (["idempotency_key_processing", "idempotency_key_reused"] as const) : []),
    "rate_limited",
    "internal_error",
  ]);
}

/** Sorts codes as ERRORS does, so that equal sets of codes give equal text. */
const inOrder = (codes: readonly ErrorCode[]): ErrorCode[] =>
  (Object.keys(ERRORS) as ErrorCode[]).filter((code) => codes.includes(code));

/** Returns the description of each error status of an operation, which names the codes. */
export const saidBy = (route: Route): readonly (readonly [ErrorStatus, string])[] =>
  [...Map.groupBy(codesOf(route), (code) => ERRORS[code].status)]
    .sort(([a], [b]) => a - b)
    .map(([status, codes]) => [
      status,
      [...inOrder(codes).map(codeAndSentence), ...(status === 422 ? ownFieldCodes(route) : [])].join("\n\n"),
    ]);

const quoted = (name: string): string => `\`${name}\``;
const codeAndSentence = (code: FieldErrorCode): string => `${quoted(code)}: ${toFieldError("", code).message}`;

const ownFieldCodes = ({ fieldErrors = [] }: Route): string[] =>
  fieldErrors.length === 0 ? [] : [`Also inside \`field_errors\`: ${fieldErrors.map(quoted).join(", ")}.`];

/** Describes every code inside `field_errors`. A code that only some operations return is listed with them. */
export function fieldCodes(routes: readonly Route[]): string {
  const common = (Object.keys(FIELD_ERRORS) as FieldErrorCode[]).filter((code) => !isOwnFieldError(code));
  const declared = routes.map(({ operationId, errors, fieldErrors = [] }) => ({
    operationId,
    codes: [...errors, ...fieldErrors],
  }));
  const own = [...Object.keys(FIELD_ERRORS).filter(isOwnFieldError), ...TOP_LEVEL_422].flatMap((code) => {
    const given = declared.filter(({ codes }) => codes.includes(code)).map(({ operationId }) => quoted(operationId));
    return given.length === 0 ? [] : [`${codeAndSentence(code)} In ${given.join(", ")}.`];
  });
  return [...common.map(codeAndSentence), ...own].join("\n\n");
}

/** By status, the description that most operations share. */
export type Usual = ReadonlyMap<ErrorStatus, string>;

export const usualRefusals = (routes: readonly Route[]): Usual =>
  new Map(
    [...Map.groupBy(routes.flatMap(saidBy), ([status]) => status)].map(([status, each]) => {
      const counts = [...Map.groupBy(each, ([, description]) => description)];
      const [[most = ""] = []] = counts.sort(([, a], [, b]) => b.length - a.length);
      return [status, most];
    }),
  );

/**
 * Returns a reference to the shared answer of each status, with the codes of this operation if they differ from the shared ones. An answer
 * of its own would refer to the shared one in turn, and generators follow only one reference.
 */
export const refusalsOf = (route: Route, usual: Usual): Record<string, Json> =>
  Object.fromEntries(
    saidBy(route).map(([status, description]) => {
      const $ref = `#/components/responses/${RESPONSE_NAMES[status]}`;
      return [status, usual.get(status) === description ? { $ref } : { $ref, description }];
    }),
  );

/** Returns the shared answer of each status. Its example shows a code that all operations with this status can return, if there is one. */
export function sharedRefusals(routes: readonly Route[], schemas: Schemas, usual: Usual): Record<string, Json> {
  const codes = routes.map(codesOf);
  return Object.fromEntries(
    [...usual].map(([status, description]) => {
      const each = codes
        .map((given) => [...given].filter((code) => ERRORS[code].status === status))
        .filter(({ length }) => length > 0);
      const common = each[0]?.find((code) => each.every((given) => given.includes(code))) ?? null;
      return [RESPONSE_NAMES[status] ?? "", sharedRefusal(status, common, description, schemas)];
    }),
  );
}

/** Returns the two media types of every refusal with their schemas. */
export const envelopes = (schemas: Schemas): readonly (readonly [type: string, schema: Json])[] => [
  ["application/json", schemas.of(errorSchema, "output")],
  ["application/problem+json", schemas.of(problem, "output")],
];

function sharedRefusal(status: ErrorStatus, code: ErrorCode | null, description: string, schemas: Schemas): Json {
  const headers = ["Request-Id", ...(HEADERS_OF[status] ?? [])];
  const examples = code ? [{ example: errorExample(code) }, { example: problemExample(code) }] : [];
  return {
    description,
    headers: Object.fromEntries(headers.map((header) => [header, { $ref: `#/components/headers/${header}` }])),
    content: Object.fromEntries(
      envelopes(schemas).map(([type, schema], form) => [type, { schema, ...examples[form] }]),
    ),
  };
}

const HEADERS_OF: Partial<Record<ErrorStatus, readonly string[]>> = {
  401: ["WWW-Authenticate"],
  409: ["Retry-After"],
  429: ["Retry-After"],
  503: ["Retry-After"],
};

const REQUEST_ID = "req_01JD3S2Q4N7W8X9Y0Z1A2B3C4D";
const COUNTRY_FAULT = "Must be two capital letters of ISO 3166-1 alpha-2, such as DE.";
const faultsOf = (code: ErrorCode) =>
  code === "validation_failed"
    ? { field_errors: [{ field: "country", code: "invalid_format", message: COUNTRY_FAULT }] }
    : {};

function errorExample(code: ErrorCode): Json {
  const { status, message } = ERRORS[code];
  return { code, message, status, request_id: REQUEST_ID, error: code, ...faultsOf(code) };
}

function problemExample(code: ErrorCode): Json {
  const { status, message } = ERRORS[code];
  return {
    type: `https://issuer.example/docs#${code}`,
    title: code,
    status,
    detail: message,
    instance: REQUEST_ID,
    code,
    request_id: REQUEST_ID,
    ...faultsOf(code),
  };
}
