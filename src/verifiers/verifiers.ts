// Operators register, read and change Verifiers (PRN-22). The attestations of a Verifier stay, whatever happens to it.
import { type OperatorCall, readPage } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import type { VerifierRow } from "../db/tables/principals.ts";
import { recordOperatorEntry } from "../journal/operator-log.ts";
import type { VerifierView } from "./responses.ts";
import type { VerifierInput, VerifierPatch, VerifierQuery } from "./schema.ts";
import { findVerifier, insertVerifier, listVerifiers, updateVerifier } from "./store.ts";

export async function registerVerifier(call: OperatorCall, input: VerifierInput): Promise<VerifierView> {
  const { db, deps, actor } = call;
  const now = deps.clock.now();
  await call.read({});
  const { name, jwks, status = "enabled" } = input;
  const row: VerifierRow = { verifierId: createId("ver", now), name, jwks, status, createdAt: now, updatedAt: now };
  const view = toView(row);
  const entry = recordOperatorEntry(db, actor, now, {
    action: "verifier.registered",
    subject: toVerifierSubject(row),
    detail: { name, jwks, status },
  });
  await call.commit([insertVerifier(db, row), entry], view);
  return view;
}

export async function getVerifiers(call: OperatorCall, query: VerifierQuery): Promise<Page<VerifierView>> {
  const page = await readPage(call, query, hashListing("verifiers", [], {}));
  const { rows } = await call.read({ rows: listVerifiers(call.db, page) });
  return toPage(rows, page, ({ createdAt, verifierId }) => ({ at: createdAt, id: verifierId }), toView);
}

export const findNamedVerifier = ({ db }: OperatorCall, { verifier_id }: { verifier_id: string }) =>
  findVerifier(db, verifier_id);

export const getVerifier = async (call: OperatorCall<VerifierRow>): Promise<VerifierView> =>
  toView((await call.read({})).object);

export async function patchVerifier(call: OperatorCall<VerifierRow>, patch: VerifierPatch): Promise<VerifierView> {
  const { db, deps, actor } = call;
  const now = deps.clock.now();
  const { object: before } = await call.read({});
  const { name = before.name, jwks = before.jwks, status = before.status } = patch;
  const after: VerifierRow = { ...before, name, jwks, status, updatedAt: Math.max(now, before.updatedAt + 1) };
  const changed = MEMBERS.filter((member) => JSON.stringify(before[member]) !== JSON.stringify(after[member]));
  if (changed.length === 0) throw new ServiceError("no_changes_requested");
  const view = toView(after);
  const entry = recordOperatorEntry(db, actor, now, {
    action: "verifier.updated",
    subject: toVerifierSubject(before),
    detail: Object.fromEntries(changed.map((member) => [member, { from: before[member], to: after[member] }])),
  });
  await call.commit([...updateVerifier(db, before, after), entry], view);
  return view;
}

const MEMBERS = ["name", "jwks", "status"] as const;

const toVerifierSubject = ({ verifierId }: VerifierRow) => ({ type: "verifier", id: verifierId });

const toView = (row: VerifierRow): VerifierView => ({
  verifier_id: row.verifierId,
  name: row.name,
  jwks: { keys: [...row.jwks.keys] },
  status: row.status,
  created_at: toIso(row.createdAt),
  updated_at: toIso(row.updatedAt),
});
