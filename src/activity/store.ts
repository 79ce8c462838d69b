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
