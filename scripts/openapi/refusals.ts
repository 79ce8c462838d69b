// The refusals of an OpenAPI document: one shared answer for each status, and the codes of each operation.
import type { Surface } from "../../src/call.ts";
import { ERRORS, type ErrorCode, type ErrorStatus } from "../../src/core/errors.ts";
import type { Route } from "../../src/http/route.ts";
import { errorSchema } from "../../src/http/schemas.ts";
import { problem, RESPONSE_NAMES } from "./parts.ts";
import type { Schemas } from "./schemas.ts";
import type { Json } from "./types.ts";

/** The codes that a surface can always answer with. */
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
    // A session in production, before the account has it.
    ...(takesSessions(surfaces) && !route.unpromoted ? (["not_accredited", "production_locked"] as const) : []),
    ...(route.withoutCredential ? [route.withoutCredential] : []),
    // An unknown query parameter is a fault everywhere, and so is a body where none is taken.
    "validation_failed",
    ...(route.method === "get" ? [] : (["invalid_request", "service_busy"] as const)),
    // A form that is too large is refused for its file.
    ...(route.method === "get" || route.multipart ? [] : (["payload_too_large"] as const)),
    ...(route.idempotency ? (["idempotency_key_processing", "idempotency_key_reused"] as const) : []),
    "rate_limited",
    "internal_error",
  ]);
}

/** What each status of an operation says: the codes that it gives under it. */
export const saidBy = (route: Route): readonly (readonly [ErrorStatus, string])[] =>
  [...Map.groupBy(codesOf(route), (code) => ERRORS[code].status)]
    .sort(([a], [b]) => a - b)
    .map(([status, codes]) => [status, codes.map((code) => `\`${code}\`: ${ERRORS[code].message}`).join("\n\n")]);

/** The named answers by what they say, for each status: the one of most operations, and others that several give. */
export type Usual = ReadonlyMap<ErrorStatus, ReadonlyMap<string, string>>;

/** An answer that so many operations give is named. */
const NAMED_FROM = 3;

export function usualRefusals(routes: readonly Route[]): Usual {
  const said = Map.groupBy(routes.flatMap(saidBy), ([status]) => status);
  const taken = new Set<string>(Object.values(RESPONSE_NAMES));
  return new Map(
    [...said].map(([status, each]) => [
      status,
      namesOf(
        status,
        each.map(([, text]) => text),
        taken,
      ),
    ]),
  );
}

function namesOf(status: ErrorStatus, texts: readonly string[], taken: Set<string>): ReadonlyMap<string, string> {
  const counts = [...Map.groupBy(texts, (text) => text)].map(([text, same]) => ({ text, count: same.length }));
  const [most, ...others] = counts.sort((a, b) => b.count - a.count);
  const names = new Map<string, string>();
  if (most) names.set(most.text, RESPONSE_NAMES[status] ?? "");
  for (const { text, count } of others) {
    if (count >= NAMED_FROM) names.set(text, nameOf(text, most?.text ?? "", taken));
  }
  return names;
}

/** By the first of its codes that the most usual answer does not have; numbered where others are named so. */
function nameOf(text: string, usual: string, taken: Set<string>): string {
  const [first = "", ...further] = codesIn(text);
  const code = [first, ...further].find((one) => !codesIn(usual).includes(one)) ?? first;
  const name = code.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  let numbered = name;
  for (let n = 2; taken.has(numbered); n++) numbered = `${name}${n}`;
  taken.add(numbered);
  return numbered;
}

const codesIn = (text: string): string[] => [...text.matchAll(/^`(\w+)`:/gm)].map(([, code]) => code ?? "");

/** A reference to the shared answer of each status. It names the codes of this operation where no named answer has the same. */
export const refusalsOf = (route: Route, usual: Usual): Record<string, Json> =>
  Object.fromEntries(
    saidBy(route).map(([status, description]) => {
      const named = usual.get(status)?.get(description);
      const $ref = `#/components/responses/${named ?? RESPONSE_NAMES[status]}`;
      return [status, named === undefined ? { $ref, description } : { $ref }];
    }),
  );

/** The shared answer of each status, with one of its codes as example, and those that differ from it in their codes. */
export function sharedRefusals(routes: readonly Route[], schemas: Schemas, usual: Usual): Record<string, Json> {
  const given = new Set(routes.flatMap((route) => [...codesOf(route)]));
  const shown = Map.groupBy(
    (Object.keys(ERRORS) as ErrorCode[]).filter((code) => given.has(code)),
    (code) => ERRORS[code].status,
  );
  return Object.fromEntries(
    [...shown].flatMap(([status, [code]]): [string, Json][] => {
      if (code === undefined) return [];
      const [most, ...others] = [...(usual.get(status) ?? [])];
      const $ref = `#/components/responses/${RESPONSE_NAMES[status]}`;
      return [
        [RESPONSE_NAMES[status] ?? "", sharedRefusal(status, code, most?.[0] ?? "", schemas)],
        ...others.map(([description, name]): [string, Json] => [name, { $ref, description }]),
      ];
    }),
  );
}

function sharedRefusal(status: ErrorStatus, code: ErrorCode, description: string, schemas: Schemas): Json {
  const headers = ["Request-Id", ...(HEADERS_OF[status] ?? [])];
  return {
    description,
    headers: Object.fromEntries(headers.map((header) => [header, { $ref: `#/components/headers/${header}` }])),
    content: {
      "application/json": { schema: schemas.of(errorSchema, "output"), example: errorExample(code) },
      "application/problem+json": { schema: schemas.of(problem, "output"), example: problemExample(code) },
    },
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
