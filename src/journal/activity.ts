// The activity log (EVT-6 to EVT-8). An entry is written in the batch of the change that it reports.
import type { ActivityAction, Actor } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { Owner } from "../db/tenant.ts";
import { insertEntries, insertEntry } from "./activity-store.ts";
import type { LastNumber } from "./last-number-store.ts";

export type Changes = Record<string, { from: unknown; to: unknown }>;

export const recordActivity = (
  db: Database,
  owner: Owner,
  now: number,
  entry: { action: ActivityAction; actor: Actor; subject: { type: string; id: string }; changes?: Changes },
): Statement =>
  insertEntry(db, {
    platformId: owner.platformId,
    environment: owner.environment,
    occurredAt: now,
    action: entry.action,
    actorType: entry.actor.type,
    actorId: entry.actor.id,
    subjectType: entry.subject.type,
    subjectId: entry.subject.id,
    changes: entry.changes ?? null,
  });

/** Records one entry for each subject. `noted`: the last number, if all subjects are of one platform (last-number-store.ts). */
export const recordActivities = (
  db: Database,
  now: number,
  entry: { action: ActivityAction; actor: Actor; subjectType: string },
  each: readonly { owner: Owner; id: string; changes: Changes }[],
  noted?: LastNumber,
): Statement[] =>
  [...Map.groupBy(each, ({ owner }) => owner.platformId)].flatMap(([platformId, own]) =>
    insertEntries(
      db,
      platformId,
      { at: now, ...entry },
      own.map(({ owner, id, changes }) => ({ environment: owner.environment, subjectId: id, changes })),
      noted,
    ),
  );
