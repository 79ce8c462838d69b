// Store of the list of events about an agent (EVT-17): a range of each index of agents, the latest first, by instant and then by number.
import { and, type SQL, sql } from "drizzle-orm";
import type { Position } from "../core/page.ts";
import { type Database, type Read, readAll } from "../db/batch.ts";
import { bareColumns, pageOf } from "../db/pages.ts";
import { type EventRow, events } from "../db/tables/journal.ts";
import type { Tenant } from "../db/tenant.ts";

const shown = bareColumns(events);
const ORDER = sql`occurred_at desc, seq desc`;

export const listEventsAbout = (
  db: Database,
  tenant: Tenant,
  did: string,
  /** The first instant of those that are listed. */
  first: number,
  page: { readonly limit: number; readonly after: Position | null },
): Read<EventRow[]> => {
  const about = [sql`agent_did`, sql`other_did`].map(
    (column) => sql`platform_id = ${tenant.platformId} and environment = ${tenant.environment} and ${column} = ${did}`,
  );
  const older = page.after === null ? undefined : olderThan(about, page.after);
  const from = about.map((own) => sql`events where ${and(own, sql`occurred_at >= ${first}`, older)}`);
  return readAll(db.select(shown).from(pageOf({ columns: shown, from, order: ORDER }, page.limit)));
};

/** A cursor names an event by its id: the number would tell of all platforms' events. */
function olderThan(about: readonly SQL[], { at, id }: Position): SQL {
  const each = about.map((own) => sql`select seq from events where ${own} and occurred_at = ${at} and id = ${id}`);
  return sql`(occurred_at, seq) < (${at}, (${sql.join(each, sql` union all `)}))`;
}
