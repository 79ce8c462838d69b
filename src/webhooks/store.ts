// Store of endpoints.
import { and, eq, type SQL, sql } from "drizzle-orm";
import { WEBHOOKS_MAX } from "../core/limits.ts";
import type { AskedRows } from "../core/page.ts";
import {
  type Database,
  mustChange,
  type PlainStatement,
  type Read,
  read,
  readAll,
  readOne,
  type Statement,
} from "../db/batch.ts";
import { readNewest } from "../db/pages.ts";
import { events } from "../db/tables/journal.ts";
import { type EndpointRow, webhookEndpoints as endpoints } from "../db/tables/webhooks.ts";
import { isOfTenant, type Tenant } from "../db/tenant.ts";

export const findEndpoint = (db: Database, tenant: Tenant, webhookId: string): Read<EndpointRow | null> =>
  readOne(
    db
      .select()
      .from(endpoints)
      .where(and(eq(endpoints.webhookId, webhookId), isOfTenant(endpoints, tenant))),
  );

/** For the endpoint's own object, which knows no tenant. */
export const findById = (db: Database, webhookId: string): Read<EndpointRow | null> =>
  readOne(db.select().from(endpoints).where(eq(endpoints.webhookId, webhookId)));

/** Newest first; ids are time-ordered. */
export const listEndpoints = (db: Database, tenant: Tenant, page: AskedRows): Read<EndpointRow[]> =>
  readNewest(db, { table: endpoints, where: isOfTenant(endpoints, tenant), id: endpoints.webhookId }, page);

const selectEndpointCount = (tenant: Tenant): SQL<number> =>
  sql<number>`(select count(*) from ${endpoints} where ${isOfTenant(endpoints, tenant)})`;

/** Never more than WEBHOOKS_MAX, which the insert enforces. */
export const countEndpoints = (db: Database, tenant: Tenant): Read<number> =>
  read(db.select({ count: selectEndpointCount(tenant).as("count") }).from(sql`(select 1)`), ([row]) => row?.count ?? 0);

/** Fails (Conflict) if the account has WEBHOOKS_MAX endpoints already. The new endpoint gets the events that are written from now on. */
export const insertEndpoint = (db: Database, row: Omit<EndpointRow, "eventsAfter" | "replays">): Statement[] =>
  mustChange(
    db,
    db.insert(endpoints).select(
      sql`select ${row.webhookId}, ${row.platformId}, ${row.environment}, ${row.url}, ${JSON.stringify(row.eventTypes)}, ${row.description},
        ${row.status}, ${row.disabledCause}, ${row.secret}, ${row.sealKey}, ${row.previousSecret}, ${row.previousUntil}, ${row.failingSince},
        coalesce((select max(seq) from ${events}), 0), null, ${row.createdAt}, ${row.updatedAt}
        where ${selectEndpointCount(row)} < ${WEBHOOKS_MAX}`,
    ),
  );

/** Fails (Conflict) if the endpoint changed since it was read. */
export const updateEndpoint = (
  db: Database,
  { webhookId, updatedAt }: EndpointRow,
  set: Partial<Omit<EndpointRow, "webhookId">>,
): Statement[] =>
  mustChange(
    db,
    db
      .update(endpoints)
      .set(set)
      .where(and(eq(endpoints.webhookId, webhookId), eq(endpoints.updatedAt, updatedAt))),
  );

/** Fails (Conflict) if another call deleted it. */
export const deleteEndpoint = (db: Database, webhookId: string): Statement[] =>
  mustChange(db, db.delete(endpoints).where(eq(endpoints.webhookId, webhookId)));

export const deleteEndpointsOf = (db: Database, platformId: string): Statement =>
  db.delete(endpoints).where(eq(endpoints.platformId, platformId));

/** `failingSince`: when the failures began; null once they are over. */
export const recordFailingSince = (db: Database, webhookId: string, failingSince: number | null): PlainStatement =>
  db.update(endpoints).set({ failingSince }).where(eq(endpoints.webhookId, webhookId));

/** Fails (Conflict) if another replay was requested meanwhile. */
export const recordReplayRequest = (
  db: Database,
  { webhookId, replays }: EndpointRow,
  asked: readonly number[],
): Statement[] =>
  mustChange(
    db,
    db
      .update(endpoints)
      .set({ replays: asked })
      .where(
        and(
          eq(endpoints.webhookId, webhookId),
          sql`${endpoints.replays} is ${replays === null ? null : JSON.stringify(replays)}`,
        ),
      ),
  );

export const isEnabled = (webhookId: string): SQL =>
  sql`exists (select 1 from ${endpoints} where webhook_id = ${webhookId} and status = 'enabled')`;

// ---- Sealing -------------------------------------------------------------------------------------------------------------

/** Endpoints after `after` whose secret is not sealed under the newest key: two ranges of an index by seal key. */
export const findNotSealedUnder = (db: Database, newest: string, after: string, limit: number): Read<EndpointRow[]> => {
  const range = (other: SQL) =>
    sql`select webhook_id from (select webhook_id from webhook_endpoints where seal_key ${other} and webhook_id > ${after} limit ${limit})`;
  return readAll(
    db
      .select()
      .from(endpoints)
      .where(sql`webhook_id in (${range(sql`< ${newest}`)} union all ${range(sql`> ${newest}`)})`)
      .orderBy(endpoints.webhookId)
      .limit(limit),
  );
};
