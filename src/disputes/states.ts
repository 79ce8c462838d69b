// The machine of disputes as data, and the state of one at an instant (DSP-7).
import { DAY_MS, DISPUTE_ARBITRATION_DAYS, DISPUTE_REFUND_DAYS } from "../core/limits.ts";
import { defineMachine } from "../core/machine.ts";
import { DISPUTE_STATUSES, type DisputeStatus } from "../core/vocabulary.ts";

/**
 * `days_end`: the parties' own days are over. `refund_overdue`: what the provider conceded or the consumer accepted was not given back in time.
 * `reverse`: a reorganisation took the settlement away (FAC-18).
 */
export const DISPUTE_TRIGGERS = [
  "respond",
  "submit_evidence",
  "accept",
  "concede",
  "withdraw",
  "escalate",
  "days_end",
  "resolve",
  "refund_overdue",
  "reverse",
] as const;
export type DisputeTrigger = (typeof DISPUTE_TRIGGERS)[number];

export const disputeMachine = defineMachine<DisputeStatus, DisputeTrigger>({
  name: "dispute",
  states: DISPUTE_STATUSES,
  triggers: DISPUTE_TRIGGERS,
  table: {
    pre_arbitration: {
      respond: "pre_arbitration",
      submit_evidence: "pre_arbitration",
      accept: "resolved",
      concede: "resolved",
      withdraw: "resolved",
      escalate: "arbitration",
      days_end: "arbitration",
      reverse: "resolved",
    },
    arbitration: { submit_evidence: "arbitration", resolve: "resolved", reverse: "resolved" },
    resolved: { refund_overdue: "arbitration", reverse: "resolved" },
  },
});

type Standing = {
  readonly status: DisputeStatus;
  readonly answersUntil: number;
  readonly arbitrationAt: number | null;
};

/** At the end of the parties' days it is the arbiter's, whether or not a job has recorded it. */
export function effectiveDispute<T extends Standing>(dispute: T, now: number): T {
  if (dispute.status !== "pre_arbitration" || now < dispute.answersUntil) return dispute;
  return { ...dispute, status: "arbitration", arbitrationAt: dispute.answersUntil };
}

/** When the arbiter is expected to have decided. */
export const arbitrationDue = ({ arbitrationAt }: Pick<Standing, "arbitrationAt">): number | null =>
  arbitrationAt === null ? null : arbitrationAt + DISPUTE_ARBITRATION_DAYS * DAY_MS;

/** Until when a refund of the provider's own is awaited. */
export const refundDue = (resolvedAt: number): number => resolvedAt + DISPUTE_REFUND_DAYS * DAY_MS;
