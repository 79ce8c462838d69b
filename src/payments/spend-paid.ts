// Counts a payment as spent that was not facilitated within 30 days (PAY-21); its hold had no end until then.
import { commitAll } from "../commit.ts";
import { BEFORE_FIRST_DUE, type Due } from "../core/due.ts";
import { readBatch } from "../db/batch.ts";
import { findPaidIntents } from "../intents/paid-store.ts";
import { PAID_INTENT_MS } from "../intents/states.ts";
import { endPaidIntent, findIntent } from "../intents/store.ts";
import type { EachJob } from "../jobs/job.ts";
import { turnHoldsIntoSpending } from "./hold-store.ts";

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
