// Which keys of the CA are still needed, and what is wrong with a secret that names others (IDN-29). Pure, for the service and for the check
// of a secret before it is set.
import { addMonths, toIso } from "../core/clock.ts";
import { AUTHORITY_NOTICE_MS, CERTIFICATE_MONTHS, HOUR_MS } from "../core/limits.ts";

/** A key as it has been seen, in epoch milliseconds of real time. */
export type SeenKey = {
  readonly kid: string;
  readonly publishedAt: number;
  readonly signsFrom: number | null;
  readonly signedUntil: number | null;
};
/** A key of a secret. */
export type NamedKey = { readonly kid: string; readonly use: "signing" | "published" };

/** The signing key is noted each hour. */
export const NOTED_EVERY_MS = HOUR_MS;
/** It may have signed for so long after it was noted last: until the next note, and a little in isolates that still had the secret before. */
const UNNOTED_MS = 2 * NOTED_EVERY_MS;

/** From when on nothing that ends is left of a key: its certificates live twelve months at most. Null of one that never signed. */
export const droppableFrom = ({ signedUntil }: SeenKey): number | null =>
  signedUntil === null ? null : addMonths(signedUntil + UNNOTED_MS, CERTIFICATE_MONTHS);

/** From when on a key may sign: readers keep the published keys for up to a day. */
export const usableFrom = ({ publishedAt }: SeenKey): number => publishedAt + AUTHORITY_NOTICE_MS;

export type KeyFault = { readonly kid: string; readonly message: string };

/** What is wrong with the keys of a secret, beside what has been seen; the first key of a service may sign at once. */
export function faultsOfKeys(named: readonly NamedKey[], seen: readonly SeenKey[], now: number): KeyFault[] {
  const missing = seen
    .filter(({ kid }) => named.every((key) => key.kid !== kid))
    .flatMap((key) => {
      const until = droppableFrom(key);
      if (until === null || until <= now) return [];
      return [{ kid: key.kid, message: `missing: certificates under it may end as late as ${toIso(until)}.` }];
    });
  const begins = named.filter(({ use }) => use === "signing").flatMap(({ kid }) => tooEarly(kid, seen, now));
  return [...missing, ...begins];
}

function tooEarly(kid: string, seen: readonly SeenKey[], now: number): KeyFault[] {
  const own = seen.find((key) => key.kid === kid);
  const others = seen.some((key) => key.kid !== kid && key.signsFrom !== null);
  if (!others || (own && own.signsFrom !== null)) return [];
  if (!own) return [{ kid, message: "signs, but was never published: publish a key a day before it signs." }];
  const from = usableFrom(own);
  return from <= now ? [] : [{ kid, message: `signs too early: readers may not know it before ${toIso(from)}.` }];
}
