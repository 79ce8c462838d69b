// The catalogue of events (EVT-1 to EVT-3). An event is written in the batch of the change that it reports, and delivered after the
// commit (outbox.ts).
import { createId } from "../core/ids.ts";
import type { Environment } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { Owner } from "../db/tenant.ts";
import { findEventSubject } from "./event-subjects.ts";
import { insertEvent, insertEvents } from "./store.ts";

export const EVENT_TYPES = [
  "platform.verification_decided",
  "platform.profile_decided",
  "transaction.settled",
  "transaction.reversed",
  "dispute.filed",
  "dispute.resolved",
  "agent.status_changed",
  "agent.registered",
  "agent.activated",
  "agent.key_rotated",
  "agent.transferred",
  "agent.promoted",
  "agent.escrow_state_changed",
  "principal.status_changed",
  "principal.attestation_expiring",
  "task.opened",
  "task.closed",
  "intent.paid",
  "intent.abandoned",
  "dispute.updated",
  "market.provisioned",
  "api_key.rotated",
  "webhook.test",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

type Members = Record<string, unknown>;
/** `object` is the resource as the API returns it; `previous` has the earlier values of what changed, depending on the type (EVT-33). */
export type Event = { readonly type: EventType; readonly object: Members; readonly previous?: Members };

export const recordEvent = (db: Database, owner: Owner, now: number, event: Event): Statement =>
  insertEvent(db, toEventRow(owner, now, event));

/** Builds an event's row, for a caller that needs it before it is written. */
export const toEventRow = ({ platformId, environment }: Owner, now: number, { type, object, previous }: Event) => ({
  platformId,
  environment,
  id: createId("evt", now),
  type,
  occurredAt: now,
  object,
  previous: previous ?? null,
  ...readNamed(type, object),
});

/** Reads the agent and the subject from an object. For purchases, `recordEventForParties` names the agents. */
function readNamed(type: EventType, object: Members) {
  const agentDid = typeof object["did"] === "string" ? object["did"] : null;
  return { agentDid, subject: findEventSubject({ type, object, agentDid }) };
}

export const recordEvents = (
  db: Database,
  now: number,
  type: EventType,
  each: readonly { owner: Owner; object: Members; previous?: Members }[],
): Statement[] =>
  insertEvents(
    db,
    { at: now, type },
    each.map(({ owner, object, previous }) => ({
      platformId: owner.platformId,
      environment: owner.environment,
      id: createId("evt", now),
      object,
      previous: previous ?? null,
      ...readNamed(type, object),
    })),
  );

/** The two agents of an intent or a transaction, and their platforms. */
export type Parties = {
  readonly environment: Environment;
  readonly consumerDid: string;
  readonly providerDid: string;
  readonly consumerPlatformId: string;
  readonly providerPlatformId: string;
};

/** Records the event for each party's platform, about its own agent. If both agents are of one platform, it records one event about both (EVT-2). */
export const recordEventForParties = (
  db: Database,
  { environment, consumerDid, providerDid, consumerPlatformId, providerPlatformId }: Parties,
  now: number,
  event: Event,
): Statement[] => {
  const write = (platformId: string, agentDid: string, otherDid: string | null) =>
    insertEvent(db, {
      platformId,
      environment,
      id: createId("evt", now),
      type: event.type,
      occurredAt: now,
      object: event.object,
      agentDid,
      otherDid,
      subject: findEventSubject({ ...event, agentDid, otherDid }),
    });
  if (providerPlatformId === consumerPlatformId) return [write(providerPlatformId, providerDid, consumerDid)];
  return [write(providerPlatformId, providerDid, null), write(consumerPlatformId, consumerDid, null)];
};
