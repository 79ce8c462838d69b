// Which keys of the CA are still needed, and what is wrong with a secret that names others (IDN-29, IDN-38). Pure, for the service and for the check
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
export type NamedKey = { readonly kid: string; readonly use: "signing" | "published" | "revoked" };

/** The signing key is noted each hour. */
export const NOTED_EVERY_MS = HOUR_MS;
/** It may have signed for so long after it was noted last: in isolates that still had the secret before, and where a note came late. */
const UNNOTED_MS = 2 * NOTED_EVERY_MS;

/** From when on nothing that ends is left of a key: its certificates live twelve months at most. Null of one that never signed. */
export const droppableFrom = ({ signedUntil }: SeenKey): number | null =>
  signedUntil === null ? null : addMonths(signedUntil + UNNOTED_MS, CERTIFICATE_MONTHS);

/** From when on a key may sign: readers keep the published keys for up to a day. */
export const usableFrom = ({ publishedAt }: SeenKey): number => publishedAt + AUTHORITY_NOTICE_MS;

export type KeyFault = { readonly kid: string; readonly message: string };

/**
 * What has been seen, with what the present secret says: the notes are up to an hour older. Its signing key signs now, and a key of this
 * minute may not be noted yet.
 */
export function seenWith(named: readonly NamedKey[], seen: readonly SeenKey[], now: number): SeenKey[] {
  const unseen = named
    .filter(({ kid, use }) => use !== "revoked" && seen.every((key) => key.kid !== kid))
    .map(({ kid }): SeenKey => ({ kid, publishedAt: now, signsFrom: null, signedUntil: null }));
  const signs = ({ kid }: SeenKey) => named.some((key) => key.kid === kid && key.use === "signing");
  return [...unseen, ...seen].map((key) =>
    signs(key) ? { ...key, signsFrom: key.signsFrom ?? now, signedUntil: now } : key,
  );
}

/** The key that signed last, of others than the given one. */
export function lastSigner(seen: readonly SeenKey[], kid: string): SeenKey | undefined {
  const others = seen.filter((key) => key.kid !== kid && key.signedUntil !== null);
  return others.toSorted((a, b) => (b.signedUntil ?? 0) - (a.signedUntil ?? 0))[0];
}

/**
 * What is wrong with the keys of a secret, beside what has been seen. The first key of a service may sign at once, and so may one that takes
 * over from a revoked one.
 */
export function faultsOfKeys(named: readonly NamedKey[], seen: readonly SeenKey[], now: number): KeyFault[] {
  const missing = seen
    .filter(({ kid }) => named.every((key) => key.kid !== kid))
    .flatMap((key) => {
      const until = droppableFrom(key);
      if (until === null || until <= now) return [];
      return [{ kid: key.kid, message: `missing: certificates under it may end as late as ${toIso(until)}.` }];
    });
  const begins = named.filter(({ use }) => use === "signing").flatMap(({ kid }) => tooEarly(kid, named, seen, now));
  return [...missing, ...begins];
}

function tooEarly(kid: string, named: readonly NamedKey[], seen: readonly SeenKey[], now: number): KeyFault[] {
  const own = seen.find((key) => key.kid === kid);
  const begins = own?.signsFrom ?? now;
  const before = lastSigner(
    seen.filter(({ signsFrom }) => signsFrom !== null && signsFrom < begins),
    kid,
  );
  if (!before || named.some((key) => key.kid === before.kid && key.use === "revoked")) return [];
  if (!own) return [{ kid, message: "signs, but was never published: publish a key a day before it signs." }];
  const from = usableFrom(own);
  return from <= now ? [] : [{ kid, message: `signs too early: readers may not know it before ${toIso(from)}.` }];
}
