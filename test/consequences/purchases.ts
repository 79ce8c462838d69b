// The rows of purchases (intents, settlements and tasks) in the table of consequences (table.ts).
import { BY_ITSELF, type Cases } from "./words.ts";

const NOT_MANAGEMENT = { none: "an agent's act; the log records management" } as const;

export const PURCHASE_OPERATIONS: Readonly<Record<string, Cases>> = {
  createPaymentIntent: [
    {
      when: "always",
      states: ["intent none → OPEN"],
      tables: ["payment_intents", "spend_holds", "spend_sums"],
      activity: NOT_MANAGEMENT,
    },
  ],

  getPaymentAddress: [
    {
      when: "with an order",
      states: ["intent none → OPEN"],
      tables: ["payment_intents", "spend_holds", "spend_sums"],
      activity: NOT_MANAGEMENT,
    },
    { when: "without an order" },
  ],

  cancelPaymentIntent: [
    {
      when: "it was not paid",
      // The intent still ends at its time, which the job records.
      tables: ["payment_intents", "spend_holds"],
      activity: NOT_MANAGEMENT,
      events: { provider: ["intent.abandoned"], consumer: ["intent.abandoned"] },
    },
    {
      when: "refused, because its payment is found on the chain",
      states: ["intent OPEN → PAID"],
      tables: ["ledger_lines", "payment_intents", "spend_holds"],
      activity: NOT_MANAGEMENT,
      events: { provider: ["intent.paid"], consumer: ["intent.paid"] },
    },
  ],

  facilitate: [
    {
      when: "settled",
      states: ["intent OPEN → SETTLED", "task none → open"],
      tables: [
        "agents",
        "escrows",
        "payment_intents",
        "receipts",
        "spend_holds",
        "spend_ledger",
        "spend_sums",
        "tasks",
        "transactions",
      ],
      activity: NOT_MANAGEMENT,
      events: {
        provider: ["task.opened", "transaction.settled"],
        consumer: ["task.opened", "transaction.settled"],
      },
      document: { provider: ["new revision"] },
    },
    {
      when: "settled, and the escrow is full",
      states: ["escrow FUNDING → ACTIVE", "intent OPEN → SETTLED", "task none → open"],
      tables: [
        "agents",
        "escrows",
        "payment_intents",
        "receipts",
        "spend_holds",
        "spend_ledger",
        "spend_sums",
        "tasks",
        "transactions",
      ],
      activity: NOT_MANAGEMENT,
      events: {
        provider: ["agent.escrow_state_changed", "task.opened", "transaction.settled"],
        consumer: ["task.opened", "transaction.settled"],
      },
      directory: { provider: ["updated"] },
      document: { provider: ["new revision"] },
    },
    {
      when: "settled, and its payment was seen before",
      states: ["intent PAID → SETTLED", "task none → open"],
      tables: [
        "agents",
        "escrows",
        "payment_intents",
        "receipts",
        "spend_holds",
        "spend_ledger",
        "spend_sums",
        "tasks",
        "transactions",
      ],
      activity: NOT_MANAGEMENT,
      events: {
        provider: ["task.opened", "transaction.settled"],
        consumer: ["task.opened", "transaction.settled"],
      },
      document: { provider: ["new revision"] },
    },
    {
      // The hold was released when the intent ended.
      when: "settled late",
      states: ["intent ABANDONED → SETTLED", "task none → open"],
      tables: [
        "agents",
        "escrows",
        "payment_intents",
        "receipts",
        "spend_ledger",
        "spend_sums",
        "tasks",
        "transactions",
      ],
      activity: NOT_MANAGEMENT,
      events: {
        provider: ["task.opened", "transaction.settled"],
        consumer: ["task.opened", "transaction.settled"],
      },
      document: { provider: ["new revision"] },
    },
    {
      when: "settled between agents of one principal",
      states: ["intent OPEN → SETTLED"],
      tables: [
        "agents",
        "escrows",
        "payment_intents",
        "receipts",
        "spend_holds",
        "spend_ledger",
        "spend_sums",
        "transactions",
      ],
      activity: NOT_MANAGEMENT,
      events: { provider: ["transaction.settled"], consumer: ["transaction.settled"] },
      document: { provider: ["new revision"] },
    },
    { when: "the same call again" },
  ],

  confirmTask: [
    {
      when: "confirmed",
      states: ["task open → confirmed"],
      // A better rating lowers the escrow's threshold.
      tables: ["agents", "escrows", "rating_counterparties", "tasks"],
      activity: NOT_MANAGEMENT,
      events: { provider: ["task.closed"], consumer: ["task.closed"] },
      directory: { provider: ["updated"], consumer: ["updated"] },
      document: { provider: ["new revision"], consumer: ["new revision"] },
    },
    {
      when: "confirmed, and the threshold falls to what the escrow holds",
      states: ["escrow FUNDING → ACTIVE", "task open → confirmed"],
      tables: ["agents", "escrows", "rating_counterparties", "tasks"],
      activity: NOT_MANAGEMENT,
      events: { provider: ["agent.escrow_state_changed", "task.closed"], consumer: ["task.closed"] },
      directory: { provider: ["updated"], consumer: ["updated"] },
      document: { provider: ["new revision"], consumer: ["new revision"] },
    },
    {
      when: "confirmed, and both ratings stay",
      states: ["task open → confirmed"],
      tables: ["agents", "rating_counterparties", "tasks"],
      activity: NOT_MANAGEMENT,
      events: { provider: ["task.closed"], consumer: ["task.closed"] },
      document: { provider: ["new revision"], consumer: ["new revision"] },
    },
    {
      when: "partial",
      states: ["task open → confirmed"],
      tables: ["agents", "rating_counterparties", "tasks"],
      activity: NOT_MANAGEMENT,
      events: { provider: ["task.closed"], consumer: ["task.closed"] },
      directory: { provider: ["updated"], consumer: ["updated"] },
      document: { provider: ["new revision"], consumer: ["new revision"] },
    },
    {
      when: "rejected",
      states: ["task open → confirmed"],
      tables: ["agents", "rating_counterparties", "tasks"],
      activity: NOT_MANAGEMENT,
      events: { provider: ["task.closed"], consumer: ["task.closed"] },
      directory: { provider: ["updated"], consumer: ["updated"] },
      document: { provider: ["new revision"], consumer: ["new revision"] },
    },
    {
      when: "refused after 72 hours, before the job has run",
      states: ["task open → auto_confirmed"],
      tables: ["agents", "escrows", "rating_counterparties", "tasks"],
      activity: NOT_MANAGEMENT,
      events: { provider: ["task.closed"], consumer: ["task.closed"] },
      directory: { provider: ["updated"], consumer: ["updated"] },
      document: { provider: ["new revision"], consumer: ["new revision"] },
    },
  ],
};

export const PURCHASE_JOBS: Readonly<Record<string, Cases>> = {
  auto_confirm_tasks: [
    {
      when: "the consumer opened the intent",
      states: ["task open → auto_confirmed"],
      tables: ["agents", "escrows", "rating_counterparties", "tasks"],
      activity: BY_ITSELF,
      events: { provider: ["task.closed"], consumer: ["task.closed"] },
      directory: { provider: ["updated"], consumer: ["updated"] },
      document: { provider: ["new revision"], consumer: ["new revision"] },
    },
    {
      when: "the provider opened the intent",
      states: ["task open → auto_confirmed"],
      tables: ["tasks"],
      activity: BY_ITSELF,
      events: { provider: ["task.closed"], consumer: ["task.closed"] },
    },
  ],

  abandon_intents: [
    {
      when: "it was not paid in time",
      states: ["intent OPEN → ABANDONED"],
      tables: ["payment_intents", "spend_holds", "spend_sums"],
      activity: BY_ITSELF,
      events: { provider: ["intent.abandoned"], consumer: ["intent.abandoned"] },
    },
    {
      when: "it was cancelled, and its end was reported then",
      states: ["intent OPEN → ABANDONED"],
      tables: ["payment_intents", "spend_holds", "spend_sums"],
      activity: BY_ITSELF,
    },
  ],

  spend_paid_intents: [
    {
      when: "it was not facilitated",
      tables: ["payment_intents", "spend_holds", "spend_ledger", "spend_sums"],
      activity: BY_ITSELF,
    },
  ],

  rate_abandoned_intents: [
    {
      when: "the consumer's rating moves",
      tables: ["agents", "payment_intents", "rating_counterparties"],
      activity: BY_ITSELF,
      directory: { consumer: ["updated"] },
      document: { consumer: ["new revision"] },
    },
    {
      when: "the consumer is not rated yet",
      tables: ["agents", "payment_intents", "rating_counterparties"],
      activity: BY_ITSELF,
      document: { consumer: ["new revision"] },
    },
    {
      when: "agents of one principal",
      tables: ["payment_intents"],
      activity: BY_ITSELF,
    },
  ],
};
