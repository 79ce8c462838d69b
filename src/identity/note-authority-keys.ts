// Records each minute which keys of the CA are published and which one signs. Raises an alert if the secret lacks a key that is needed, or signs
// with a key that was not published for a day (IDN-29, IDN-38).
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/due.ts";
import { commit, readBatch, type Statement } from "../db/batch.ts";
import type { EachJob } from "../jobs/job.ts";
import { raiseAlert } from "../journal/alerts.ts";
import { findKeyFaults, findLastSigner, type NamedKey, NOTED_EVERY_MS, type SeenKey } from "./authority-keys.ts";
import { findAuthorityKeys, forgetAuthorityKey, recordAuthorityKey, recordSigningKey } from "./authority-store.ts";

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
