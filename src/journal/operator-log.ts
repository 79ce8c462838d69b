// The operators' own log (EVT-16): what a person or key of the operator did, written in the batch of the act. Acts that a platform may see are in its
// activity log as well.
import type { Actor, OperatorAction } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import { insertOperatorEntry } from "./operator-log-store.ts";

export type OperatorAct = {
  readonly action: OperatorAction;
  readonly subject: { readonly type: string; readonly id: string };
  /** The account that the act concerns. */
  readonly platformId?: string;
  /** Facts for a later reader; never a secret or the content of a document. */
  readonly detail?: Readonly<Record<string, unknown>>;
};

export const recordOperatorEntry = (
  db: Database,
  operator: Actor,
  now: number,
  { action, subject, platformId, detail }: OperatorAct,
): Statement =>
  insertOperatorEntry(db, {
    occurredAt: now,
    operatorId: operator.id,
    action,
    subjectType: subject.type,
    subjectId: subject.id,
    platformId: platformId ?? null,
    detail: detail ?? null,
  });
