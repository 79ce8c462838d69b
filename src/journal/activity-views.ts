// An activity entry as the API returns it. The running hash covers this view, so a new member changes every hash.
import { toIso } from "../core/clock.ts";
import type { ActivityAction } from "../core/vocabulary.ts";
import { toActivityId } from "./activity-id.ts";
import type { ShownRow } from "./activity-store.ts";
import type { ActivityEntry } from "./responses.ts";

export const toEntryId = ({ platformId, seq, occurredAt }: ShownRow): string =>
  toActivityId(platformId, seq, occurredAt);

export const toActivityEntryView = (row: ShownRow): ActivityEntry => ({
  id: toEntryId(row),
  seq: row.seq,
  occurred_at: toIso(row.occurredAt),
  action: row.action as ActivityAction,
  actor: { type: row.actorType, id: row.actorId },
  subject: { type: row.subjectType, id: row.subjectId },
  environment: row.environment,
  ...(row.changes !== null && { changes: row.changes }),
});
