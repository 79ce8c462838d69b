// The activity log (EVT-6 to EVT-8). An entry is written in the batch of the change that it reports.
import { newId } from "../core/ids.ts";
import type { Actor } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { Owner } from "../db/tenant.ts";
import { insertEntries, insertEntry } from "./store.ts";

/** The values before and after of each field that an edit changed. */
export type Changes = Record<string, { from: unknown; to: unknown }>;

/** The actions of the log (EVT-7). */
export type ActivityAction =
  | "account.registered"
  | "account.email_verified"
  | "account.profile_changed"
  | "account.document_submitted"
  | "account.verification_submitted"
  | "account.verification_decided"
  | "account.promoted"
  | "account.password_changed"
  | "account.password_reset"
  | "account.email_changed"
  | "account.suspended"
  | "account.reinstated"
  | "account.closed"
  | "account.attestation_renewed"
  | "session.created"
  | "session.ended"
  | "api_key.issued"
  | "api_key.rotated"
  | "principal.registered"
  | "principal.attestation_expired"
  | "principal.closed"
  | "agent.registered"
  | "agent.activated"
  | "agent.scope_changed"
  | "agent.markets_changed"
  | "agent.certificate_reissued"
  | "agent.suspended"
  | "agent.reactivated"
  | "agent.revoked"
  | "agent.terminated";

export const recordActivity = (
  db: Database,
  owner: Owner,
  now: number,
  entry: { action: ActivityAction; actor: Actor; subject: { type: string; id: string }; changes?: Changes },
): Statement =>
  insertEntry(db, {
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

/** One entry for each subject, as `recordActivity`. */
export const recordActivities = (
  db: Database,
  now: number,
  entry: { action: ActivityAction; actor: Actor; subjectType: string },
  each: readonly { owner: Owner; id: string; changes: Changes }[],
): Statement[] =>
  insertEntries(
    db,
    { at: now, ...entry },
    each.map(({ owner, id, changes }) => ({
      platformId: owner.platformId,
      id: newId("act", now),
      environment: owner.environment,
      subjectId: id,
      changes,
    })),
  );
