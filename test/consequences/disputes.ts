// The rows of disputes (DSP-1 to DSP-16) in the table of consequences (table.ts). Parties act with the keys of their platforms, because an agent's
// own acts leave no entry in its platform's log. A filing or a decision has an entry in the logs of both platforms.

import type { ChainMessage } from "../../src/context.ts";
import type { ActivityAction } from "../../src/core/vocabulary.ts";
import { BY_ITSELF, type Cases } from "./words.ts";

const NEW_REVISIONS = { provider: ["new revision"], consumer: ["new revision"] } as const;
const TO_BOTH = (...types: ("dispute.filed" | "dispute.updated" | "dispute.resolved" | "task.closed")[]) => ({
  provider: types,
  consumer: types,
});
const TO_BOTH_ACCOUNTS = ["customer.dispute_decided", "customer.dispute_decided"] as const;
const UPDATED = (activity: ActivityAction) => ({ activity: [activity], events: TO_BOTH("dispute.updated") }) as const;
const ENDED = {
  events: TO_BOTH("dispute.resolved", "task.closed"),
  directory: { provider: ["updated"], consumer: ["updated"] },
  document: NEW_REVISIONS,
} as const;

/** Tables that the end of a dispute writes if it rates both sides; an arbiter's decision also writes those of AWARDED. */
const CLOSED = ["agents", "chain_operations", "disputes", "escrows", "rating_counterparties", "tasks"] as const;
const AWARDED = [...CLOSED, "dispute_awards", "operator_entries"] as const;

/** The end makes the vault sufficient, which one event and one record report. */
const RELEASED = {
  ...ENDED,
  events: {
    provider: ["agent.escrow_state_changed", "dispute.resolved", "task.closed"],
    consumer: ["dispute.resolved", "task.closed"],
  },
} as const;

export const DISPUTE_OPERATIONS: Readonly<Record<string, Cases>> = {
  fileDispute: [
    {
      when: "the task is open, and more is disputed than counts in the vault",
      states: [
        "chain operation none → waiting",
        "dispute none → pre_arbitration",
        "escrow FUNDING → CONSTRAINED",
        "task open → disputed",
      ],
      tables: ["agents", "chain_operations", "disputes", "escrows", "tasks"],
      activity: ["dispute.filed"],
      events: {
        provider: ["agent.escrow_state_changed", "dispute.filed"],
        consumer: ["dispute.filed"],
      },
      directory: { provider: ["updated"] },
      document: NEW_REVISIONS,
      mails: ["customer.dispute_filed"],
    },
    {
      when: "the task is open, and the vault holds enough",
      states: ["chain operation none → waiting", "dispute none → pre_arbitration", "task open → disputed"],
      tables: ["agents", "chain_operations", "disputes", "escrows", "tasks"],
      activity: ["dispute.filed"],
      events: TO_BOTH("dispute.filed"),
      document: NEW_REVISIONS,
      mails: ["customer.dispute_filed"],
    },
    {
      when: "the task is closed",
      states: ["chain operation none → waiting", "dispute none → pre_arbitration"],
      tables: ["agents", "chain_operations", "disputes", "escrows"],
      activity: ["dispute.filed"],
      events: TO_BOTH("dispute.filed"),
      document: NEW_REVISIONS,
      mails: ["customer.dispute_filed"],
    },
  ],
  respondToDispute: [{ when: "always", tables: ["dispute_messages", "disputes"], ...UPDATED("dispute.answered") }],
  addDisputeEvidence: [
    { when: "always", tables: ["dispute_evidence", "disputes"], ...UPDATED("dispute.evidence_added") },
  ],
  escalateDispute: [
    {
      when: "the provider has answered",
      states: ["alert none → open", "dispute pre_arbitration → arbitration"],
      tables: ["disputes"],
      ...UPDATED("dispute.escalated"),
      alerts: ["arbitration_waiting"],
    },
  ],
  acceptOffer: [
    {
      when: "it held the task",
      states: ["chain operation none → waiting", "dispute pre_arbitration → resolved", "task disputed → confirmed"],
      tables: CLOSED,
      activity: ["dispute.accepted"],
      ...ENDED,
    },
    {
      when: "it held the task and constrained the escrow",
      states: [
        "chain operation none → waiting",
        "dispute pre_arbitration → resolved",
        "escrow CONSTRAINED → FUNDING",
        "task disputed → confirmed",
      ],
      tables: CLOSED,
      activity: ["dispute.accepted"],
      ...RELEASED,
    },
  ],
  concedeDispute: [
    {
      when: "it held the task",
      states: ["chain operation none → waiting", "dispute pre_arbitration → resolved", "task disputed → confirmed"],
      tables: CLOSED,
      activity: ["dispute.conceded"],
      ...ENDED,
    },
    {
      when: "it held the task and constrained the escrow",
      states: [
        "chain operation none → waiting",
        "dispute pre_arbitration → resolved",
        "escrow CONSTRAINED → FUNDING",
        "task disputed → confirmed",
      ],
      tables: CLOSED,
      activity: ["dispute.conceded"],
      ...RELEASED,
    },
  ],
  withdrawDispute: [
    {
      when: "it held the task",
      states: ["dispute pre_arbitration → resolved", "task disputed → open"],
      tables: ["agents", "chain_operations", "disputes", "escrows", "tasks"],
      activity: ["dispute.withdrawn"],
      events: TO_BOTH("dispute.resolved"),
      document: NEW_REVISIONS,
    },
    {
      when: "it held the task and constrained the escrow",
      states: ["dispute pre_arbitration → resolved", "escrow CONSTRAINED → FUNDING", "task disputed → open"],
      tables: ["agents", "chain_operations", "disputes", "escrows", "tasks"],
      activity: ["dispute.withdrawn"],
      events: {
        provider: ["agent.escrow_state_changed", "dispute.resolved"],
        consumer: ["dispute.resolved"],
      },
      directory: { provider: ["updated"] },
      document: NEW_REVISIONS,
    },
  ],
  resolveDispute: [
    {
      when: "upheld, and it held the task",
      states: ["chain operation none → waiting", "dispute arbitration → resolved", "task disputed → confirmed"],
      tables: AWARDED,
      activity: ["dispute.decided"],
      ...ENDED,
      mails: TO_BOTH_ACCOUNTS,
    },
    {
      when: "upheld, and it held the task and constrained the escrow",
      states: [
        "chain operation none → waiting",
        "dispute arbitration → resolved",
        "escrow CONSTRAINED → FUNDING",
        "task disputed → confirmed",
      ],
      tables: AWARDED,
      activity: ["dispute.decided"],
      ...RELEASED,
      mails: TO_BOTH_ACCOUNTS,
    },
    {
      when: "rejected, and the task was closed",
      states: ["dispute arbitration → resolved"],
      tables: AWARDED,
      activity: ["dispute.decided"],
      events: TO_BOTH("dispute.resolved"),
      directory: { consumer: ["updated"] },
      document: NEW_REVISIONS,
      mails: TO_BOTH_ACCOUNTS,
    },
  ],
  repeatPayout: [
    {
      when: "one operator may request it alone",
      states: ["chain operation failed → waiting"],
      tables: ["chain_operations", "disputes", "escrows", "operator_entries"],
      ...UPDATED("dispute.payout_repeated"),
    },
    {
      when: "it waits for a second operator",
      states: ["alert none → open"],
      tables: ["chain_operations", "operator_entries"],
      activity: { none: "nothing is paid yet" },
      alerts: ["award"],
    },
  ],
};

export const DISPUTE_JOBS: Readonly<Record<string, Cases>> = {
  end_dispute_days: [
    {
      when: "the parties' days are over",
      states: ["alert none → open", "dispute pre_arbitration → arbitration"],
      tables: ["disputes"],
      activity: BY_ITSELF,
      events: TO_BOTH("dispute.updated"),
      alerts: ["arbitration_waiting"],
    },
    {
      when: "the arbiter is overdue in production",
      states: ["alert none → open"],
      tables: ["disputes"],
      activity: BY_ITSELF,
      alerts: ["arbitration"],
    },
    {
      when: "the arbiter is overdue in a sandbox",
      tables: ["disputes"],
      activity: BY_ITSELF,
    },
    {
      when: "a refund has arrived",
      tables: ["chain_operations", "disputes", "escrows"],
      activity: BY_ITSELF,
      events: TO_BOTH("dispute.updated"),
    },
    {
      when: "a refund did not arrive",
      states: ["alert none → open", "dispute resolved → arbitration"],
      tables: ["agents", "chain_operations", "disputes", "escrows"],
      activity: BY_ITSELF,
      events: TO_BOTH("dispute.updated"),
      document: NEW_REVISIONS,
      alerts: ["arbitration_waiting"],
    },
  ],
  keep_reserves: [{ when: "handed to the queue: set_reserve" }],
  pay_awards: [{ when: "handed to the queue: pay_award" }],
};

export const DISPUTE_MESSAGES: Readonly<Record<Extract<ChainMessage["kind"], "set_reserve" | "pay_award">, Cases>> = {
  set_reserve: [
    {
      when: "the contract does not have it yet",
      states: ["chain operation waiting → done"],
      tables: ["chain_operations"],
      activity: BY_ITSELF,
    },
    { when: "the contract has it", tables: ["chain_operations"], activity: BY_ITSELF },
  ],
  pay_award: [
    {
      when: "the vault pays all of it",
      states: ["chain operation waiting → done"],
      tables: ["chain_operations", "disputes", "escrows"],
      activity: BY_ITSELF,
      events: TO_BOTH("dispute.updated"),
    },
    {
      when: "the vault pays a part of it",
      tables: ["chain_operations", "disputes", "escrows"],
      activity: BY_ITSELF,
      events: TO_BOTH("dispute.updated"),
    },
    { when: "it is checked again", tables: ["chain_operations"], activity: BY_ITSELF },
  ],
};
