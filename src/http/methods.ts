// The methods and the CORS rule of every path, from the routes and from the few other paths (HTTP-20, HTTP-21, HTTP-25).
import { memoizeBy } from "../core/memo.ts";
import { DOCS_ASSETS } from "./docs.ts";
import { PAGE_FILES } from "./page-files.ts";
import type { Route } from "./route.ts";

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

/** True when any origin may read the answer. */
export const isOpenToAnyOrigin = (routes: readonly Route[], method: string, path: string): boolean =>
  toPathRules(routes).some((rule) => rule.cors && rule.pattern.test(path) && rule.methods.includes(method));

/** Answers a browser's preflight for paths that any origin may use; null for other paths. */
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
