// What every consequential change leaves behind, in the batch of the change itself: an activity entry (2.11), an event in
// the outbox (6) and a directory change record (2.10). Their reading sides stand elsewhere.
import { sql } from "drizzle-orm";
import type { Actor } from "../call.ts";
import { newId } from "../core/ids.ts";
import type { Database, Statement } from "../db/batch.ts";
import { activityEntries, directoryChanges, events } from "../db/tables.ts";

export type EventType =
  | "platform.verification_decided"
  | "transaction.settled"
  | "dispute.filed"
  | "dispute.resolved"
  | "agent.status_changed"
  | "agent.registered"
  | "agent.activated"
  | "agent.key_rotated"
  | "agent.transferred"
  | "agent.promoted"
  | "agent.escrow_state_changed"
  | "principal.status_changed"
  | "principal.attestation_expiring"
  | "task.opened"
  | "task.closed"
  | "intent.abandoned"
  | "dispute.updated"
  | "market.provisioned"
  | "api_key.rotated";

export type Owner = { platformId: string; environment: string };
export type Changes = Record<string, { from: unknown; to: unknown }>;

export const recordActivity = (
  db: Database,
  owner: Owner,
  now: number,
  entry: { action: string; actor: Actor; subject: { type: string; id: string }; changes?: Changes },
): Statement =>
  db.insert(activityEntries).values({
    platformId: owner.platformId,
    id: newId("act", now),
    environment: owner.environment,
    occurredAt: now,
    action: entry.action,
    actorType: entry.actor.type,
    actorId: entry.actor.id,
    subjectType: entry.subject.type,
    subjectId: entry.subject.id,
    changes: entry.changes ?? null,
  });

/** `object` is the resource as the API would return it. */
export const recordEvent = (
  db: Database,
  owner: Owner,
  now: number,
  event: { type: EventType; object: Record<string, unknown> },
): Statement =>
  db.insert(events).values({
    platformId: owner.platformId,
    environment: owner.environment,
    id: newId("evt", now),
    type: event.type,
    occurredAt: now,
    object: event.object,
  });

/** What is written of many at once goes in as JSON, in parts that D1 takes: at most 2 MB a parameter. */
const PART_CHARS = 500_000;

function inParts(rows: readonly unknown[]): string[] {
  const parts: string[][] = [];
  let size = PART_CHARS;
  for (const row of rows) {
    const text = JSON.stringify(row);
    if (size + text.length > PART_CHARS) {
      parts.push([]);
      size = 0;
    }
    parts.at(-1)?.push(text);
    size += text.length;
  }
  return parts.map((part) => `[${part.join(",")}]`);
}

/** One event of each, as `recordEvent`. */
export const recordEvents = (
  db: Database,
  now: number,
  type: EventType,
  each: readonly { owner: Owner; object: Record<string, unknown> }[],
): Statement[] =>
  inParts(each.map(({ owner, object }) => [owner.platformId, owner.environment, newId("evt", now), object])).map(
    (part) =>
      db
        .insert(events)
        .select(
          sql`select value ->> 0, value ->> 1, value ->> 2, ${type}, ${now}, value -> 3, null from json_each(${part})`,
        ),
  );

/** One entry of each, as `recordActivity`. */
export const recordActivities = (
  db: Database,
  now: number,
  entry: { action: string; actor: Actor; subjectType: string },
  each: readonly { owner: Owner; id: string; changes: Changes }[],
): Statement[] =>
  inParts(
    each.map(({ owner, id, changes }) => [owner.platformId, newId("act", now), owner.environment, id, changes]),
  ).map((part) =>
    db.insert(activityEntries).select(
      sql`select value ->> 0, value ->> 1, value ->> 2, ${now}, ${entry.action}, ${entry.actor.type}, ${entry.actor.id},
            ${entry.subjectType}, value ->> 3, value -> 4 from json_each(${part})`,
    ),
  );

/** One record of each, in one order, as `recordDirectoryChange`. */
export const recordDirectoryChanges = (
  db: Database,
  changeType: ChangeType,
  now: number,
  each: readonly { environment: string; did: string }[],
): Statement[] =>
  inParts(each.map(({ environment, did }) => [environment, did])).map((part) =>
    db.insert(directoryChanges).select(
      sql`select value ->> 0, row_number() over (partition by value ->> 0 order by key)
          + (select coalesce(max(d.seq), 0) from directory_changes d where d.environment = value ->> 0),
          value ->> 1, ${changeType}, ${now} from json_each(${part})`,
    ),
  );

/** The same event for each platform that is a party; one when both sides are of one platform. */
export const recordEventForParties = (
  db: Database,
  platformIds: readonly string[],
  environment: string,
  now: number,
  event: { type: EventType; object: Record<string, unknown> },
): Statement[] =>
  [...new Set(platformIds)].map((platformId) => recordEvent(db, { platformId, environment }, now, event));

export type ChangeType = "registered" | "updated" | "status_changed" | "revoked";

/** `seq` is drawn inside the batch: D1 runs one batch at a time, so its order is the order of commits. */
export const recordDirectoryChange = (
  db: Database,
  environment: string,
  did: string,
  changeType: ChangeType,
  now: number,
): Statement =>
  db.insert(directoryChanges).values({
    environment,
    seq: sql`(select coalesce(max(seq), 0) + 1 from directory_changes where environment = ${environment})`,
    did,
    changeType,
    occurredAt: now,
  });
