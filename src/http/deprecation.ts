// The headers of a deprecated route (HTTP-38): Deprecation as a date of RFC 9651, Sunset as an HTTP-date (RFC 9745, RFC 8594).
import { SECOND_MS } from "../core/limits.ts";
import type { Deprecation } from "./route.ts";

/** Runs when the route is bound, so a wrong declaration fails at the start instead of in a call. */
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

/** A date without a time begins at midnight UTC. */
function parseInstant(text: string): number {
  const instant = /^\d{4}-\d{2}-\d{2}(T[\d:.]+Z)?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(instant)) throw new Error(`${text} is not an instant`);
  return instant;
}
