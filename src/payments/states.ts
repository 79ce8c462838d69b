// Specification 2.6, the payment intent: its machine, as data, the status that counts at this instant, and whether a payment still
// settles it.
import { BLOCK_CLOCK_SKEW_SECONDS, HOUR_MS, LATE_FACILITATION_HOURS, SECOND_MS } from "../core/limits.ts";
import { defineMachine, type Outcome, refuse, tryMove } from "../core/machine.ts";
import { INTENT_STATUSES, type IntentStatus } from "../core/vocabulary.ts";

export const INTENT_TRIGGERS = ["settle", "expire", "settle_late"] as const;
export type IntentTrigger = (typeof INTENT_TRIGGERS)[number];

export const intentMachine = defineMachine<IntentStatus, IntentTrigger>({
  name: "payment_intent",
  states: INTENT_STATUSES,
  triggers: INTENT_TRIGGERS,
  table: {
    OPEN: { settle: "SETTLED", expire: "ABANDONED" },
    // Nobody loses a paid intent to a slow provider: a payment mined in time is honoured after the end.
    ABANDONED: { settle: refuse("intent_expired"), settle_late: "SETTLED" },
    // One intent, one settlement: a second transaction is none of it.
    SETTLED: {
      settle: refuse("settlement_verification_failed"),
      settle_late: refuse("settlement_verification_failed"),
    },
  },
});

export type IntentStanding = { status: IntentStatus; createdAt: number; expiresAt: number };

/** An OPEN intent ends at its instant, whether or not the cron has recorded it. */
export function effectiveIntentStatus(intent: Omit<IntentStanding, "createdAt">, now: number): IntentStatus {
  return intent.status === "OPEN" && intent.expiresAt <= now ? "ABANDONED" : intent.status;
}

export const LATE_MS = LATE_FACILITATION_HOURS * HOUR_MS;

/** How far a block's clock and ours may be apart. */
export const BLOCK_CLOCK_SKEW_MS = BLOCK_CLOCK_SKEW_SECONDS * SECOND_MS;

/** A payment is made for an intent that is there: one that is older pays none that was opened for it later. */
export const isOlderThan = (intent: Pick<IntentStanding, "createdAt">, minedAt: number): boolean =>
  minedAt < intent.createdAt - BLOCK_CLOCK_SKEW_MS;

/**
 * Whether a payment mined at `minedAt` settles the intent now: while it is OPEN; for 24 hours after, if it was mined before
 * the end. Both instants on the intent's clock, in epoch milliseconds.
 */
export function judgeSettlement(intent: IntentStanding, minedAt: number, now: number): Outcome<IntentStatus> {
  const inTime = minedAt < intent.expiresAt && now < intent.expiresAt + LATE_MS;
  const status = effectiveIntentStatus(intent, now);
  return tryMove(intentMachine, status, status === "ABANDONED" && inTime ? "settle_late" : "settle");
}
