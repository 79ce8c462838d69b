// The state machine of disputes as data, and the effective status of a dispute (DSP-7).
import { DAY_MS, DISPUTE_ARBITRATION_DAYS, DISPUTE_REFUND_DAYS } from "../core/limits.ts";
import { defineMachine } from "../core/machine.ts";
import { DISPUTE_STATUSES, type DisputeStatus } from "../core/vocabulary.ts";

/**
 * `days_end`: the parties' seven days are over. `refund_overdue`: the provider did not pay a conceded or accepted refund in time. `reverse`: a reorg
 * removed the settlement (FAC-18).
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

type DatedStatus = {
  readonly status: DisputeStatus;
  readonly answersUntil: number;
  readonly arbitrationAt: number | null;
};

/** From the end of the parties' days a dispute is in arbitration, whether or not a job has recorded it. */
export function toEffectiveDispute<T extends DatedStatus>(dispute: T, now: number): T {
  if (dispute.status !== "pre_arbitration" || now < dispute.answersUntil) return dispute;
  return { ...dispute, status: "arbitration", arbitrationAt: dispute.answersUntil };
}

/** The instant by which the arbiter is expected to decide. */
export const computeArbitrationDue = ({ arbitrationAt }: Pick<DatedStatus, "arbitrationAt">): number | null =>
  arbitrationAt === null ? null : arbitrationAt + DISPUTE_ARBITRATION_DAYS * DAY_MS;

/** The deadline of a refund that the provider pays itself. */
export const computeRefundDue = (resolvedAt: number): number => resolvedAt + DISPUTE_REFUND_DAYS * DAY_MS;
