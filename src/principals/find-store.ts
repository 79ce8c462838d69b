// Store of the list of principals (PRN-5, PRN-14), and of the deadlines of principals: the end of an attestation (PRN-13), and the notices before it
// (PRN-26). The list by status reads one range of the index, in the order of the attestations' ends; attestations that ended without a record are the
// lower part of the range of ACTIVE principals.
import { and, asc, eq, isNull, lte, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/clock.ts";
import type { AskedRows, FoundRows, Position } from "../core/page.ts";
import type { PrincipalStatus } from "../core/vocabulary.ts";
import { type Database, type Read, readAll } from "../db/batch.ts";
import { isBelow, type Ranges, readRanged, selectBareColumns } from "../db/pages.ts";
import { isOfTenant, type Tenant } from "../db/statement.ts";
import { type PrincipalRow, principals } from "../db/tables/principals.ts";

export type PrincipalFilter = {
  readonly customerId?: string | undefined;
  readonly externalRef?: string | undefined;
  readonly status?: PrincipalStatus | undefined;
};

const {
  platformId: _platform,
  tenant: _tenant,
  nameFolded: _folded,
  closed: _closed,
  expiryNoticeAt: _notice,
  ...listed
} = selectBareColumns(principals);
export type ListedPrincipal = Pick<PrincipalRow, keyof typeof listed>;

const { principalId, customerId: customer, externalRef: reference, status: stored, attestationExpiresAt: end } = listed;

export const listPrincipals = (
  db: Database,
  tenant: Tenant,
  filter: PrincipalFilter,
  now: number,
  page: AskedRows,
): Read<FoundRows<ListedPrincipal>> => {
  const ranges = buildPrincipalRanges(tenant, filter, now, page.after);
  return readRanged(db, { ranges, fits: matchPrincipalFilter(filter, now) }, page.limit);
};

/** Returns true if the list is read from a range of a status, in the order of the attestations' ends. */
export const isPrincipalListByEnd = ({ customerId, externalRef, status }: PrincipalFilter): boolean =>
  status !== undefined && externalRef === undefined && (customerId === undefined || customerId === "none");

// ---- Ranges --------------------------------------------------------------------------------------------------------------

function buildPrincipalRanges(tenant: Tenant, filter: PrincipalFilter, now: number, after: Position | null): Ranges {
  // Literal text, as in the partial indexes.
  const range = (...conditions: (SQL | undefined)[]) =>
    sql`principals where ${and(isOfTenant(principals, tenant), sql`tenant = 0`, ...conditions)}`;
  if (isPrincipalListByEnd(filter)) {
    const { status } = filter;
    const inStatus = (of: PrincipalStatus | undefined, by?: number, from?: SQL) =>
      range(sql`${stored} = ${of}`, isBelow(end, principalId, after, by), from);
    const ranges: Readonly<Partial<Record<PrincipalStatus, SQL[]>>> = {
      ACTIVE: [inStatus("ACTIVE", undefined, sql`${end} > ${now}`)],
      ATTESTATION_EXPIRED: [inStatus("ATTESTATION_EXPIRED"), inStatus("ACTIVE", now)],
    };
    const from = (status && ranges[status]) ?? [inStatus(status)];
    return { columns: listed, from, order: sql`${end} desc, ${principalId} desc` };
  }
  const { customerId, externalRef } = filter;
  const older = after === null ? undefined : sql`${principalId} < ${after.id}`;
  return {
    columns: listed,
    from: [
      externalRef === undefined
        ? range(isGrouped(customerId), older)
        : // Literal text, so that SQLite uses the partial index. A closed principal has freed its reference.
          range(sql`closed = 0`, sql`${reference} = ${externalRef}`, older),
    ],
    // Newest first. Ids are ordered by time, so the id is the whole keyset.
    order: sql`${principalId} desc`,
  };
}

const isGrouped = (customerId: string | undefined): SQL | undefined => {
  if (customerId === undefined) return undefined;
  return customerId === "none" ? isNull(customer) : eq(customer, customerId);
};

// ---- Further filters -----------------------------------------------------------------------------------------------------

function matchPrincipalFilter(filter: PrincipalFilter, now: number): SQL | undefined {
  const { customerId, externalRef, status } = filter;
  return and(
    isPrincipalListByEnd(filter) || externalRef !== undefined ? isGrouped(customerId) : undefined,
    isPrincipalListByEnd(filter) || status === undefined ? undefined : hasStatusAt(status, now),
  );
}

/** Principals with this status at an instant. It ignores the account's stops, because a stopped account cannot read a list. */
function hasStatusAt(status: PrincipalStatus, now: number): SQL {
  const ended = sql`${stored} = 'ACTIVE' and ${end} <= ${now}`;
  if (status === "ACTIVE") return sql`(${stored} = 'ACTIVE' and ${end} > ${now})`;
  return status === "ATTESTATION_EXPIRED" ? sql`(${stored} = ${status} or ${ended})` : sql`${stored} = ${status}`;
}

// ---- Deadlines ----------------------------------------------------------------------------------------------------------

/** Finds principals whose attestation has ended, but which are still stored as ACTIVE, earliest end first. */
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

export const findDueNotices = (db: Database, now: number, after: Due, limit: number): Read<Due[]> =>
  readAll(
    db
      .select({ at: sql<number>`${principals.expiryNoticeAt}`.as("due_at"), id: principals.principalId })
      .from(principals)
      .where(
        and(
          // Literal text, so that SQLite uses the partial index.
          sql`expiry_notice_at is not null`,
          lte(principals.expiryNoticeAt, now),
          sql`(${principals.expiryNoticeAt}, ${principals.principalId}) > (${after.at}, ${after.id})`,
        ),
      )
      .orderBy(asc(principals.expiryNoticeAt), asc(principals.principalId))
      .limit(limit),
  );

/** A principal's platform, as an expression for reads in the trip that finds the principal. */
export const selectPrincipalPlatform = (principalId: string): SQL<string> =>
  sql<string>`(select platform_id from principals where principal_id = ${principalId})`;
