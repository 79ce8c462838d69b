// Records the end of unpaid intents, with their events (PAY-13), and counts payments as spent that were not facilitated (PAY-21).
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE, type Due, measureAhead } from "../core/clock.ts";
import { move } from "../core/machine.ts";
import { Conflict } from "../core/retry.ts";
import { readBatch } from "../db/batch.ts";
import type { IntentRow } from "../db/tables/money.ts";
import { findPaidIntents } from "../intents/find-store.ts";
import { intentMachine, PAID_INTENT_MS } from "../intents/states.ts";
import { endPaidIntent, findDueIntents, findIntent, moveIntents } from "../intents/store.ts";
import type { BulkJob, EachJob, RowFailure, Slice, SliceResult } from "../jobs/job.ts";
import { recordEventForParties } from "../journal/events.ts";
import { releaseHolds, turnHoldsIntoSpending } from "./hold-store.ts";
import { toIntentView } from "./read.ts";

/** The number of intents in one batch and one message. Recorded one by one, each sends up to six statements (JOB-12). */
const ABANDONED_AT_ONCE = 100;

export const abandonIntents: BulkJob = {
  kind: "bulk",
  name: "abandon_intents",
  slices: 1,
  find: (deps, after) => findAbandoned(deps, after, ABANDONED_AT_ONCE),
};

/** Finds a slice of ended intents that cannot have been paid in time, after a position, the earliest end first. */
export async function findAbandoned(deps: Deps, after: Due, slice: number): Promise<Slice | null> {
  const { db, clock } = deps;
  const now = clock.now();
  const { due } = await readBatch(db, { due: findDueIntents(db, { now, ahead: measureAhead(clock) }, after, slice) });
  const [oldest, last] = [due[0], due.at(-1)];
  if (!oldest || !last) return null;
  const next = due.length === slice ? { at: last.expiresAt, id: last.intentId } : null;
  return { oldestDueAt: oldest.expiresAt, run: async () => ({ ...(await abandonSlice(deps, due, now)), next }) };
}

/** Records the end of one intent on the clock that rules it. Returns false if there was nothing left to record. */
export async function abandonIntent(deps: Deps, intentId: string): Promise<boolean> {
  const { intent } = await readBatch(deps.db, { intent: findIntent(deps.db, intentId) });
  if (!intent) return false;
  const now = deps.clock.now() + intent.clockOffsetMs;
  if (intent.status !== "OPEN" || intent.expiresAt > now) return false;
  await recordAbandoned(deps, [intent], now);
  return true;
}

type AbandonResult = Omit<SliceResult, "next">;

/** Ends the intents in one batch. If the batch fails, ends each alone, so that one intent does not block the others (JOB-3). */
async function abandonSlice(deps: Deps, due: readonly IntentRow[], now: number): Promise<AbandonResult> {
  try {
    await recordAbandoned(deps, due, now);
    return { done: due.length, failed: [] };
  } catch {
    return abandonEach(deps, due, now);
  }
}

async function abandonEach(deps: Deps, due: readonly IntentRow[], now: number): Promise<AbandonResult> {
  const failed: RowFailure[] = [];
  let done = 0;
  for (const intent of due) {
    try {
      await recordAbandoned(deps, [intent], now);
      done += 1;
    } catch (thrown) {
      // A Conflict means that the intent was settled or released meanwhile.
      if (!(thrown instanceof Conflict)) failed.push({ id: intent.intentId, thrown });
    }
  }
  return { done, failed };
}

async function recordAbandoned(deps: Deps, due: readonly IntentRow[], now: number): Promise<void> {
  const { db, config } = deps;
  const ids = due.map(({ intentId }) => intentId);
  // A cancelled intent had its event at its cancellation (PAY-23).
  const events = due
    .filter(({ cancelledAt }) => cancelledAt === null)
    .flatMap((intent) =>
      recordEventForParties(db, intent, now, {
        type: "intent.abandoned",
        object: toIntentView(config, intent, now, { released: true }),
      }),
    );
  const ended = moveIntents(db, ids, move(intentMachine, "OPEN", "expire"));
  await commitAll(deps, [...ended, ...releaseHolds(db, due), ...events]);
}

// ---- Payments without a settlement --------------------------------------------------------------------------------------

/** A payment counts as spent if it was not facilitated within 30 days. Its hold had no end until then. */
export const spendPaidIntents: EachJob = {
  kind: "each",
  name: "spend_paid_intents",
  find: async ({ db, config, clock }, after, limit) => {
    const from = after === null ? BEFORE_FIRST_DUE : { ...after, at: after.at - PAID_INTENT_MS };
    const to = clock.now() - PAID_INTENT_MS;
    const reads = config.networks.map(
      ({ network }) => [network, findPaidIntents(db, network, from, to, limit)] as const,
    );
    const found = Object.values(await readBatch(db, Object.fromEntries(reads))).flat();
    return found
      .map(({ paidAt, intentId }): Due => ({ at: (paidAt ?? 0) + PAID_INTENT_MS, id: intentId }))
      .sort((one, other) => one.at - other.at || (one.id < other.id ? -1 : 1))
      .slice(0, limit);
  },
  record: async (deps, intentId) => {
    const { db } = deps;
    const { intent } = await readBatch(db, { intent: findIntent(db, intentId) });
    if (intent?.status !== "PAID" || intent.spentAt !== null) return false;
    const now = deps.clock.now() + intent.clockOffsetMs;
    await commitAll(deps, [...endPaidIntent(db, intent, now), ...turnHoldsIntoSpending(db, intent, now)]);
    return true;
  },
};
