// The headers of every answer: the request's id, security headers, the quota, the end of a deprecated route, and CORS (HTTP-23, HTTP-25, HTTP-30,
// HTTP-38).
import { toIso } from "../core/clock.ts";
import type { AppContext } from "./app-env.ts";
import { findDeps } from "./deps.ts";
import { isOpenToAnyOrigin } from "./methods.ts";
import { toRateHeaders } from "./rate-limit.ts";
import type { Route } from "./route.ts";

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
