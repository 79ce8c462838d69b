// Decides which keys of the CA are still needed, and finds the faults of a secret (IDN-29, IDN-38). Pure, for the service and for the check of a
// secret before it is set.
import { addMonths, toIso } from "../core/clock.ts";
import { AUTHORITY_NOTICE_MS, CERTIFICATE_MONTHS, HOUR_MS } from "../core/limits.ts";

/** A key as the service has seen it, in epoch milliseconds of real time. */
export type SeenKey = {
  readonly kid: string;
  readonly publishedAt: number;
  readonly signsFrom: number | null;
  readonly signedUntil: number | null;
};
export type NamedKey = { readonly kid: string; readonly use: "signing" | "published" | "revoked" };

/** The signing key is recorded once an hour. */
export const NOTED_EVERY_MS = HOUR_MS;
/** A key may have signed this long after its last record: in isolates that still had the earlier secret, and before a late record. */
const UNNOTED_MS = 2 * NOTED_EVERY_MS;

/** When the key's last certificate has ended for sure: certificates live twelve months at most. Null if it never signed. */
export const computeDroppableFrom = ({ signedUntil }: SeenKey): number | null =>
  signedUntil === null ? null : addMonths(signedUntil + UNNOTED_MS, CERTIFICATE_MONTHS);

/** When a key may begin to sign: readers cache the published keys for up to a day. */
export const computeUsableFrom = ({ publishedAt }: SeenKey): number => publishedAt + AUTHORITY_NOTICE_MS;

export type KeyFault = { readonly kid: string; readonly message: string };

/**
 * Adds the present secret to the recorded keys, which may be an hour old: its signing key signs now, and a key that was added this minute may not
 * be recorded yet.
 */
export function addPresentKeys(named: readonly NamedKey[], seen: readonly SeenKey[], now: number): SeenKey[] {
  const unseen = named
    .filter(({ kid, use }) => use !== "revoked" && seen.every((key) => key.kid !== kid))
    .map(({ kid }): SeenKey => ({ kid, publishedAt: now, signsFrom: null, signedUntil: null }));
  const signs = ({ kid }: SeenKey) => named.some((key) => key.kid === kid && key.use === "signing");
  return [...unseen, ...seen].map((key) =>
    signs(key) ? { ...key, signsFrom: key.signsFrom ?? now, signedUntil: now } : key,
  );
}

/** Among the other keys, the one that signed last. */
export function findLastSigner(seen: readonly SeenKey[], kid: string): SeenKey | undefined {
  const others = seen.filter((key) => key.kid !== kid && key.signedUntil !== null);
  return others.toSorted((a, b) => (b.signedUntil ?? 0) - (a.signedUntil ?? 0))[0];
}

/**
 * The faults of a secret's keys, given the keys that were seen. The first key of a service may sign at once, and so may one that replaces a
 * revoked key.
 */
export function findKeyFaults(named: readonly NamedKey[], seen: readonly SeenKey[], now: number): KeyFault[] {
  const missing = seen
    .filter(({ kid }) => named.every((key) => key.kid !== kid))
    .flatMap((key) => {
      const until = computeDroppableFrom(key);
      if (until === null || until <= now) return [];
      return [{ kid: key.kid, message: `missing: certificates under it may be valid until ${toIso(until)}.` }];
    });
  const begins = named
    .filter(({ use }) => use === "signing")
    .flatMap(({ kid }) => findEarlySigning(kid, named, seen, now));
  return [...missing, ...begins];
}

function findEarlySigning(kid: string, named: readonly NamedKey[], seen: readonly SeenKey[], now: number): KeyFault[] {
  const own = seen.find((key) => key.kid === kid);
  const begins = own?.signsFrom ?? now;
  const before = findLastSigner(
    seen.filter(({ signsFrom }) => signsFrom !== null && signsFrom < begins),
    kid,
  );
  if (!before || named.some((key) => key.kid === before.kid && key.use === "revoked")) return [];
  if (!own) return [{ kid, message: "signs, but was never published: publish a key a day before it signs." }];
  const from = computeUsableFrom(own);
  return from <= now ? [] : [{ kid, message: `signs too early: readers may not know it before ${toIso(from)}.` }];
}
