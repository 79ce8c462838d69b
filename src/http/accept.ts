// The types that a client accepts (RFC 9110, 12.5.1).
import { parseAccept } from "hono/utils/accept";

/** The client's weight of a type, by the most specific range that covers it. Without the header every type is as good. */
export function acceptWeights(accept: string | undefined): (type: string) => number {
  const ranges = parseAccept(accept ?? "*/*");
  return (type) => {
    const covering = [type, `${type.split("/")[0]}/*`, "*/*"];
    return covering.map((name) => ranges.find((range) => range.type.toLowerCase() === name)).find(Boolean)?.q ?? 0;
  };
}

/** True when the client accepts the type by its own name; a wildcard names none. */
export const acceptsByName = (accept: string | undefined, type: string): boolean =>
  parseAccept(accept ?? "").some((range) => range.type.toLowerCase() === type && range.q > 0);
