// The types that a client accepts (RFC 9110, 12.5.1).
import { parseAccept } from "hono/utils/accept";

/** The client's weight of a type, by the most specific range that covers it. Without the header all types weigh the same. */
export function parseAcceptWeights(accept: string | undefined): (type: string) => number {
  const ranges = parseAccept(accept ?? "*/*");
  return (type) => {
    const covering = [type, `${type.split("/")[0]}/*`, "*/*"];
    return covering.map((name) => ranges.find((range) => range.type.toLowerCase() === name)).find(Boolean)?.q ?? 0;
  };
}

/** True when the client accepts the type by its own name; a wildcard names no type. */
export const acceptsByName = (accept: string | undefined, type: string): boolean =>
  parseAccept(accept ?? "").some((range) => range.type.toLowerCase() === type && range.q > 0);

/** A representation that a route offers. A profile is part of a type's name: `application/ld+json` alone does not name an offer with a profile. */
export type Offer = { readonly type: string; readonly profile?: string };

/** By weight, then an offer that is named before one that a wildcard covers, then in the order of the offers. Undefined when none is accepted. */
export function choosePreferred<O extends Offer>(accept: string | undefined, offers: readonly O[]): O | undefined {
  const ranges = parseAccept(accept ?? "*/*").map(({ type, params, q }) => ({
    type: type.toLowerCase(),
    profile: params["profile"],
    q,
  }));
  const judged = offers.map((offer) => {
    const named = ranges.find(({ type, profile }) => type === offer.type && profile === offer.profile);
    const wild = [`${offer.type.split("/")[0]}/*`, "*/*"];
    const covering = wild.map((type) => ranges.find((range) => range.type === type)).find(Boolean);
    return { offer, weight: (named ?? covering)?.q ?? 0, named: named === undefined ? 0 : 1 };
  });
  return judged
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => other.weight - one.weight || other.named - one.named)[0]?.offer;
}
