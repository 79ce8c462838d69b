// Events about a platform's resources. An event is written in the batch of the change that it reports (EVT-1 to EVT-3), and delivered to the
// subscribers after the commit (EVT-4).
import type { Deps } from "../context.ts";
import { createId } from "../core/ids.ts";
import { retryConflicts } from "../core/retry.ts";
import type { Environment } from "../core/vocabulary.ts";
import { commit, type Database, readBatch, type Statement } from "../db/batch.ts";
import type { Owner } from "../db/statement.ts";
import type { EventRow } from "../db/tables/journal.ts";
import { findMark, findNewEvents, insertEvent, insertEvents, moveMark } from "./log-store.ts";

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

// ---- Recording -----------------------------------------------------------------------------------------------------------

export const recordEvent = (db: Database, owner: Owner, now: number, event: Event): Statement =>
  insertEvent(db, toEventRow(owner, now, event));

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

// ---- The subject (EVT-18) ------------------------------------------------------------------------------------------------

type EventFacts = {
  readonly type: string;
  readonly object: Readonly<Record<string, unknown>>;
  readonly agentDid: string | null;
  readonly otherDid?: string | null;
};

/** The id by which events can be filtered, besides the DIDs of its agents; null if that is one of them. */
function findEventSubject({ type, object, agentDid, otherDid = null }: EventFacts): string | null {
  const [noun = ""] = type.split(".");
  const own = object[OWN_ID[noun] ?? ""];
  return typeof own !== "string" || own === agentDid || own === otherDid ? null : own;
}

/** The member of an event's object that holds its subject, by the noun that the type begins with. */
const OWN_ID: Readonly<Record<string, string>> = {
  agent: "did",
  api_key: "key_id",
  dispute: "dispute_id",
  intent: "intent_id",
  market: "did",
  platform: "platform_id",
  principal: "principal_id",
  task: "task_id",
  transaction: "transaction_id",
  webhook: "webhook_id",
};

// ---- Delivery (EVT-4) ----------------------------------------------------------------------------------------------------

/**
 * Receives events in order, each at least once. An exception stops the delivery, which is retried. The returned statements are committed with the
 * mark, and so exactly once; none of them may refuse the batch.
 */
export type Subscriber = (deps: Deps, events: readonly EventRow[]) => Promise<readonly Statement[]>;

export const EVENT_SLICE = 100;
/** Among this many waiting events, the oldest tells how late they are: a sandbox clock may have dated the first of them ahead. */
export const LAG_SEEN_IN = 20;

/** Reads the outbox by number from the last mark, so a lost notification loses nothing, and after a crash the same events are delivered again. */
export async function deliverNewEvents(deps: Deps, subscribers: readonly Subscriber[]): Promise<number> {
  for (let delivered = 0; ; ) {
    // If another run has delivered the same events and moved the mark, the rest is read again.
    const slice = await retryConflicts(() => deliverNextSlice(deps, subscribers));
    delivered += slice;
    if (slice < EVENT_SLICE) return delivered;
  }
}

export async function deliverNextSlice(deps: Deps, subscribers: readonly Subscriber[]): Promise<number> {
  const slice = await findOutboxSlice(deps);
  return slice === null ? 0 : deliverSlice(deps, subscribers, slice);
}

/** `from`: the mark that the events follow. `oldestAt`: when the oldest of them was written. */
export type EventSlice = {
  readonly from: number;
  readonly oldestAt: number;
  readonly last: EventRow;
  readonly events: readonly EventRow[];
};

export async function findOutboxSlice({ db }: Deps): Promise<EventSlice | null> {
  const { mark, events } = await readBatch(db, { mark: findMark(db), events: findNewEvents(db, EVENT_SLICE) });
  const last = events.at(-1);
  const oldestAt = Math.min(...events.slice(0, LAG_SEEN_IN).map(({ occurredAt }) => occurredAt));
  return last ? { from: mark?.seq ?? 0, oldestAt, last, events } : null;
}

export async function deliverSlice(
  deps: Deps,
  subscribers: readonly Subscriber[],
  { from, last, events }: EventSlice,
): Promise<number> {
  const statements: Statement[] = [];
  for (const subscriber of subscribers) statements.push(...(await subscriber(deps, events)));
  await commit(deps.db, [...moveMark(deps.db, from, last.seq), ...statements]);
  return events.length;
}
