// The keys of the CA (IDN-29, IDN-38): shows operators how long each is needed, records which are published and which one signs, and finds the faults
// of a secret, for the service and for the check of a secret before it is set.
import type { OperatorCall } from "../call.ts";
import type { Deps } from "../context.ts";
import { addMonths, BEFORE_FIRST_DUE, toIso, toIsoOrNull } from "../core/clock.ts";
import { AUTHORITY_NOTICE_MS, CERTIFICATE_MONTHS, HOUR_MS } from "../core/limits.ts";
import { commit, readBatch, type Statement } from "../db/batch.ts";
import type { EachJob } from "../jobs/job.ts";
import { raiseAlert } from "../journal/alerts.ts";
import { findAuthorityKeys, forgetAuthorityKey, recordAuthorityKey, recordSigningKey } from "./authority-store.ts";
import type { AuthorityKeyView, AuthorityView } from "./responses.ts";

export async function getAuthority(call: OperatorCall): Promise<AuthorityView> {
  const { seen } = await call.read({ seen: findAuthorityKeys(call.db) });
  const { keys: named } = await call.deps.ca();
  const now = Date.now();
  return {
    keys: addPresentKeys(named, seen, now).map((key) => toView(key, named, now)),
    faults: findKeyFaults(named, seen, now).map(({ kid, message }) => `${kid}: ${message}`),
  };
}

function toView(key: SeenKey, named: readonly NamedKey[], now: number): AuthorityKeyView {
  const use = named.find(({ kid }) => kid === key.kid)?.use;
  const signs = use === "signing";
  const droppable = computeDroppableFrom(key);
  return {
    kid: key.kid,
    use: use ?? (droppable !== null && droppable > now ? "missing" : "dropped"),
    published_at: toIso(key.publishedAt),
    usable_from: toIso(computeUsableFrom(key)),
    first_certificate_at: toIsoOrNull(key.signsFrom),
    last_certificate_at: toIsoOrNull(key.signedUntil),
    droppable_from: signs ? null : toIso(droppable ?? now),
  };
}

// ---- Recording ----------------------------------------------------------------------------------------------------------

/** The signing key is recorded once an hour. */
export const NOTED_EVERY_MS = HOUR_MS;

/**
 * Records each minute which keys are published and which one signs. Raises an alert if the secret lacks a key that is needed, or signs with a key
 * that was not published for a day.
 */
export const noteAuthorityKeys: EachJob = {
  kind: "each",
  name: "note_authority_keys",
  find: async (deps, after) => {
    if (after !== null && after !== BEFORE_FIRST_DUE) return [];
    const due = await findKeyRecords(deps);
    return due.length === 0 ? [] : [{ at: Date.now(), id: "all" }];
  },
  record: async (deps) => {
    const due = await findKeyRecords(deps);
    if (due.length === 0) return false;
    await commit(deps.db, due);
    return true;
  },
};

/** In real time: all sandboxes share the secret, whatever their clocks say. */
async function findKeyRecords({ db, ca }: Deps): Promise<Statement[]> {
  const [{ keys }, { seen }] = await Promise.all([ca(), readBatch(db, { seen: findAuthorityKeys(db) })]);
  const now = Date.now();
  const faults = findKeyFaults(keys, seen, now);
  const spare = seen.filter((key) => key.signsFrom === null && keys.every(({ kid }) => kid !== key.kid));
  return [
    ...keys.flatMap((key) => toKeyRecords(key, seen, now).map((note) => note(db))),
    ...spare.map(({ kid }) => forgetAuthorityKey(db, kid)),
    ...faults.map(({ kid, message }) =>
      raiseAlert(db, { kind: "authority_key", subject: kid, message: `CA_KEYS: ${message}` }),
    ),
  ];
}

type KeyRecord = (db: Deps["db"]) => Statement;

function toKeyRecords({ kid, use }: NamedKey, seen: readonly SeenKey[], now: number): KeyRecord[] {
  if (use === "revoked") return [];
  const known = seen.find((key) => key.kid === kid);
  return [
    ...(known ? [] : [(db: Deps["db"]) => recordAuthorityKey(db, kid, now)]),
    ...(use === "signing" ? toSignerRecords(kid, known?.signedUntil ?? 0, seen, now) : []),
  ];
}

/** A key that takes over also records the key before it, which may have signed until now. */
function toSignerRecords(kid: string, signedUntil: number, seen: readonly SeenKey[], now: number): KeyRecord[] {
  const before = findLastSigner(seen, kid);
  const takesOver = before !== undefined && (before.signedUntil ?? 0) > signedUntil;
  const signers = takesOver ? [before.kid, kid] : signedUntil <= now - NOTED_EVERY_MS ? [kid] : [];
  return signers.map((signer) => (db: Deps["db"]) => recordSigningKey(db, signer, now));
}

// ---- What the keys need -------------------------------------------------------------------------------------------------

/** A key as the service has seen it, in epoch milliseconds of real time. */
export type SeenKey = {
  readonly kid: string;
  readonly publishedAt: number;
  readonly signsFrom: number | null;
  readonly signedUntil: number | null;
};
export type NamedKey = { readonly kid: string; readonly use: "signing" | "published" | "revoked" };

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
