// What the follower of the contract's events changes (CHN-24, MKT-23).
import type { ChainMessage } from "../../context.ts";
import { BY_ITSELF, type Cases, type Consequence, NO_NOTICE, NONE, NOTHING, UNSEEN } from "./words.ts";

const TABLES = ["escrows", "ledger_lines"] as const;

/** What a deposit does, whoever has it booked. */
export const BOOKED: Consequence = {
  when: "a deposit that changes no state",
  states: [],
  tables: TABLES,
  activity: BY_ITSELF,
  ...UNSEEN,
};
export const FUNDED: Consequence = {
  when: "a deposit that funds the escrow",
  states: ["escrow FUNDING → ACTIVE"],
  tables: ["agents", ...TABLES],
  activity: BY_ITSELF,
  events: { agent: ["agent.escrow_state_changed"] },
  directory: { agent: ["updated"] },
  document: { agent: ["new revision"] },
  certificate: NONE,
  ...NO_NOTICE,
};
export const FUNDS_AGENT: Consequence = {
  when: "a deposit that funds an agent in FUNDING",
  states: ["agent FUNDING → ACTIVE", "escrow FUNDING → ACTIVE"],
  tables: ["agents", ...TABLES],
  activity: ["agent.funded"],
  events: { agent: ["agent.escrow_state_changed", "agent.status_changed"] },
  directory: { agent: ["status_changed"] },
  document: { agent: ["new revision"] },
  certificate: { agent: ["reinstated"] },
  ...NO_NOTICE,
};

export const FOLLOWER_MESSAGES: Readonly<Record<Extract<ChainMessage["kind"], "follow_chain">, Cases>> = {
  follow_chain: [
    { when: "nothing has moved a vault", ...NOTHING },
    BOOKED,
    FUNDED,
    FUNDS_AGENT,
    {
      when: "a payment of an open intent",
      states: ["intent OPEN → PAID"],
      tables: ["ledger_lines", "payment_intents", "spend_holds"],
      activity: BY_ITSELF,
      events: { provider: ["intent.paid"], consumer: ["intent.paid"] },
      directory: NONE,
      document: NONE,
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "a reorganisation took the payment away",
      states: ["intent PAID → OPEN"],
      tables: ["payment_intents", "spend_holds"],
      activity: BY_ITSELF,
      ...UNSEEN,
    },
    {
      when: "a reorganisation put another payment in its place",
      states: [],
      tables: ["ledger_lines", "payment_intents"],
      activity: BY_ITSELF,
      events: { provider: ["intent.paid"], consumer: ["intent.paid"] },
      directory: NONE,
      document: NONE,
      certificate: NONE,
      ...NO_NOTICE,
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
      directory: NONE,
      document: NONE,
      certificate: NONE,
      alerts: ["settlement_reversed"],
      mails: [],
    },
    {
      when: "a facilitated settlement is gone whose task was confirmed",
      states: ["alert none → open", "intent SETTLED → OPEN"],
      tables: [
        "agents",
        "escrows",
        "payment_intents",
        "rating_counterparties",
        "spend_holds",
        "spend_ledger",
        "spend_sums",
        "transactions",
      ],
      activity: BY_ITSELF,
      events: { provider: ["transaction.reversed"], consumer: ["transaction.reversed"] },
      directory: { provider: ["updated"], consumer: ["updated"] },
      document: { provider: ["new revision"], consumer: ["new revision"] },
      certificate: NONE,
      alerts: ["settlement_reversed"],
      mails: [],
    },
    {
      when: "a facilitated settlement stands in another block",
      states: ["alert none → open", "intent SETTLED → PAID", "task open → void"],
      tables: ["escrows", "payment_intents", "spend_holds", "spend_ledger", "spend_sums", "tasks", "transactions"],
      activity: BY_ITSELF,
      events: {
        provider: ["intent.paid", "task.closed", "transaction.reversed"],
        consumer: ["intent.paid", "task.closed", "transaction.reversed"],
      },
      directory: NONE,
      document: NONE,
      certificate: NONE,
      alerts: ["settlement_reversed"],
      mails: [],
    },
    { when: "a provider gives something back", states: [], tables: ["refunds"], activity: BY_ITSELF, ...UNSEEN },
    {
      when: "a provider gives back what was awaited",
      states: ["chain operation waiting → done"],
      tables: ["chain_operations", "refunds"],
      activity: BY_ITSELF,
      ...UNSEEN,
    },
    {
      when: "the contract got another wallet, which a market asks for",
      states: ["chain operation done → waiting"],
      tables: ["chain_operations"],
      activity: BY_ITSELF,
      ...UNSEEN,
    },
    {
      when: "the contract got a wallet that no market asks for",
      states: ["alert none → open", "chain operation done → waiting"],
      tables: ["chain_operations"],
      activity: BY_ITSELF,
      ...UNSEEN,
      alerts: ["operational_wallet"],
    },
    {
      when: "a release of which nobody has noted the transaction",
      states: [],
      tables: ["chain_operations", ...TABLES],
      activity: BY_ITSELF,
      ...UNSEEN,
    },
    {
      when: "a vault holds less than its lines say",
      states: ["alert none → open"],
      tables: ["ledger_differences"],
      activity: BY_ITSELF,
      ...UNSEEN,
      alerts: ["reconciliation"],
    },
  ],
};

export const FOLLOWER_JOBS: Readonly<Record<string, Cases>> = {
  follow_chains: [{ when: "handed to the queue: follow_chain", ...NOTHING }],
  fail_unpaid_refunds: [
    {
      when: "the chain is read to a later instant than the refund was awaited until",
      states: ["chain operation waiting → failed"],
      tables: ["chain_operations"],
      activity: BY_ITSELF,
      ...UNSEEN,
    },
  ],
};
