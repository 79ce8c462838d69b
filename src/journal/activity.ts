// Specification 2.11: the activity log. An entry is written in the batch of the change that it tells of.
import { sql } from "drizzle-orm";
import { newId } from "../core/ids.ts";
import type { Actor } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import { activityEntries } from "../db/tables/journal.ts";
import type { Owner } from "../db/tenant.ts";
import { inParts } from "./parts.ts";

/** Before and after of each field that an edit changed. */
export type Changes = Record<string, { from: unknown; to: unknown }>;

/** The actions of the log, by area of specification 2.11. */
export type ActivityAction =
  | "principal.registered"
  | "principal.attestation_expired"
  | "agent.registered"
  | "agent.activated"
  | "agent.scope_changed"
  | "agent.markets_changed"
  | "agent.certificate_reissued"
  | "agent.suspended"
  | "agent.reactivated"
  | "agent.terminated";

export const recordActivity = (
  db: Database,
  owner: Owner,
  now: number,
  entry: { action: ActivityAction; actor: Actor; subject: { type: string; id: string }; changes?: Changes },
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

/** One entry of each, as `recordActivity`. */
export const recordActivities = (
  db: Database,
  now: number,
  entry: { action: ActivityAction; actor: Actor; subjectType: string },
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
