// Disputes (DSP-1 to DSP-16): the rows of the table of consequences (table.ts). The acts of parties are played with the keys of their platforms: an
// agent's own leave no entry in the log of its platform. The entry of a filing or a decision is in the logs of both platforms.

import type { ChainMessage } from "../../context.ts";
import type { ActivityAction } from "../../core/vocabulary.ts";
import { BY_ITSELF, type Cases, NO_NOTICE, NONE, NOTHING, UNSEEN } from "./words.ts";

const NEW_REVISIONS = { provider: ["new revision"], consumer: ["new revision"] } as const;
const TO_BOTH = (...types: ("dispute.filed" | "dispute.updated" | "dispute.resolved" | "task.closed")[]) => ({
  provider: types,
  consumer: types,
});
const TO_BOTH_ACCOUNTS = ["customer.dispute_decided", "customer.dispute_decided"] as const;
const QUIET = { directory: NONE, document: NONE, certificate: NONE, ...NO_NOTICE } as const;
const UPDATED = (activity: ActivityAction) =>
  ({ activity: [activity], events: TO_BOTH("dispute.updated"), ...QUIET }) as const;
const ENDED = {
  events: TO_BOTH("dispute.resolved", "task.closed"),
  directory: { provider: ["updated"], consumer: ["updated"] },
  document: NEW_REVISIONS,
  certificate: NONE,
  ...NO_NOTICE,
} as const;

/** What the end of a dispute writes that rates both sides, and beside it an arbiter's. */
const CLOSED = ["agents", "chain_operations", "disputes", "escrows", "rating_counterparties", "tasks"] as const;
const AWARDED = [...CLOSED, "dispute_awards", "operator_entries"] as const;

/** Its vault came to be enough by it, which one event and one record tell. */
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
      certificate: NONE,
      alerts: [],
      mails: ["customer.dispute_filed"],
    },
    {
      when: "the task is open, and the vault holds enough",
      states: ["chain operation none → waiting", "dispute none → pre_arbitration", "task open → disputed"],
      tables: ["agents", "chain_operations", "disputes", "escrows", "tasks"],
      activity: ["dispute.filed"],
      events: TO_BOTH("dispute.filed"),
      directory: NONE,
      document: NEW_REVISIONS,
      certificate: NONE,
      alerts: [],
      mails: ["customer.dispute_filed"],
    },
    {
      when: "the task is closed",
      states: ["chain operation none → waiting", "dispute none → pre_arbitration"],
      tables: ["agents", "chain_operations", "disputes", "escrows"],
      activity: ["dispute.filed"],
      events: TO_BOTH("dispute.filed"),
      directory: NONE,
      document: NEW_REVISIONS,
      certificate: NONE,
      alerts: [],
      mails: ["customer.dispute_filed"],
    },
  ],
  respondToDispute: [
    { when: "always", states: [], tables: ["dispute_messages", "disputes"], ...UPDATED("dispute.answered") },
  ],
  addDisputeEvidence: [
    { when: "always", states: [], tables: ["dispute_evidence", "disputes"], ...UPDATED("dispute.evidence_added") },
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
      directory: NONE,
      document: NEW_REVISIONS,
      certificate: NONE,
      ...NO_NOTICE,
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
      certificate: NONE,
      ...NO_NOTICE,
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
      certificate: NONE,
      alerts: [],
      mails: TO_BOTH_ACCOUNTS,
    },
  ],
  repeatPayout: [
    {
      when: "one operator may ask for it alone",
      states: ["chain operation failed → waiting"],
      tables: ["chain_operations", "disputes", "escrows", "operator_entries"],
      ...UPDATED("dispute.payout_repeated"),
    },
    {
      when: "it waits for a second operator",
      states: ["alert none → open"],
      tables: ["chain_operations", "operator_entries"],
      activity: { none: "nothing is paid yet" },
      ...UNSEEN,
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
      ...QUIET,
      alerts: ["arbitration_waiting"],
    },
    {
      when: "the arbiter is overdue in production",
      states: ["alert none → open"],
      tables: ["disputes"],
      activity: BY_ITSELF,
      events: NONE,
      directory: NONE,
      document: NONE,
      certificate: NONE,
      alerts: ["arbitration"],
      mails: [],
    },
    {
      when: "the arbiter is overdue in a sandbox",
      states: [],
      tables: ["disputes"],
      activity: BY_ITSELF,
      events: NONE,
      ...QUIET,
    },
    {
      when: "a refund has come",
      states: [],
      tables: ["chain_operations", "disputes", "escrows"],
      activity: BY_ITSELF,
      events: TO_BOTH("dispute.updated"),
      ...QUIET,
    },
    {
      when: "a refund did not come",
      states: ["alert none → open", "dispute resolved → arbitration"],
      tables: ["agents", "chain_operations", "disputes", "escrows"],
      activity: BY_ITSELF,
      events: TO_BOTH("dispute.updated"),
      directory: NONE,
      document: NEW_REVISIONS,
      certificate: NONE,
      ...NO_NOTICE,
      alerts: ["arbitration_waiting"],
    },
  ],
  keep_reserves: [{ when: "handed to the queue: set_reserve", ...NOTHING }],
  pay_awards: [{ when: "handed to the queue: pay_award", ...NOTHING }],
};

export const DISPUTE_MESSAGES: Readonly<Record<Extract<ChainMessage["kind"], "set_reserve" | "pay_award">, Cases>> = {
  set_reserve: [
    {
      when: "the contract gets it",
      states: ["chain operation waiting → done"],
      tables: ["chain_operations"],
      activity: BY_ITSELF,
      ...UNSEEN,
    },
    { when: "the contract has it", states: [], tables: ["chain_operations"], activity: BY_ITSELF, ...UNSEEN },
  ],
  pay_award: [
    {
      when: "the vault pays all of it",
      states: ["chain operation waiting → done"],
      tables: ["chain_operations", "disputes", "escrows"],
      activity: BY_ITSELF,
      events: TO_BOTH("dispute.updated"),
      ...QUIET,
    },
    {
      when: "the vault pays a part of it",
      states: [],
      tables: ["chain_operations", "disputes", "escrows"],
      activity: BY_ITSELF,
      events: TO_BOTH("dispute.updated"),
      ...QUIET,
    },
    { when: "it is seen again", states: [], tables: ["chain_operations"], activity: BY_ITSELF, ...UNSEEN },
  ],
};
