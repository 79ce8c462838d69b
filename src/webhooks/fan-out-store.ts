// Store of the fan-out: the events after its mark, and the endpoints of their owners.
import { asc, eq, sql } from "drizzle-orm";
import { type Database, type Read, read, readAll } from "../db/batch.ts";
import { isOneOf } from "../db/lists.ts";
import { splitIntoParts } from "../db/parts.ts";
import { agents } from "../db/tables/agents.ts";
import { type EventRow, events } from "../db/tables/journal.ts";
import { paymentIntents } from "../db/tables/money.ts";
import { type EndpointRow, webhookEndpoints as endpoints } from "../db/tables/webhooks.ts";
import { selectMark } from "../journal/outbox-store.ts";

const MARK = selectMark("webhooks");

export const findUnfanned = (db: Database, limit: number) => ({
  mark: read(db.select({ seq: sql<number>`${MARK}`.as("seq") }).from(sql`(select 1)`), ([row]) => row?.seq ?? 0),
  fresh: readAll(db.select().from(events).where(sql`${events.seq} > ${MARK}`).orderBy(asc(events.seq)).limit(limit)),
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
