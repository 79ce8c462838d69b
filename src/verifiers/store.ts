// Store of Verifiers.
import { and, eq, sql } from "drizzle-orm";
import type { AskedRows } from "../core/page.ts";
import { type Database, guard, mustChange, type Read, read, readOne, type Statement } from "../db/batch.ts";
import { readNewest } from "../db/pages.ts";
import { type UsedCredentialRow, usedCredentials, type VerifierRow, verifiers } from "../db/tables/principals.ts";

export const insertVerifier = (db: Database, row: VerifierRow): Statement => db.insert(verifiers).values(row);

export const findVerifier = (db: Database, verifierId: string): Read<VerifierRow | null> =>
  readOne(db.select().from(verifiers).where(eq(verifiers.verifierId, verifierId)));

/** Newest first. Ids are ordered by time, so the id is the whole keyset. */
export const listVerifiers = (db: Database, page: AskedRows): Read<VerifierRow[]> =>
  readNewest(db, { table: verifiers, id: verifiers.verifierId }, page);

/** Aborts the batch (Conflict) if another change came between. */
export const updateVerifier = (db: Database, before: VerifierRow, after: VerifierRow): Statement[] =>
  mustChange(
    db,
    db
      .update(verifiers)
      .set({ name: after.name, jwks: after.jwks, status: after.status, updatedAt: after.updatedAt })
      .where(and(eq(verifiers.verifierId, before.verifierId), eq(verifiers.updatedAt, before.updatedAt))),
  );

/** Aborts the batch (Conflict) if the Verifier was changed after it was read: it may be disabled, or have other keys. */
export const refuseChangedVerifier = (db: Database, { verifierId, updatedAt }: VerifierRow): Statement =>
  guard(
    db,
    sql`exists (select 1 from verifiers v where v.verifier_id = ${verifierId} and v.updated_at = ${updatedAt})`,
  );

// ---- Used credentials ----------------------------------------------------------------------------------------------------

export const isUsed = (db: Database, verifierId: string, jti: string): Read<boolean> =>
  read(
    db
      .select({ jti: usedCredentials.jti })
      .from(usedCredentials)
      .where(and(eq(usedCredentials.verifierId, verifierId), eq(usedCredentials.jti, jti))),
    (rows) => rows.length > 0,
  );

/** How many ended credentials are deleted with each use. */
const DELETED_WITH_USE = 10;

/** Marks a credential as used, and deletes some that have ended. Aborts the batch (Conflict) if another call has used it meanwhile. */
export const useCredential = (db: Database, row: UsedCredentialRow, now: number): Statement[] => [
  db.delete(usedCredentials).where(
    sql`(verifier_id, jti) in (select verifier_id, jti from used_credentials where expires_at <= ${now}
          order by expires_at, verifier_id, jti limit ${DELETED_WITH_USE})`,
  ),
  db.insert(usedCredentials).values(row),
];
