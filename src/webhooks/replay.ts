// Queues the events since an event or instant again for one endpoint (EVT-31). The call writes one row; a job queues the events slice by slice and
// moves the replay's mark in the same commit, so that a crash neither skips an event nor queues it twice.
import { type ManagementCall, type Precheck, precheck } from "../call.ts";
import type { Deps } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { addDailyRequests } from "../core/daily.ts";
import { type FieldError, ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { REPLAYS_A_DAY } from "../core/limits.ts";
import { findVolumeMark } from "../core/volume.ts";
import { commit, dropAbsentReads, readBatch } from "../db/batch.ts";
import type { EndpointRow } from "../db/tables/webhooks.ts";
import type { EachJob, Recorded } from "../jobs/job.ts";
import { listNewEvents } from "../jobs/tend-events.ts";
import { findEventNumber, findEventNumberAt } from "../journal/event-log-store.ts";
import { computeOldestListed, mayBeOlder } from "../journal/event-views.ts";
import { countVolumes } from "../journal/volume.ts";
import { findVolumes } from "../journal/volume-store.ts";
import { countBodyBytes, orderDeliveryIds, selectsType, toNewDelivery } from "./fan-out.ts";
import { notifyDue } from "./nudge.ts";
import { queueDeliveries } from "./queue-store.ts";
import { readRealTime, requireEnabled } from "./read.ts";
import {
  beginReplay,
  deleteReplay,
  endReplay,
  findLastNumber,
  findReplay,
  findReplayed,
  findReplays,
  moveReplay,
} from "./replay-store.ts";
import type { ReplayView } from "./responses.ts";
import type { ReplayInput } from "./schema.ts";
import { findById, recordReplayRequest } from "./store.ts";

const REPLAY_LIMIT = {
  most: REPLAYS_A_DAY,
  message: `An endpoint's events can be replayed at most ${REPLAYS_A_DAY} times in 24 hours.`,
};

type Since = ReplayInput["since"];

/** The number of the event after which the replay begins; null if there is no such event. */
const findStart = ({ db, tenant }: ManagementCall, since: Since, first: number) =>
  "id" in since ? findEventNumber(db, tenant, since.id, first) : findEventNumberAt(db, tenant, since.at, first);

/** The fault of `since`; `after` is the number that was found for it. */
function findSinceFault(call: ManagementCall, since: Since, after: number | null): FieldError | null {
  if ("at" in since && since.at > call.now) return toFieldError("since", "invalid_value", "Must not be in the future.");
  return after === null && !isExpired(call, since) ? toFieldError("since", "not_found") : null;
}

/** True for an event that is no longer shown. An instant that old begins with the first event that is shown. */
function isExpired(call: ManagementCall, since: Since): boolean {
  return "id" in since && mayBeOlder(since.id, computeOldestListed(readRealTime(call)), call.now - readRealTime(call));
}

/** `since` is judged with the other fields. */
export const precheckReplay = (call: ManagementCall, { since }: Partial<ReplayInput>): Precheck =>
  precheck(
    dropAbsentReads({
      after: since === undefined ? null : findStart(call, since, computeOldestListed(readRealTime(call))),
    }),
    ({ after = null }) => {
      const fault = since === undefined ? null : findSinceFault(call, since, after);
      return fault === null ? [] : [fault];
    },
  );

export async function replayEvents(call: ManagementCall<EndpointRow>, { since }: ReplayInput): Promise<ReplayView> {
  const { db, deps } = call;
  const now = readRealTime(call);
  const {
    object: own,
    after,
    last,
  } = await call.read({
    after: findStart(call, since, computeOldestListed(now)),
    last: findLastNumber(db),
  });
  const { webhookId } = own;
  const fault = findSinceFault(call, since, after);
  if (fault !== null) throw toValidationError([fault]);
  if (after === null) throw new ServiceError("cursor_expired");
  requireEnabled(own);
  const asked = addDailyRequests(own.replays, 1, now, REPLAY_LIMIT);
  const view = { webhook_id: webhookId, since: "id" in since ? since.id : toIso(since.at), asked_at: toIso(now) };
  await call.commit(
    [...recordReplayRequest(db, own, asked), beginReplay(db, own, { afterSeq: after, toSeq: last, askedAt: now })],
    view,
  );
  call.background(startReplay(deps, webhookId));
  return view;
}

/** If the message is lost, the minute's job continues. */
async function startReplay({ env }: Deps, webhookId: string): Promise<void> {
  await env.JOB_QUEUE.send({ kind: "record", job: replayJob.name, ids: [webhookId], apart: true }).catch(
    () => undefined,
  );
}

const SLICE = 100;
/** Slices of one message (JOB-12). */
const SLICES = 5;

export const replayJob: EachJob = {
  kind: "each",
  name: "replay_events",
  part: 1,
  find: async ({ db, clock }, after, limit) => {
    const { running } = await readBatch(db, { running: findReplays(db, clock.now(), after?.id ?? "", limit) });
    return running;
  },
  record: recordReplay,
};

async function recordReplay(deps: Deps, webhookId: string): Promise<Recorded> {
  if (!(await listNewEvents(deps, SLICES))) return "more";
  for (let slice = 0; slice < SLICES; slice++) if (await replaySlice(deps, webhookId)) return true;
  return "more";
}

/** True if nothing is left to queue. */
async function replaySlice(deps: Deps, webhookId: string): Promise<boolean> {
  const { db, env, clock } = deps;
  const { replay, endpoint } = await readBatch(db, {
    replay: findReplay(db, webhookId),
    endpoint: findById(db, webhookId),
  });
  if (replay === null) return true;
  // An endpoint that was disabled meanwhile gets no new deliveries.
  if (endpoint?.status !== "enabled") {
    await commit(db, endpoint === null ? [deleteReplay(db, webhookId)] : endReplay(db, replay));
    return true;
  }
  const { platformId, environment } = replay;
  const { events, volumes } = await readBatch(db, {
    events: findReplayed(db, replay, SLICE),
    volumes: findVolumes(db, [platformId]),
  });
  // If the account has used up its volume, its replay continues the next day.
  const isUsedUp = volumes.some(({ marks }) => findVolumeMark(marks, environment, clock.now()) !== null);
  if (isUsedUp) return true;
  const last = events.at(-1);
  const ended = last === undefined || events.length < SLICE;
  const selected = events.filter(({ type }) => type !== "webhook.test" && selectsType(endpoint, type));
  const now = clock.now();
  const deliveries = orderDeliveryIds(selected.map((event) => toNewDelivery(endpoint, event, now)));
  const bytes = selected.reduce((sum, event) => sum + countBodyBytes(event), 0);
  const counted = { platformId, environment, events: 0, deliveries: deliveries.length, bytes };
  await commit(db, [
    ...(ended ? endReplay(db, replay) : moveReplay(db, replay, last.seq)),
    ...queueDeliveries(db, deliveries),
    ...(deliveries.length > 0 ? countVolumes(deps, volumes, [counted]) : []),
  ]);
  if (deliveries.length > 0) await notifyDue(env, [webhookId]);
  return ended;
}
