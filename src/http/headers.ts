// The headers of every answer (HTTP-23, HTTP-30), of deprecated routes (HTTP-38) and of CORS (HTTP-25), and the methods of every path.
import { toIso } from "../core/clock.ts";
import { SECOND_MS } from "../core/limits.ts";
import { memoizeBy } from "../core/retry.ts";
import { type AppContext, findDeps } from "./app-env.ts";
import { DOCS_ASSETS } from "./openapi.ts";
import { PAGE_FILES } from "./page-files.ts";
import { toRateHeaders } from "./rate-limit.ts";
import type { Deprecation, Route } from "./route.ts";

const EXPOSED = ["ETag", "Request-Id", "RateLimit", "RateLimit-Policy", "Retry-After", "Link"];

export function setCommonHeaders(context: AppContext, routes: readonly Route[]): void {
  const { headers } = context.res;
  headers.set("Request-Id", context.get("requestId"));
  headers.set("X-Content-Type-Options", "nosniff");
  headers.set("Strict-Transport-Security", "max-age=31536000; includeSubDomains");
  // Without an ISSUER, an answer may contain the request's Host, so it must not be cached for other hosts.
  if (!headers.has("Cache-Control") || !context.env.ISSUER) headers.set("Cache-Control", "no-store");
  const rate = context.get("rate");
  if (rate) for (const [name, value] of Object.entries(toRateHeaders(rate))) headers.set(name, value);
  const deprecation = context.get("deprecation") ?? {};
  // Appends, to keep a list's own link to its next page.
  for (const [name, value] of Object.entries(deprecation)) headers.append(name, value);
  const offset = context.get("sandboxOffset") ?? 0;
  if (offset > 0 && !headers.has("Service-Clock"))
    headers.set("Service-Clock", toIso(findDeps(context).clock.now() + offset));
  if (isOpenToAnyOrigin(routes, context.req.method, context.req.path)) {
    headers.set("Access-Control-Allow-Origin", "*");
    headers.set("Access-Control-Expose-Headers", [...new Set([...EXPOSED, ...Object.keys(deprecation)])].join(", "));
  }
}

// ---- Deprecation (HTTP-38) -----------------------------------------------------------------------------------------------

/** Dates of RFC 9651 and RFC 9110, as RFC 9745 and RFC 8594 ask. Runs when the route is bound, so that a wrong declaration fails at the start. */
export function buildDeprecationHeaders({ since, sunset, link }: Deprecation): Record<string, string> {
  const begins = parseInstant(since);
  if (sunset !== undefined && parseInstant(sunset) < begins) throw new Error(`the sunset ${sunset} is before ${since}`);
  if (link !== undefined && /[<>\s]/.test(link)) throw new Error(`the link ${link} is not a URL`);
  return {
    Deprecation: `@${Math.floor(begins / SECOND_MS)}`,
    ...(sunset !== undefined && { Sunset: new Date(sunset).toUTCString() }),
    ...(link !== undefined && { Link: `<${link}>; rel="deprecation"` }),
  };
}

function parseInstant(text: string): number {
  const instant = /^\d{4}-\d{2}-\d{2}(T[\d:.]+Z)?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(instant)) throw new Error(`${text} is not an instant`);
  return instant;
}

// ---- Methods and CORS (HTTP-20, HTTP-21, HTTP-25) ------------------------------------------------------------------------

type PathRule = { readonly pattern: RegExp; readonly methods: readonly string[]; readonly cors: boolean };

const DOCS = ["/docs", "/docs/", "/docs/start.js", ...[...DOCS_ASSETS].map((asset) => `/docs/${asset}`)];
const FILES = PAGE_FILES.map(({ path }) => path);
const NON_ROUTE_RULES: readonly PathRule[] = ["/", "/openapi.json", "/healthz", ...DOCS, ...FILES].map((path) => ({
  pattern: new RegExp(`^${path.replaceAll(".", "\\.")}$`),
  methods: ["GET", "HEAD"],
  cors: path === "/openapi.json" || path === "/healthz",
}));

const toPathRules = memoizeBy((routes: readonly Route[]): readonly PathRule[] => [
  ...NON_ROUTE_RULES,
  ...routes.map(({ path, method, cors, effects, rest }) => ({
    pattern: new RegExp(
      `^${path.replace(/[.]/g, "\\.").replace(/\{(\w+)\}/g, (_, name: string) => (rest ? ".*" : toParameterPattern(name)))}$`,
    ),
    methods: method === "get" && !effects ? ["GET", "HEAD"] : [method.toUpperCase()],
    cors: cors === true,
  })),
]);

/** Ids that the service generates have a prefix, so any other word in their place is an unknown path. Verifiers choose attestation ids freely. */
function toParameterPattern(parameter: string): string {
  if (parameter === "did") return "did(?::|%3[Aa])[^/]+";
  return parameter.endsWith("_id") && parameter !== "attestation_id" ? "[a-z]{3}_[^/]+" : "[^/]+";
}

export const findMethods = (routes: readonly Route[], path: string): string[] => [
  ...new Set(
    toPathRules(routes)
      .filter((rule) => rule.pattern.test(path))
      .flatMap((rule) => rule.methods),
  ),
];

const isOpenToAnyOrigin = (routes: readonly Route[], method: string, path: string): boolean =>
  toPathRules(routes).some((rule) => rule.cors && rule.pattern.test(path) && rule.methods.includes(method));

export function answerPreflight(
  routes: readonly Route[],
  method: string,
  path: string,
  allowed: readonly string[],
): Response | null {
  const open = allowed.filter((one) => isOpenToAnyOrigin(routes, one, path));
  if (method !== "OPTIONS" || open.length === 0) return null;
  return new Response(null, {
    status: 204,
    headers: {
      Allow: allowed.join(", "),
      "Access-Control-Allow-Methods": open.join(", "),
      "Access-Control-Allow-Headers": "Accept, Content-Type, If-None-Match",
      "Access-Control-Allow-Origin": "*",
    },
  });
}
