// Store of principals and their attestations.
import { and, eq, isNull, or, type SQL, sql } from "drizzle-orm";
import type { Move } from "../core/machine.ts";
import type { AskedRows } from "../core/page.ts";
import { foldName } from "../core/text.ts";
import type { AccountStop, PrincipalStatus } from "../core/vocabulary.ts";
import { type Database, guard, mustChange, type Read, read, readOne, type Statement } from "../db/batch.ts";
import { compileInsert } from "../db/compiled.ts";
import { eachOf, isOneOf, selectFields } from "../db/lists.ts";
import { readNewest } from "../db/pages.ts";
import { isOfTenant, type Tenant } from "../db/statement.ts";
import { type AttestationRow, attestations, type PrincipalRow, principals } from "../db/tables/principals.ts";
import {
  type GroupMove,
  isMovable,
  selectAllPrincipalIds,
  selectAttestationStop,
  selectStatusAfter,
} from "./group-store.ts";

/** The tenant principal is visible by id in both environments, every other one in its own (ACC-6). */
export const isVisiblePrincipal = (tenant: Tenant, principalId: string): SQL | undefined =>
  and(
    eq(principals.principalId, principalId),
    eq(principals.platformId, tenant.platformId),
    or(eq(principals.environment, tenant.environment), eq(principals.tenant, true)),
  );

export const findPrincipal = (db: Database, tenant: Tenant, principalId: string): Read<PrincipalRow | null> =>
  readOne(db.select().from(principals).where(isVisiblePrincipal(tenant, principalId)));

/** Takes no tenant: for jobs, and for the tenant principal of an account that the same trip reads. */
export const findPrincipalById = (db: Database, principalId: string | SQL<string>): Read<PrincipalRow | null> =>
  readOne(db.select().from(principals).where(eq(principals.principalId, principalId)));

/**
 * Finds an open principal with the same reference, or with the same legal name and country (PRN-3). It runs two searches, because with `or` SQLite
 * would drop the tenant from each half and read the whole table.
 */
export const findDuplicate = (
  db: Database,
  tenant: Tenant,
  by: { externalRef: string; legalName: string; country: string },
): Read<{ principalId: string; externalRef: string } | null> => {
  const where = (same: SQL | undefined) =>
    db
      .select({ principalId: principals.principalId, externalRef: principals.externalRef })
      .from(principals)
      // Literal text, as in the partial indexes. The tenant principal takes no name from others (ACC-6), and a closed principal has freed its own.
      .where(and(isOfTenant(principals, tenant), sql`tenant = 0 and closed = 0`, same));
  const sameName = and(eq(principals.nameFolded, foldName(by.legalName)), eq(principals.country, by.country));
  return readOne(where(eq(principals.externalRef, by.externalRef)).unionAll(where(sameName)).limit(1));
};

export const findPrincipalByReference = (
  db: Database,
  tenant: Tenant,
  externalRef: string,
): Read<{ principalId: string } | null> =>
  readOne(
    db
      .select({ principalId: principals.principalId })
      .from(principals)
      .where(
        and(isOfTenant(principals, tenant), sql`tenant = 0 and closed = 0`, eq(principals.externalRef, externalRef)),
      ),
  );

/** A condition of an update: the principal is ACTIVE when the row is written, not only when it was read (AGT-18). */
export const isPrincipalActive = (principalId: SQL, now: number, also = sql``): SQL =>
  sql`exists (select 1 from principals p where p.principal_id = ${principalId} and p.status = 'ACTIVE'
      and p.attestation_expires_at > ${now} and p.account_stopped is null ${also})`;

/** A condition of an update: the principal is not CLOSED, and its attestation is not revoked, when the row is written. */
export const isPrincipalOpen = (principalId: SQL): SQL =>
  sql`exists (select 1 from principals p where p.principal_id = ${principalId} and p.closed = 0
        and p.attestation_stop is not 'attestation_revoked')`;

export const insertPrincipal = compileInsert((db) => db.insert(principals));

// ---- Attestations --------------------------------------------------------------------------------------------------------

export const insertAttestation = compileInsert((db) => db.insert(attestations));

export type AttestationKey = Pick<AttestationRow, "verifierId" | "attestationId">;
const isAttestation = ({ verifierId, attestationId }: AttestationKey) =>
  and(eq(attestations.verifierId, verifierId), eq(attestations.attestationId, attestationId));

/** Reads a single row, because a revocation marks all rows of an attestation at once. */
export const isRevoked = (db: Database, attestation: AttestationKey): Read<boolean> =>
  read(
    db.select({ revokedAt: attestations.revokedAt }).from(attestations).where(isAttestation(attestation)).limit(1),
    ([row]) => typeof row?.revokedAt === "number",
  );

/** Aborts the batch if the attestation was revoked meanwhile. It reads a single row, because the attestation may back thousands. */
export const refuseRevoked = (db: Database, attestation: AttestationKey): Statement =>
  guard(
    db,
    sql`(select ${attestations.revokedAt} from attestations where ${isAttestation(attestation)} limit 1) is null`,
  );

/** When the attestation was revoked, if it was; null if it was never recorded. */
export const findRevocation = (
  db: Database,
  attestation: AttestationKey,
): Read<Pick<AttestationRow, "revokedAt"> | null> =>
  readOne(
    db.select({ revokedAt: attestations.revokedAt }).from(attestations).where(isAttestation(attestation)).limit(1),
  );

export const isBackedBy = ({ verifierId, attestationId }: AttestationKey): SQL =>
  sql`principal_id in (select principal_id from attestations where verifier_id = ${verifierId} and attestation_id = ${attestationId})
    and attestation_verifier_id = ${verifierId} and principals.attestation_id = ${attestationId}`;

/** Revokes an attestation in the rows of all principals that it has ever backed. Aborts the batch (Conflict) if that was done meanwhile. */
export const markRevoked = (
  db: Database,
  attestation: AttestationKey,
  revocationReason: string | null,
  revokedAt: number,
): Statement[] =>
  mustChange(
    db,
    db
      .update(attestations)
      .set({ revokedAt, revocationReason })
      .where(and(isAttestation(attestation), isNull(attestations.revokedAt))),
  );

export const findEarlierUse = (db: Database, principalId: string, attestation: AttestationKey): Read<boolean> =>
  read(
    db
      .select({ principalId: attestations.principalId })
      .from(attestations)
      .where(and(isAttestation(attestation), eq(attestations.principalId, principalId))),
    (rows) => rows.length > 0,
  );

/** Newest first. No two attestations of a principal are recorded in one millisecond. */
export const listAttestations = (db: Database, principalId: string, page: AskedRows): Read<AttestationRow[]> =>
  readNewest(
    db,
    { table: attestations, where: eq(attestations.principalId, principalId), at: attestations.recordedAt },
    page,
  );

// ---- Changes of a principal -----------------------------------------------------------------------------------------------

const CHANGEABLE_COLUMNS = [
  "status",
  "closed",
  "statusReason",
  "statusNote",
  "platformStopped",
  "customerStopped",
  "attestationStop",
  "customerId",
  "externalRef",
  "metadata",
] as const satisfies readonly (keyof PrincipalRow)[];

/** Columns that the end of a principal clears, whatever was read: `updated_at` does not change with them. */
const CLEARED_AT_CLOSING = { closed: true, expiryNoticeAt: null, providers: 0 } as const;

/**
 * Changes a principal only if it is as it was read, and under the attestation on which the change was decided. Unchanged columns are not set, so that
 * their indexes are not written again.
 */
export const changePrincipal = (db: Database, before: PrincipalRow, after: PrincipalRow): Statement[] =>
  mustChange(
    db,
    db
      .update(principals)
      .set({
        ...Object.fromEntries(
          CHANGEABLE_COLUMNS.filter((name) => before[name] !== after[name]).map((name) => [name, after[name]]),
        ),
        ...(after.closed && CLEARED_AT_CLOSING),
        updatedAt: after.updatedAt,
      })
      .where(
        and(
          eq(principals.principalId, before.principalId),
          eq(principals.status, before.status),
          eq(principals.updatedAt, before.updatedAt),
          eq(principals.attestationExpiresAt, before.attestationExpiresAt),
        ),
      ),
  );

type Named = Pick<PrincipalRow, "legalName" | "country" | "updatedAt">;

/** Writes the name and country of a tenant principal, which follow the account's profile (ACC-6). */
export const renamePrincipal = (
  db: Database,
  before: PrincipalRow,
  { legalName, country, updatedAt }: Named,
): Statement[] =>
  mustChange(
    db,
    db
      .update(principals)
      .set({ legalName, nameFolded: foldName(legalName), country, updatedAt })
      .where(and(eq(principals.principalId, before.principalId), eq(principals.updatedAt, before.updatedAt))),
  );

type Attested = Omit<PrincipalRow, "legalName" | "nameFolded" | "country">;

/** Records the current attestation of a principal as it was read, with the status under it. */
export const attestPrincipal = (db: Database, before: PrincipalRow, after: Attested): Statement[] => {
  const {
    status,
    statusReason,
    attestationStop,
    attestationId,
    attestationVerifierId,
    attestationModel,
    attestationTier,
    attestationSigned,
  } = after;
  const { attestationIssuedAt, attestationExpiresAt, expiryNoticeAt, updatedAt } = after;
  const noticed = expiryNoticeAt === before.expiryNoticeAt ? {} : { expiryNoticeAt };
  const attestation = {
    ...{ attestationId, attestationVerifierId, attestationModel, attestationTier },
    ...{ attestationSigned, attestationIssuedAt },
  };
  return mustChange(
    db,
    db
      .update(principals)
      .set({ status, statusReason, attestationStop, ...attestation, attestationExpiresAt, updatedAt, ...noticed })
      .where(
        and(
          eq(principals.principalId, before.principalId),
          eq(principals.status, before.status),
          eq(principals.updatedAt, before.updatedAt),
        ),
      ),
  );
};

type Known = Pick<PrincipalRow, "principalId" | "updatedAt">;

/** A condition of a write that repeats what it read of a principal: the principal has not changed since. */
export const isPrincipalUnchanged = ({ principalId, updatedAt }: Known): SQL =>
  sql`exists (select 1 from principals p where p.principal_id = ${principalId} and p.updated_at = ${updatedAt})`;

export const refuseChangedPrincipal = (db: Database, known: Known): Statement => guard(db, isPrincipalUnchanged(known));

/**
 * Counts one more agent that sells (PRN-10), if the principal has not changed since it was read. The counts do not change `updated_at`, because no
 * decision on the principal depends on them.
 */
export const countProvider = (db: Database, { principalId, updatedAt }: Known): Statement[] =>
  mustChange(
    db,
    db
      .update(principals)
      .set({ providers: sql`${principals.providers} + 1` })
      .where(and(eq(principals.principalId, principalId), eq(principals.updatedAt, updatedAt))),
  );

/** Counts selling agents that came to principals or left them, once for each id. A CLOSED principal counts none. */
export const countProviders = (
  db: Database,
  { left, come }: { readonly left: readonly string[]; readonly come: readonly string[] },
): Statement[] => {
  const moves = [...left.map((id) => [id, -1]), ...come.map((id) => [id, 1])];
  const moved = sql`(select sum(value ->> 1) from ${eachOf(moves)} where value ->> 0 = ${principals.principalId})`;
  return [
    db
      .update(principals)
      .set({ providers: sql`${principals.providers} + ${moved}` })
      .where(
        and(
          sql`${principals.principalId} in (select ${selectFields(1)} from ${eachOf(moves)})`,
          eq(principals.closed, false),
        ),
      ),
  ];
};

/** Counts one selling agent less. A CLOSED principal counts none already. */
export const uncountProvider = (db: Database, principalId: string): Statement =>
  db
    .update(principals)
    .set({ providers: sql`${principals.providers} - 1` })
    .where(and(eq(principals.principalId, principalId), eq(principals.closed, false)));

/** Moves the next notice on, unless the notice was sent, the attestation renewed, or the principal closed since it was read. */
export const moveNotice = (db: Database, before: PrincipalRow, expiryNoticeAt: number | null): Statement[] =>
  mustChange(
    db,
    db
      .update(principals)
      .set({ expiryNoticeAt })
      .where(
        and(
          eq(principals.principalId, before.principalId),
          sql`${principals.expiryNoticeAt} is ${before.expiryNoticeAt}`,
          eq(principals.updatedAt, before.updatedAt),
          sql`${principals.accountStopped} is ${before.accountStopped}`,
        ),
      ),
  );

// ---- All principals of an account or a group ------------------------------------------------------------------------------------------

/** Sets the account's stop on all its principals, the tenant principal included; null if the account has none (ACC-25). */
export const setAccountStopped = (db: Database, platformId: string, accountStopped: AccountStop | null): Statement =>
  db
    .update(principals)
    .set({ accountStopped })
    .where(sql`principal_id in (${selectAllPrincipalIds(platformId)})`);

export const movePrincipals = (
  db: Database,
  principalIds: readonly string[],
  { from, to }: Move<PrincipalStatus>,
  set: Pick<PrincipalRow, "statusReason" | "updatedAt">,
): Statement[] =>
  mustChange(
    db,
    db
      .update(principals)
      .set({ ...set, status: to, ...(to === "CLOSED" && CLEARED_AT_CLOSING) })
      .where(and(isOneOf(sql`principal_id`, principalIds), eq(principals.status, from))),
    principalIds.length,
  );

/** Moves all principals of a group at once, however many there are (PRN-24). */
export const moveGroupRows = (db: Database, { where, set, note }: GroupMove, now: number): Statement =>
  db
    .update(principals)
    .set({
      attestationStop: selectAttestationStop(now),
      ...set,
      status: selectStatusAfter(set, now),
      ...(note !== undefined && { statusNote: note }),
      updatedAt: sql`max(${now}, ${principals.updatedAt} + 1)`,
    })
    .where(isMovable(where));
