// Store of groups of principals: those of an account, and those that one act changes together (PRN-24). The changes themselves are in store.ts.
import { and, asc, eq, getTableColumns, inArray, isNotNull, notInArray, type SQL, sql } from "drizzle-orm";
import { type AttestationStop, type CustomerStatus, ENVIRONMENTS, type PrincipalStatus } from "../core/vocabulary.ts";
import { type Condition, type Database, guard, type Read, read, readAll, type Statement } from "../db/batch.ts";
import { eachOf } from "../db/lists.ts";
import { isOfTenant, type Tenant } from "../db/statement.ts";
import { customers, type PrincipalRow, principals } from "../db/tables/principals.ts";
import { type CascadeRow, walks } from "../db/tables/walks.ts";
import type { Stops } from "./effective-status.ts";

// ---- Of an account -------------------------------------------------------------------------------------------------------

/** The tenant principal of an account, which the index of the other principals does not have. */
export const selectTenantPrincipalId = (platformId: string | SQL<string>): SQL =>
  sql`select tenant_principal_id from platforms where platform_id = ${platformId}`;

export const selectAllPrincipalIds = (platformId: string): SQL =>
  sql`select principal_id from principals where platform_id = ${platformId} and tenant = 0
    union all ${selectTenantPrincipalId(platformId)}`;

/** Each pair of environment and status is its own range in the index. */
const isInStatuses = (platformId: string | SQL<string>, statuses: readonly PrincipalStatus[]): SQL | undefined =>
  and(
    eq(principals.platformId, platformId),
    inArray(principals.environment, [...ENVIRONMENTS]),
    inArray(principals.status, [...statuses]),
    sql`tenant = 0`,
  );

type Reporting = Pick<CascadeRow, "subject" | "startedAt" | "report">;

/** A principal, and its cascade if that has reports which are still to be written (PRN-24). */
export type WithReports = { readonly principal: PrincipalRow; readonly cascade: Reporting | null };

/** Reads a slice of an account's principals in one of the statuses, and the tenant principal if it is in one. */
export const findPrincipalsIn = (
  db: Database,
  platformId: string | SQL<string>,
  statuses: readonly PrincipalStatus[],
  slice: number,
): Read<WithReports[]> => {
  const found = sql`select principal_id from principals where ${isInStatuses(platformId, statuses)} limit ${slice}`;
  return readAll(
    db
      .select({
        principal: getTableColumns(principals),
        cascade: { subject: walks.subject, startedAt: walks.startedAt, report: walks.report },
      })
      .from(principals)
      .leftJoin(
        walks,
        and(eq(walks.kind, "cascade"), eq(walks.subject, principals.principalId), isNotNull(walks.report)),
      )
      .where(
        and(
          sql`principal_id in (select principal_id from (${found}) union all ${selectTenantPrincipalId(platformId)})`,
          inArray(principals.status, [...statuses]),
        ),
      ),
  );
};

export const hasPrincipalIn = (platformId: string | SQL<string>, statuses: readonly PrincipalStatus[]): SQL =>
  sql`(exists (select 1 from principals where ${isInStatuses(platformId, statuses)}) or exists (select 1 from principals
      where principal_id = (${selectTenantPrincipalId(platformId)}) and ${inArray(principals.status, [...statuses])}))`;

// ---- Of one act ------------------------------------------------------------------------------------------------------------

export type GroupMove = {
  readonly where: Condition;
  /** The stops (PRN-19) that the act adds or removes. */
  readonly set: Partial<Stops>;
  /** The note that the principals show from then on; absent if theirs stays. */
  readonly note?: string | null;
};

export const isGroupedBy = (tenant: Tenant, customerId: string): Condition => isInCustomer(tenant, sql`${customerId}`);

/** Selects a customer's principals while the customer is in one of the statuses, so that an act that will be refused reads none of them. */
export const isGroupedByWhile = (tenant: Tenant, customerId: string, statuses: readonly CustomerStatus[]): Condition =>
  isInCustomer(
    tenant,
    sql`(select customer_id from customers where customer_id = ${customerId} and ${inArray(customers.status, [...statuses])})`,
  );

const isInCustomer = (tenant: Tenant, customerId: SQL): Condition =>
  sql`${isOfTenant(principals, tenant)} and ${principals.customerId} = ${customerId} and tenant = 0`;

export const isMovable = (where: Condition): SQL | undefined => and(where, sql`closed = 0`);

/** Principals without a cascade. The act changes the others too, but their cascades report them. */
const hasNoCascade = (where: Condition): SQL | undefined =>
  and(
    isMovable(where),
    sql`not exists (select 1 from ${walks} where ${walks.kind} = 'cascade' and ${walks.subject} = ${principals.principalId})`,
  );

export const findGroup = (db: Database, where: Condition, limit: number): Read<PrincipalRow[]> =>
  readAll(db.select().from(principals).where(hasNoCascade(where)).orderBy(asc(principals.principalId)).limit(limit));

export const groupIds = (where: Condition, limit: number): SQL =>
  sql`select ${principals.principalId} from ${principals} where ${hasNoCascade(where)} order by ${principals.principalId} limit ${limit}`;

/** The ids of all principals of a group except some, as a query. */
export const groupIdsExcept = (where: Condition, without: readonly string[] = []): SQL =>
  sql`select ${principals.principalId} from ${principals} where ${and(isMovable(where), notInArray(principals.principalId, [...without]))}`;

export const isGroupStopping = (db: Database, where: Condition): Read<boolean> =>
  read(
    db
      .select({ found: sql<number>`1` })
      .from(principals)
      .where(
        and(
          isMovable(where),
          sql`exists (select 1 from ${walks} where ${walks.kind} = 'cascade' and ${walks.subject} = ${principals.principalId}
            and ${walks.trigger} <> 'principal_returns')`,
        ),
      )
      .limit(1),
    (rows) => rows.length > 0,
  );

/** Aborts the batch unless all principals are as they were read. */
export const refuseChangedPrincipals = (db: Database, rows: readonly PrincipalRow[]): Statement => {
  const known = rows.map(({ principalId, updatedAt }) => [principalId, updatedAt]);
  return guard(
    db,
    sql`(select count(*) from ${eachOf(known)} as known cross join principals p on p.principal_id = known.value ->> 0
      where p.updated_at = known.value ->> 1) = ${sql.raw(String(rows.length))}`,
  );
};

/** The attestation's stop after an act, like `toAttestationStop` of effective-status.ts. */
export const selectAttestationStop = (now: number): SQL<AttestationStop | null> =>
  sql`coalesce(attestation_stop, case when attestation_expires_at <= ${now} then 'attestation_expired' end)`;

/** True for an end that no job has recorded, like `isEndUnrecorded` of cascades/expire.ts. An act on a group never meets a closed account. */
export const hasUnrecordedEnd = (now: number): SQL => sql`(status = 'ACTIVE' and attestation_expires_at <= ${now})`;

/** The status after an act, like `toStoredStatus` of effective-status.ts. */
export function selectStatusAfter(
  { platformStopped, customerStopped, attestationStop }: Partial<Stops>,
  now: number,
): SQL<PrincipalStatus> {
  const flag = (value: boolean | undefined, column: SQL) => (value === undefined ? column : sql.raw(value ? "1" : "0"));
  const attested =
    attestationStop === undefined ? sql`${selectAttestationStop(now)} is null` : flag(attestationStop === null, sql``);
  return sql<PrincipalStatus>`case
    when ${flag(platformStopped, sql`platform_stopped`)} or ${flag(customerStopped, sql`customer_stopped`)} then 'SUSPENDED'
    when ${attested} then 'ACTIVE' else 'ATTESTATION_EXPIRED' end`;
}
