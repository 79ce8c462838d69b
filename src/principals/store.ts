// Store of principals and their attestations.
import { and, asc, desc, eq, getTableColumns, gt, inArray, isNull, lt, lte, or, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/due.ts";
import type { Move } from "../core/machine.ts";
import type { Position } from "../core/page.ts";
import { foldName } from "../core/text.ts";
import { type AccountStop, type CustomerStatus, ENVIRONMENTS, type PrincipalStatus } from "../core/vocabulary.ts";
import { type Database, guard, mustChange, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import {
  type AttestationRow,
  attestations,
  customers,
  type PrincipalRow,
  principals,
} from "../db/tables/principals.ts";
import { type Tenant, within } from "../db/tenant.ts";

/** The tenant principal is visible by id in both environments, every other one in its own (ACC-6). */
export const findPrincipal = (db: Database, tenant: Tenant, principalId: string): Read<PrincipalRow | null> =>
  readOne(
    db
      .select()
      .from(principals)
      .where(
        and(
          eq(principals.principalId, principalId),
          eq(principals.platformId, tenant.platformId),
          or(eq(principals.environment, tenant.environment), eq(principals.tenant, true)),
        ),
      ),
  );

/** Without a tenant: for jobs, and for the tenant principal of an account that the same trip reads. */
export const findPrincipalById = (db: Database, principalId: string | SQL<string>): Read<PrincipalRow | null> =>
  readOne(db.select().from(principals).where(eq(principals.principalId, principalId)));

/**
 * A registered principal with the same reference, or the same legal name and country (PRN-3). Two searches and not one with `or`: SQLite
 * would run each half without the tenant, and read the whole table.
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
      // Literal, as the partial indexes say it: the tenant principal takes no name from others (ACC-6).
      .where(and(within(principals, tenant), sql`tenant = 0`, same));
  const sameName = and(eq(principals.nameFolded, foldName(by.legalName)), eq(principals.country, by.country));
  return readOne(where(eq(principals.externalRef, by.externalRef)).unionAll(where(sameName)).limit(1));
};

export const findCustomer = (
  db: Database,
  tenant: Tenant,
  customerId: string,
): Read<{ customerId: string; status: CustomerStatus } | null> =>
  readOne(
    db
      .select({ customerId: customers.customerId, status: customers.status })
      .from(customers)
      .where(and(eq(customers.customerId, customerId), within(customers, tenant))),
  );

/**
 * A list filtered by ACTIVE shows what is ACTIVE now. A principal that ended by its date alone is found under its new status once the job
 * has recorded it (PRN-14): no index finds a change without a write.
 */
export const standsAt = (status: PrincipalStatus, now: number): SQL | undefined => {
  const standing =
    status === "ACTIVE" ? and(gt(principals.attestationExpiresAt, now), isNull(principals.accountStopped)) : undefined;
  return and(eq(principals.status, status), standing);
};

/** A condition of an update: the owner is in good standing when the row is written, not only when it was read (AGT-18). */
export const principalStands = (principalId: SQL, now: number): SQL =>
  sql`exists (select 1 from principals p where p.principal_id = ${principalId} and p.status = 'ACTIVE'
      and p.attestation_expires_at > ${now} and p.account_stopped is null)`;

export type PrincipalFilter = {
  customerId?: string | undefined;
  externalRef?: string | undefined;
  status?: PrincipalStatus | undefined;
  now: number;
};

/** The columns of a page: those that a principal shows. */
const { platformId: _platform, tenant: _tenant, nameFolded: _folded, ...listed } = getTableColumns(principals);
export type ListedPrincipal = Pick<PrincipalRow, keyof typeof listed>;

/** Newest first; ids are time-ordered, so the id is the whole keyset. */
export const listPrincipals = (
  db: Database,
  tenant: Tenant,
  filter: PrincipalFilter,
  page: { limit: number; after: Position | null },
): Read<ListedPrincipal[]> => {
  const { customerId, externalRef, status, now } = filter;
  const grouped =
    customerId === undefined
      ? undefined
      : customerId === "none"
        ? isNull(principals.customerId)
        : eq(principals.customerId, customerId);
  return readAll(
    db
      .select(listed)
      .from(principals)
      .where(
        and(
          within(principals, tenant),
          sql`tenant = 0`,
          grouped,
          externalRef === undefined ? undefined : eq(principals.externalRef, externalRef),
          status === undefined ? undefined : standsAt(status, now),
          page.after === null ? undefined : lt(principals.principalId, page.after.id),
        ),
      )
      .orderBy(desc(principals.principalId))
      .limit(page.limit + 1),
  );
};

export const insertPrincipal = (db: Database, row: typeof principals.$inferInsert): Statement =>
  db.insert(principals).values(row);

export const insertAttestation = (db: Database, row: AttestationRow): Statement => db.insert(attestations).values(row);

/** Principals whose attestation has ended and that are still stored as ACTIVE, the earliest end first. */
export const findEndedAttestations = (db: Database, now: number, after: Due, limit: number): Read<Due[]> =>
  readAll(
    db
      .select({ at: principals.attestationExpiresAt, id: principals.principalId })
      .from(principals)
      .where(
        and(
          // Literal text, so that SQLite uses the partial index.
          sql`status = 'ACTIVE'`,
          lte(principals.attestationExpiresAt, now),
          sql`(${principals.attestationExpiresAt}, ${principals.principalId}) > (${after.at}, ${after.id})`,
        ),
      )
      .orderBy(asc(principals.attestationExpiresAt), asc(principals.principalId))
      .limit(limit),
  );

/** Moves a principal only from the state and under the attestation that the move was decided on. */
export const movePrincipal = (
  db: Database,
  before: PrincipalRow,
  { from, to }: Move<PrincipalStatus>,
  { statusReason, updatedAt }: Pick<PrincipalRow, "statusReason" | "updatedAt">,
): Statement[] =>
  mustChange(
    db,
    db
      .update(principals)
      .set({ statusReason, updatedAt, status: to })
      .where(
        and(
          eq(principals.principalId, before.principalId),
          eq(principals.status, from),
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

/** Records the current attestation of a principal as it was read, with the status that it gives. */
export const attestPrincipal = (db: Database, before: PrincipalRow, after: Attested): Statement[] => {
  const { status, statusReason, attestationId, attestationVerifierId, attestationModel, attestationTier } = after;
  const { attestationIssuedAt, attestationExpiresAt, updatedAt } = after;
  const attestation = { attestationId, attestationVerifierId, attestationModel, attestationTier, attestationIssuedAt };
  return mustChange(
    db,
    db
      .update(principals)
      .set({ status, statusReason, ...attestation, attestationExpiresAt, updatedAt })
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

/** A condition of a write that states what it read of a principal: nothing of it has changed since. */
export const principalUnchanged = ({ principalId, updatedAt }: Known): SQL =>
  sql`exists (select 1 from principals p where p.principal_id = ${principalId} and p.updated_at = ${updatedAt})`;

/** Refuses the batch when the principal has changed since it was read. */
export const refuseChangedPrincipal = (db: Database, known: Known): Statement => guard(db, principalUnchanged(known));

// ---- All principals of an account ------------------------------------------------------------------------------------------

/** The tenant principal of an account, which is in no index of the others. */
const tenantOf = (platformId: string | SQL<string>): SQL =>
  sql`select tenant_principal_id from platforms where platform_id = ${platformId}`;

/** Sets for every principal of an account, the tenant principal included, what stops the account; null when nothing does (ACC-25). */
export const setAccountStopped = (db: Database, platformId: string, accountStopped: AccountStop | null): Statement =>
  db
    .update(principals)
    .set({ accountStopped })
    .where(
      sql`principal_id in (select principal_id from principals where platform_id = ${platformId} and tenant = 0
          union all ${tenantOf(platformId)})`,
    );

/** Each pair of environment and status is a range of its own in the index. */
const listedIn = (platformId: string | SQL<string>, statuses: readonly PrincipalStatus[]): SQL | undefined =>
  and(
    eq(principals.platformId, platformId),
    inArray(principals.environment, [...ENVIRONMENTS]),
    inArray(principals.status, [...statuses]),
    sql`tenant = 0`,
  );

/** A slice of an account's principals in one of the statuses, and its tenant principal if it is in one. */
export const findPrincipalsIn = (
  db: Database,
  platformId: string | SQL<string>,
  statuses: readonly PrincipalStatus[],
  slice: number,
): Read<PrincipalRow[]> => {
  const found = sql`select principal_id from principals where ${listedIn(platformId, statuses)} limit ${slice}`;
  return readAll(
    db
      .select()
      .from(principals)
      .where(
        and(
          sql`principal_id in (select principal_id from (${found}) union all ${tenantOf(platformId)})`,
          inArray(principals.status, [...statuses]),
        ),
      ),
  );
};

export const somePrincipalIn = (platformId: string, statuses: readonly PrincipalStatus[]): SQL =>
  sql`(exists (select 1 from principals where ${listedIn(platformId, statuses)}) or exists (select 1 from principals
      where principal_id = (${tenantOf(platformId)}) and ${inArray(principals.status, [...statuses])}))`;

/** Moves all of the principals from one status to another, or none. */
export const movePrincipals = (
  db: Database,
  principalIds: readonly string[],
  { from, to }: Move<PrincipalStatus>,
  set: Pick<PrincipalRow, "statusReason" | "updatedAt">,
): Statement[] => [
  db
    .update(principals)
    .set({ ...set, status: to })
    .where(
      and(
        sql`principal_id in (select value from json_each(${JSON.stringify(principalIds)}))`,
        eq(principals.status, from),
      ),
    ),
  guard(db, sql`changes() = ${sql.raw(String(principalIds.length))}`),
];
