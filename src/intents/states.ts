// The state machine of intents as data (PAY-13), the effective status at an instant, and whether a payment settles an intent (PAY-14 to PAY-16).
import {
  BLOCK_CLOCK_SKEW_SECONDS,
  DAY_MS,
  HOUR_MS,
  LATE_FACILITATION_HOURS,
  LOST_PAYMENT_HOURS,
  PAID_INTENT_DAYS,
  SECOND_MS,
} from "../core/limits.ts";
import { defineMachine, type Outcome, refuse, tryMove } from "../core/machine.ts";
import { INTENT_STATUSES, type IntentStatus } from "../core/vocabulary.ts";

export const INTENT_TRIGGERS = ["pay", "unpay", "settle", "expire", "settle_late", "reverse"] as const;
export type IntentTrigger = (typeof INTENT_TRIGGERS)[number];

export const intentMachine = defineMachine<IntentStatus, IntentTrigger>({
  name: "payment_intent",
  states: INTENT_STATUSES,
  triggers: INTENT_TRIGGERS,
  table: {
    OPEN: { pay: "PAID", settle: "SETTLED", expire: "ABANDONED" },
    // The follower has seen the payment; a reorg may remove it (PAY-21).
    PAID: { unpay: "OPEN", settle: "SETTLED", settle_late: "SETTLED" },
    // A payment that was mined in time still settles after the end (PAY-14).
    ABANDONED: { pay: "PAID", settle: refuse("intent_expired"), settle_late: "SETTLED" },
    SETTLED: {
      // A reorg removed its settlement (FAC-18).
      reverse: "OPEN",
      settle: refuse("settlement_verification_failed"),
      settle_late: refuse("settlement_verification_failed"),
    },
  },
});

export type IntentLifetime = {
  status: IntentStatus;
  createdAt: number;
  /** The end of the offer, whatever ended it: its time, a cancellation, or the end of one of its agents. */
  expiresAt: number;
};
type OfferSpan = Pick<IntentLifetime, "createdAt" | "expiresAt">;

/** An OPEN intent ends at its instant, whether or not a job has recorded it (PAY-13). */
export function toEffectiveIntentStatus(
  intent: Pick<IntentLifetime, "status" | "expiresAt">,
  now: number,
): IntentStatus {
  return intent.status === "OPEN" && intent.expiresAt <= now ? "ABANDONED" : intent.status;
}

export const LATE_FACILITATION_MS = LATE_FACILITATION_HOURS * HOUR_MS;
export const PAID_INTENT_MS = PAID_INTENT_DAYS * DAY_MS;

/** The tolerated difference between a block's clock and the service's. */
export const BLOCK_CLOCK_SKEW_MS = BLOCK_CLOCK_SKEW_SECONDS * SECOND_MS;

export const LOST_PAYMENT_MS = LOST_PAYMENT_HOURS * HOUR_MS;

type HeldIntent = Pick<IntentLifetime, "status" | "expiresAt"> & {
  /** The instant until which a payment that a reorg removed keeps the hold. */
  readonly lostUntil: number | null;
};
/** The instant past which the network has to be read before the hold of an unpaid intent ends (PAY-11). */
export const computeHoldEnd = ({ expiresAt, lostUntil }: Omit<HeldIntent, "status">): number =>
  Math.max(expiresAt, lostUntil ?? 0);

/** True if no payment in time can be missing: the network was read past the end without one (PAY-21). */
export const hasHoldEnded = (intent: HeldIntent, readThrough: number | null): boolean =>
  intent.status === "OPEN" && readThrough !== null && computeHoldEnd(intent) <= readThrough - BLOCK_CLOCK_SKEW_MS;

/** True if a payment is older than the intent, which it then does not settle (PAY-15). */
export const isOlderThan = (intent: Pick<IntentLifetime, "createdAt">, minedAt: number): boolean =>
  minedAt < intent.createdAt - BLOCK_CLOCK_SKEW_MS;

/** True if a payment was mined before the offer's end or within 30 seconds after it: it was sent while the offer was open (PAY-14). */
const isBeforeEnd = ({ expiresAt }: Pick<IntentLifetime, "expiresAt">, minedAt: number): boolean =>
  minedAt < expiresAt + BLOCK_CLOCK_SKEW_MS;

export const isInTime = (intent: OfferSpan, minedAt: number): boolean =>
  !isOlderThan(intent, minedAt) && isBeforeEnd(intent, minedAt);

/**
 * Judges whether a payment mined at `minedAt` settles the intent now: while it is OPEN, for 24 hours after its end if it was mined in time, and for
 * 30 days from its block if the follower has seen it (PAY-14). Both instants are on the intent's clock, in epoch milliseconds.
 */
export function judgeSettlement(intent: IntentLifetime, minedAt: number, now: number): Outcome<IntentStatus> {
  const inTime = isBeforeEnd(intent, minedAt) && now < intent.expiresAt + LATE_FACILITATION_MS;
  const status = toEffectiveIntentStatus(intent, now);
  if (status === "PAID" && now >= minedAt + PAID_INTENT_MS) return { ok: false, code: "intent_expired" };
  return tryMove(intentMachine, status, status === "ABANDONED" && inTime ? "settle_late" : "settle");
}

/**
 * True if an address (lower case) may pay an intent. If the intent names a payer, only that payer may, though an earlier edition of the contract does
 * not enforce it (PAY-25); else any address but the provider's (FAC-22). `own`: the address was a wallet of the provider then.
 */
export const mayPay = ({ payer }: { readonly payer: string | null }, by: string, own: boolean): boolean =>
  payer === null ? !own : payer === by;
