// Store of endpoints, of the slices of events that are fanned out to them, and of their replays.
import { and, asc, eq, gt, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/clock.ts";
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
import { isOneOf } from "../db/lists.ts";
import { readNewest, selectBareColumns } from "../db/pages.ts";
import { splitIntoParts } from "../db/parts.ts";
import { isOfTenant, type Tenant } from "../db/statement.ts";
import { platforms } from "../db/tables/accounts.ts";
import { agents } from "../db/tables/agents.ts";
import { type EventRow, events } from "../db/tables/journal.ts";
import { paymentIntents } from "../db/tables/money.ts";
import { type Walk, walks } from "../db/tables/walks.ts";
import { type EndpointRow, webhookEndpoints as endpoints } from "../db/tables/webhooks.ts";
import { beginWalk, deleteWalks, RESTARTED_AT, WALK_KEY } from "../jobs/walk-store.ts";
import { selectMark } from "../journal/log-store.ts";

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

// ---- Fan-out (EVT-24) ----------------------------------------------------------------------------------------------------

const FAN_OUT_MARK = selectMark("webhooks");

export const findUnfanned = (db: Database, limit: number) => ({
  mark: read(
    db.select({ seq: sql<number>`${FAN_OUT_MARK}`.as("seq") }).from(sql`(select 1)`),
    ([row]) => row?.seq ?? 0,
  ),
  fresh: readAll(
    db.select().from(events).where(sql`${events.seq} > ${FAN_OUT_MARK}`).orderBy(asc(events.seq)).limit(limit),
  ),
});

export const findOpeners = (db: Database, intentIds: readonly string[]) =>
  readAll(
    db
      .select({ intentId: paymentIntents.intentId, platformId: agents.platformId })
      .from(paymentIntents)
      .innerJoin(agents, eq(agents.did, paymentIntents.openedBy))
      .where(isOneOf(paymentIntents.intentId, intentIds)),
  );

export function findReceivers(db: Database, fresh: readonly EventRow[]): Read<EndpointRow[]> {
  const owners = new Set(fresh.map(({ platformId, environment }) => JSON.stringify([platformId, environment])));
  const [part] = splitIntoParts([...owners].map((owner) => JSON.parse(owner)));
  return readAll(
    db
      .select()
      .from(endpoints)
      .where(
        part === undefined
          ? sql`false`
          : sql`(platform_id, environment) in (select value ->> 0, value ->> 1 from ${part.rows}) and status = 'enabled'`,
      ),
  );
}

// ---- Replays (EVT-31) ----------------------------------------------------------------------------------------------------

/** The due replays, in the order of their endpoints. If an account has used up its volume, its replay is due when the day of the mark ends. */
export const findReplays = (db: Database, now: number, after: string, limit: number): Read<Due[]> => {
  const markedUntil = sql`coalesce(json_extract(${platforms.volumeMarks}, '$.' || (payload ->> 'environment') || '.until'), 0)`;
  return readAll(
    db
      .select({ at: sql<number>`max(${walks.startedAt}, ${markedUntil})`.as("at"), id: walks.subject })
      .from(walks)
      .crossJoin(platforms)
      .where(
        and(
          eq(walks.kind, "replay"),
          gt(walks.subject, after),
          sql`${platforms.platformId} = payload ->> 'platformId' and ${markedUntil} <= ${now}`,
        ),
      )
      .orderBy(walks.subject)
      .limit(limit),
  );
};

export const findLastNumber = (db: Database): Read<number> =>
  read(db.select({ seq: sql<number | null>`max(seq)`.as("seq") }).from(events), ([row]) => row?.seq ?? 0);

type NumberRange = { readonly after: number; readonly upTo: number; readonly startedAt: number };

/** Widens a replay that already runs, so some events are queued twice. */
export function beginReplay(
  db: Database,
  { webhookId, platformId, environment }: EndpointRow,
  { after, upTo, startedAt }: NumberRange,
): Statement {
  const payload = { platformId, environment, toSeq: upTo };
  return beginWalk(db, "replay", webhookId, { startedAt, after: { at: after, id: "" }, payload }).onConflictDoUpdate({
    target: WALK_KEY,
    set: {
      startedAt: RESTARTED_AT,
      afterAt: sql`min(after_at, excluded.after_at)`,
      payload: sql`case when payload ->> 'toSeq' > ${upTo} then payload else excluded.payload end`,
    },
  });
}

export const findReplayed = (
  db: Database,
  { platformId, environment }: EndpointRow,
  { afterAt, payload }: Walk<"replay">,
  limit: number,
): Read<EventRow[]> =>
  readAll(
    db.select(selectBareColumns(events)).from(
      sql`events indexed by events_by_tenant where listed = 1 and platform_id = ${platformId} and environment = ${environment}
          and seq > ${afterAt} and seq <= ${payload.toSeq} order by seq limit ${limit}`,
    ),
  );

export const deleteReplay = (db: Database, webhookId: string): PlainStatement =>
  deleteWalks(db, "replay", eq(walks.subject, webhookId));
