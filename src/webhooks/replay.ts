// Queues the events since an event or instant again for one endpoint (EVT-31). The call begins a walk, whose slices queue the events.
import { type ManagementCall, type Precheck, precheck } from "../call.ts";
import { addDailyRequests, toIso } from "../core/clock.ts";
import { type FieldError, ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { REPLAYS_A_DAY } from "../core/limits.ts";
import { findVolumeMark } from "../core/volume.ts";
import { dropAbsentReads, readBatch } from "../db/batch.ts";
import type { EndpointRow } from "../db/tables/webhooks.ts";
import type { EachJob } from "../jobs/job.ts";
import { listNewEvents } from "../jobs/tend.ts";
import { buildWalkJob, queueWalk, runWalk, type WalkDefinition } from "../jobs/walk.ts";
import { findWalk } from "../jobs/walk-store.ts";
import { findEventNumber, findEventNumberAt } from "../journal/event-log-store.ts";
import { computeOldestListed, mayBeOlder } from "../journal/event-read.ts";
import { countVolumes } from "../journal/volume.ts";
import { findVolumes } from "../journal/volume-store.ts";
import { readRealTime, requireEnabled } from "./endpoints.ts";
import { countBodyBytes, notifyDue, orderDeliveryIds, selectsType, toNewDelivery } from "./fan-out.ts";
import { queueDeliveries } from "./queue-store.ts";
import type { ReplayView } from "./responses.ts";
import type { ReplayInput } from "./schema.ts";
import { beginReplay, findById, findLastNumber, findReplayed, findReplays, recordReplayRequest } from "./store.ts";

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
    [...recordReplayRequest(db, own, asked), beginReplay(db, own, { after, upTo: last, startedAt: now })],
    view,
  );
  call.background(queueWalk(deps, replay, webhookId).catch(() => undefined));
  return view;
}

const EVENTS_PER_SLICE = 100;

const replay: WalkDefinition<"replay", { readonly endpoint: EndpointRow | null }> = {
  kind: "replay",
  job: "replay_events",
  slices: 5,
  readSlice: ({ db }, webhookId) =>
    readBatch(db, { walk: findWalk(db, "replay", webhookId), endpoint: findById(db, webhookId) }),
  buildSlice: async (deps, walk, { endpoint }) => {
    // An endpoint that was disabled or deleted meanwhile gets no new deliveries.
    if (endpoint?.status !== "enabled") return { statements: [], next: null };
    const { db, env, clock } = deps;
    const { platformId, environment } = endpoint;
    const { events, volumes } = await readBatch(db, {
      events: findReplayed(db, endpoint, walk, EVENTS_PER_SLICE),
      volumes: findVolumes(db, [platformId]),
    });
    const now = clock.now();
    // If the account has used up its volume, its replay continues the next day.
    if (volumes.some(({ marks }) => findVolumeMark(marks, environment, now) !== null)) return null;
    const last = events.length < EVENTS_PER_SLICE ? undefined : events.at(-1);
    const selected = events.filter(({ type }) => type !== "webhook.test" && selectsType(endpoint, type));
    const deliveries = orderDeliveryIds(selected.map((event) => toNewDelivery(endpoint, event, now)));
    const next = last ? { at: last.seq, id: "" } : null;
    if (deliveries.length === 0) return { statements: [], next };
    const bytes = selected.reduce((sum, event) => sum + countBodyBytes(event), 0);
    const counted = { platformId, environment, events: 0, deliveries: deliveries.length, bytes };
    return {
      statements: [...queueDeliveries(db, deliveries), ...countVolumes(deps, volumes, [counted])],
      next,
      notify: () => notifyDue(env, [endpoint.webhookId]),
    };
  },
};

export const replayJob: EachJob = {
  ...buildWalkJob(replay),
  part: 1,
  find: async ({ db, clock }, after, limit) => {
    const { running } = await readBatch(db, { running: findReplays(db, clock.now(), after?.id ?? "", limit) });
    return running;
  },
  record: async (deps, webhookId) =>
    (await listNewEvents(deps, replay.slices)) ? runWalk(deps, replay, webhookId) : "more",
};
