// The rows of what the follower of the contract's events changes (CHN-24, MKT-23).
import type { ChainMessage } from "../../src/context.ts";
import { BY_ITSELF, type Case, type Cases } from "./words.ts";

const TABLES = ["escrows", "ledger_lines"] as const;

/** The effect of a deposit, whoever books it. */
export const BOOKED: Case = {
  when: "a deposit that changes no state",
  tables: TABLES,
  activity: BY_ITSELF,
};
export const FUNDED: Case = {
  when: "a deposit that funds the escrow",
  states: ["escrow FUNDING → ACTIVE"],
  tables: ["agents", ...TABLES],
  activity: BY_ITSELF,
  events: { agent: ["agent.escrow_state_changed"] },
  directory: { agent: ["updated"] },
  document: { agent: ["new revision"] },
};
export const FUNDS_AGENT: Case = {
  when: "a deposit that funds an agent in FUNDING",
  states: ["agent FUNDING → ACTIVE", "escrow FUNDING → ACTIVE"],
  tables: ["agents", ...TABLES],
  activity: ["agent.funded"],
  events: { agent: ["agent.escrow_state_changed", "agent.status_changed"] },
  directory: { agent: ["status_changed"] },
  document: { agent: ["new revision"] },
  certificate: { agent: ["reinstated"] },
};

export const FOLLOWER_MESSAGES: Readonly<Record<Extract<ChainMessage["kind"], "follow_chain">, Cases>> = {
  follow_chain: [
    { when: "nothing has moved a vault" },
    BOOKED,
    FUNDED,
    FUNDS_AGENT,
    {
      when: "a payment of an open intent",
      states: ["intent OPEN → PAID"],
      tables: ["ledger_lines", "payment_intents", "spend_holds"],
      activity: BY_ITSELF,
      events: { provider: ["intent.paid"], consumer: ["intent.paid"] },
    },
    {
      when: "a payment by the provider itself used up an intent's key",
      states: ["intent OPEN → ABANDONED"],
      tables: ["ledger_lines", "payment_intents", "spend_holds", "spend_sums"],
      activity: BY_ITSELF,
      events: { provider: ["intent.abandoned"], consumer: ["intent.abandoned"] },
    },
    {
      when: "a reorg removed the payment",
      states: ["intent PAID → OPEN"],
      tables: ["payment_intents", "spend_holds"],
      activity: BY_ITSELF,
    },
    {
      when: "a reorg replaced the payment with another one",
      tables: ["ledger_lines", "payment_intents"],
      activity: BY_ITSELF,
      events: { provider: ["intent.paid"], consumer: ["intent.paid"] },
    },
    {
      when: "a facilitated settlement is gone",
      states: ["alert none → open", "intent SETTLED → OPEN", "task open → void"],
      tables: ["escrows", "payment_intents", "spend_holds", "spend_ledger", "spend_sums", "tasks", "transactions"],
      activity: BY_ITSELF,
      events: {
        provider: ["task.closed", "transaction.reversed"],
        consumer: ["task.closed", "transaction.reversed"],
      },
      alerts: ["settlement_reversed"],
    },
    {
      when: "a facilitated settlement is gone after its task was confirmed",
      states: ["alert none → open", "intent SETTLED → OPEN"],
      tables: [
        "agents",
        "escrows",
        "payment_intents",
        "rating_counterparties",
        "spend_holds",
        "spend_ledger",
        "spend_sums",
        "tasks",
        "transactions",
      ],
      activity: BY_ITSELF,
      events: { provider: ["transaction.reversed"], consumer: ["transaction.reversed"] },
      directory: { provider: ["updated"], consumer: ["updated"] },
      document: { provider: ["new revision"], consumer: ["new revision"] },
      alerts: ["settlement_reversed"],
    },
    {
      when: "a facilitated settlement is gone after its dispute was conceded",
      states: ["alert none → open", "chain operation waiting → none", "intent SETTLED → OPEN"],
      tables: [
        "agents",
        "chain_operations",
        "disputes",
        "escrows",
        "payment_intents",
        "rating_counterparties",
        "spend_holds",
        "spend_ledger",
        "spend_sums",
        "tasks",
        "transactions",
      ],
      activity: BY_ITSELF,
      events: {
        provider: ["dispute.resolved", "transaction.reversed"],
        consumer: ["dispute.resolved", "transaction.reversed"],
      },
      directory: { provider: ["updated"], consumer: ["updated"] },
      document: { provider: ["new revision"], consumer: ["new revision"] },
      alerts: ["settlement_reversed"],
    },
    {
      when: "a facilitated settlement is in another block",
      states: ["alert none → open", "intent SETTLED → PAID", "task open → void"],
      tables: ["escrows", "payment_intents", "spend_holds", "spend_ledger", "spend_sums", "tasks", "transactions"],
      activity: BY_ITSELF,
      events: {
        provider: ["intent.paid", "task.closed", "transaction.reversed"],
        consumer: ["intent.paid", "task.closed", "transaction.reversed"],
      },
      alerts: ["settlement_reversed"],
    },
    { when: "a provider pays a refund", tables: ["refunds"], activity: BY_ITSELF },
    {
      when: "a provider pays an awaited refund",
      states: ["chain operation waiting → done"],
      tables: ["chain_operations", "refunds"],
      activity: BY_ITSELF,
    },
    {
      when: "the contract got another wallet, which a market has requested",
      states: ["chain operation done → waiting"],
      tables: ["agents", "chain_operations", "named_wallets"],
      activity: BY_ITSELF,
    },
    {
      when: "the contract got a wallet that no market has requested",
      states: ["alert none → open", "chain operation done → waiting"],
      tables: ["agents", "chain_operations", "named_wallets"],
      activity: BY_ITSELF,
      alerts: ["operational_wallet"],
    },
    {
      when: "a release whose transaction was not recorded",
      tables: ["chain_operations", ...TABLES],
      activity: BY_ITSELF,
    },
    {
      when: "a key did what neither the service nor its configuration requested",
      states: ["alert none → open"],
      activity: BY_ITSELF,
      alerts: ["foreign_act"],
    },
    {
      when: "a key set a threshold that the service did not request",
      states: ["alert none → open"],
      tables: ["escrows"],
      activity: BY_ITSELF,
      alerts: ["foreign_act"],
    },
    {
      when: "a vault received something without an event of the contract",
      states: ["alert none → open"],
      tables: TABLES,
      activity: BY_ITSELF,
      alerts: ["reconciliation"],
    },
    {
      when: "a vault holds less than its lines say",
      states: ["alert none → open"],
      tables: ["ledger_differences"],
      activity: BY_ITSELF,
      alerts: ["reconciliation"],
    },
  ],
};

export const FOLLOWER_JOBS: Readonly<Record<string, Cases>> = {
  follow_chains: [{ when: "nothing has happened on the chain" }, { when: "handed to the queue: follow_chain" }],
  fail_unpaid_refunds: [
    {
      when: "the chain was read past the end of the wait for the refund",
      states: ["chain operation waiting → failed"],
      tables: ["chain_operations"],
      activity: BY_ITSELF,
    },
  ],
};
