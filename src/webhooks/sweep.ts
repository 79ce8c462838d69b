// Jobs for webhooks: they fan out events whose notification was lost, wake endpoints whose deliveries are due, and delete rows that are older than 30
// days (EVT-24, EVT-25, EVT-32).
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE, type Due } from "../core/clock.ts";
import { computeFirstId, decodeIdInstant } from "../core/ids.ts";
import { Conflict, runConcurrently } from "../core/retry.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { BulkJob, EachJob } from "../jobs/job.ts";
import { recordOldestDue } from "../jobs/store.ts";
import { listNewEvents } from "../jobs/tend.ts";
import { LAG_SEEN_IN } from "../journal/events.ts";
import { computeOldestShown } from "./deliveries.ts";
import { fanOutEvents, fanOutSlice, findFanOutSlice, wakeEndpoint } from "./fan-out.ts";
import { findOldLogged, pruneLogged } from "./log-store.ts";
import { findOldQueued, findWaiting, pruneQueued } from "./queue-store.ts";
import { replayJob } from "./replay.ts";
import { newestSealKey, openSecret, sealSecret } from "./secrets.ts";
import { findById, findNotSealedUnder, updateEndpoint } from "./store.ts";

/** Limits of one minute's trigger: slices of events, replays, and slices of endpoints. */
const EVENT_SLICES = 20;
const REPLAYS = 5;
const ENDPOINT_SLICES = 10;

/**
 * Delivers even if every message of every queue is lost: the trigger itself lists and fans out new events, continues replays and wakes endpoints.
 * Jobs hand the work beyond these limits to the queue. A part that fails does not stop the others.
 */
export async function sweepWebhooks(deps: Deps): Promise<void> {
  await runPart("list", () => listNewEvents(deps, EVENT_SLICES));
  await runPart("fan out", () => fanOutEvents(deps, EVENT_SLICES));
  await runPart("replay", async () => {
    const running = await replayJob.find(deps, null, REPLAYS);
    for (const { id } of running) await runPart("replay", () => replayJob.record(deps, id));
  });
  await runPart("wake", async () => {
    let after: Due | null = BEFORE_FIRST_DUE;
    const due: number[] = [];
    for (let slice = 0; after !== null && slice < ENDPOINT_SLICES; slice++) {
      const found = await wakeEndpoints.find(deps, after);
      if (found !== null && found.oldestDueAt !== null) due.push(found.oldestDueAt);
      after = (await found?.run())?.next ?? null;
    }
    // The job's own run records this only when its message arrives, which may be never.
    if (due.length > 0) await commit(deps.db, [recordOldestDue(deps.db, wakeEndpoints.name, Math.min(...due))]);
  });
}

async function runPart(part: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    // A concurrent run was faster.
    if (thrown instanceof Conflict) return;
    const message = thrown instanceof Error ? thrown.message : "unknown";
    console.error(JSON.stringify({ event: "webhook_sweep_failed", part, message }));
  }
}

export const fanOutJob: BulkJob = {
  kind: "bulk",
  name: "fan_out_events",
  here: true,
  slices: 5,
  find: async (deps) => {
    const found = await findFanOutSlice(deps);
    if (found.fresh.length === 0) return null;
    const first = found.fresh.slice(0, LAG_SEEN_IN);
    return {
      oldestDueAt: Math.min(...first.map(({ id, occurredAt }) => decodeIdInstant("evt", id) ?? occurredAt)),
      run: async () => {
        const more = await fanOutSlice(deps, found);
        return { done: 1, failed: [], next: more ? BEFORE_FIRST_DUE : null };
      },
    };
  },
};

const ENDPOINTS_PER_SLICE = 500;

export const wakeEndpoints: BulkJob = {
  kind: "bulk",
  name: "deliver_webhooks",
  here: true,
  slices: 1,
  find: async ({ db, clock, env }, after) => {
    const now = clock.now();
    const { found } = await readBatch(db, { found: findWaiting(db, now, after.id, ENDPOINTS_PER_SLICE) });
    const { ids, oldest, looked } = found;
    if (ids.length === 0 && looked === null) return null;
    return {
      // Deliveries of a failing endpoint count as due now, not as late: only its owner can repair it.
      oldestDueAt: oldest === now ? null : oldest,
      run: async () => {
        await runConcurrently(ids, (webhookId) => wakeEndpoint(env, webhookId));
        return { done: ids.length, failed: [], next: looked === null ? null : { at: BEFORE_FIRST_DUE.at, id: looked } };
      },
    };
  },
};

const ENDPOINTS_PRUNED = 50;
const ROWS_PRUNED = 200;

export const pruneDeliveries: BulkJob = {
  kind: "bulk",
  name: "prune_deliveries",
  here: true,
  slices: 5,
  find: async ({ db, clock }, after) => {
    const now = clock.now();
    const first = computeOldestShown(now);
    const before = computeFirstId("dlv", first);
    const { queued, logged } = await readBatch(db, {
      queued: findOldQueued(db, first, after.id, ENDPOINTS_PRUNED),
      logged: findOldLogged(db, before, after.id, ENDPOINTS_PRUNED),
    });
    const old = [
      ...queued.ids.map((id) => pruneQueued(db, id, first, ROWS_PRUNED)),
      ...logged.ids.map((id) => pruneLogged(db, id, before, ROWS_PRUNED)),
    ];
    const looked = [queued.looked, logged.looked].filter((id) => id !== null).sort()[0];
    if (old.length === 0 && looked === undefined) return null;
    return {
      oldestDueAt: now,
      run: async () => {
        await commit(db, old);
        // An endpoint may have more old rows than one slice deletes, so the next slice starts from the same place.
        const next = old.length > 0 ? after : { at: BEFORE_FIRST_DUE.at, id: looked ?? "" };
        return { done: old.length, failed: [], next };
      },
    };
  },
};

/** Seals the secrets of endpoints under the newest key, so that older keys can be removed from the configuration (EVT-23). */
export const resealSecrets: EachJob = {
  kind: "each",
  name: "reseal_webhook_secrets",
  find: async ({ db, env, clock }, after, limit) => {
    const newest = await newestSealKey(env);
    const { found } = await readBatch(db, { found: findNotSealedUnder(db, newest, after?.id ?? "", limit) });
    // No row records since when its key is not the newest one, so it counts as due now.
    return found.map(({ webhookId }) => ({ at: clock.now(), id: webhookId }));
  },
  record: async ({ db, env, clock }, webhookId) => {
    const { endpoint } = await readBatch(db, { endpoint: findById(db, webhookId) });
    const newest = await newestSealKey(env);
    if (endpoint === null || endpoint.sealKey === newest) return false;
    const again = async (sealed: string) => sealSecret(env, webhookId, await openSecret(env, webhookId, sealed));
    const { secret, previousSecret, previousUntil, updatedAt } = endpoint;
    const sealed = {
      secret: await again(secret),
      // An expired secret is dropped, because its seal key may be removed already.
      previousSecret:
        previousSecret === null || (previousUntil ?? 0) <= clock.now() ? null : await again(previousSecret),
    };
    // No view of the endpoint changes, but `updatedAt` must, so that a call that has read the row cannot write the old text back.
    await commit(db, updateEndpoint(db, endpoint, { ...sealed, sealKey: newest, updatedAt: updatedAt + 1 }));
    return true;
  },
};
