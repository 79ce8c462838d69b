// Every change of state and its consequences, as a table. docs/consequences.md is printed from it, and tests play every row and compare it
// with what was written. The Worker does not read it. The memory of objects (used proofs and nonces, sent transactions), the outbox's mark,
// the running hash of the activity log, and the last use of keys and sessions are not consequences.
import type { ChainMessage } from "../context.ts";
import { ACCOUNT_JOBS, ACCOUNT_OPERATIONS } from "./account-consequences.ts";
import { type Cases, NO_NOTICE, NONE, UNSEEN } from "./consequence.ts";
import { REVIEW_JOBS, REVIEW_OPERATIONS } from "./review-consequences.ts";
import { CASCADE_CASES, STANDING_OPERATIONS } from "./standing-consequences.ts";

const NOT_MANAGEMENT = { none: "an agent's act; the log records management" } as const;
const BY_ITSELF = { none: "falls due by itself, and changes nobody's standing" } as const;
const RECORDED_AT_REQUEST = { none: "recorded when the market was requested" } as const;
const RECORDED_WITH_PROFILE = { none: "recorded with the change of the profile" } as const;
const NO_EDIT = { none: "no change of anything that a platform manages" } as const;
const OPERATORS_OWN = { none: "an operator's act, an entry of the operators' own log: it has no platform" } as const;
const NOTHING_NEW = { none: "nothing changes" } as const;

const NOTHING = { states: [], tables: [], activity: NOTHING_NEW, ...UNSEEN } as const;

/** POSTs that only read: `verifyProof` has a row, because it uses a nonce up. */
export const READING_POSTS: readonly string[] = ["verifyCertificate", "verifyAid"];

/** By operationId: every operation that writes. */
export const OPERATION_CONSEQUENCES: Readonly<Record<string, Cases>> = {
  ...ACCOUNT_OPERATIONS,
  ...REVIEW_OPERATIONS,
  ...STANDING_OPERATIONS,

  registerPrincipal: [
    {
      when: "always",
      states: ["principal none → ACTIVE"],
      tables: ["attestations", "principals"],
      activity: ["principal.registered"],
      ...UNSEEN,
    },
  ],

  registerAgent: [
    {
      when: "always",
      states: ["agent none → DRAFT"],
      tables: ["agents"],
      activity: ["agent.registered"],
      events: { agent: ["agent.registered"] },
      directory: NONE,
      document: { agent: ["unsigned version"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
  ],

  activateAgent: [
    {
      when: "always",
      states: ["agent DRAFT → ACTIVE"],
      tables: ["agents"],
      activity: ["agent.activated"],
      events: { agent: ["agent.activated", "agent.status_changed"] },
      directory: { agent: ["registered"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["issued"] },
      ...NO_NOTICE,
    },
  ],

  reissueAgentCertificate: [
    {
      when: "always",
      states: [],
      tables: ["agents"],
      activity: ["agent.certificate_reissued"],
      events: NONE,
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["issued"] },
      ...NO_NOTICE,
    },
  ],

  patchAgentScope: [
    {
      when: "not narrowed",
      states: [],
      tables: ["agents"],
      activity: ["agent.scope_changed"],
      events: NONE,
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["issued"] },
      ...NO_NOTICE,
    },
    {
      when: "narrowed",
      states: [],
      tables: ["agents"],
      activity: ["agent.scope_changed"],
      events: NONE,
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["issued", "replaced in 24 hours"] },
      ...NO_NOTICE,
    },
    {
      when: "narrowed, the principal not ACTIVE",
      states: [],
      tables: ["agents"],
      activity: ["agent.scope_changed"],
      events: NONE,
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["replaced in 24 hours"] },
      ...NO_NOTICE,
    },
    {
      when: "of a DRAFT",
      states: [],
      tables: ["agents"],
      activity: ["agent.scope_changed"],
      events: NONE,
      directory: NONE,
      document: { agent: ["unsigned version"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
  ],

  patchAgentStatus: [
    {
      when: "SUSPENDED",
      states: ["agent ACTIVE → SUSPENDED"],
      tables: ["agents"],
      activity: ["agent.suspended"],
      events: { agent: ["agent.status_changed"] },
      directory: { agent: ["status_changed"] },
      document: NONE,
      certificate: { agent: ["suspended"] },
      ...NO_NOTICE,
    },
    {
      when: "ACTIVE",
      states: ["agent SUSPENDED → ACTIVE"],
      tables: ["agents"],
      activity: ["agent.reactivated"],
      events: { agent: ["agent.status_changed"] },
      directory: { agent: ["status_changed"] },
      document: NONE,
      certificate: { agent: ["reinstated"] },
      ...NO_NOTICE,
    },
    {
      when: "SUSPENDED while it waits for its escrow",
      states: ["agent FUNDING → SUSPENDED"],
      tables: ["agents"],
      activity: ["agent.suspended"],
      events: { agent: ["agent.status_changed"] },
      directory: { agent: ["status_changed"] },
      document: NONE,
      // Its certificate is already listed as suspended.
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "ACTIVE, suspended while it waited for its escrow",
      states: ["agent SUSPENDED → FUNDING"],
      tables: ["agents"],
      activity: ["agent.reactivated"],
      events: { agent: ["agent.status_changed"] },
      directory: { agent: ["status_changed"] },
      document: NONE,
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "TERMINATED",
      states: ["agent ACTIVE → TERMINATED"],
      tables: ["agents"],
      activity: ["agent.terminated"],
      events: { agent: ["agent.status_changed"] },
      directory: { agent: ["revoked"] },
      document: NONE,
      certificate: { agent: ["revoked"] },
      ...NO_NOTICE,
    },
    {
      when: "TERMINATED, of a DRAFT",
      states: ["agent DRAFT → TERMINATED"],
      tables: ["agents"],
      activity: ["agent.terminated"],
      events: { agent: ["agent.status_changed"] },
      directory: NONE,
      document: NONE,
      certificate: NONE,
      ...NO_NOTICE,
    },
  ],

  authorizeMarkets: [
    {
      when: "the chain answers in time",
      states: ["chain operation none → done", "escrow none → FUNDING", "market none → ACTIVE"],
      tables: ["agent_markets", "agents", "chain_operations", "escrows"],
      activity: ["agent.markets_changed"],
      events: { agent: ["market.provisioned"] },
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "of a DRAFT",
      states: ["chain operation none → done", "escrow none → FUNDING", "market none → ACTIVE"],
      tables: ["agent_markets", "agents", "chain_operations", "escrows"],
      activity: ["agent.markets_changed"],
      events: { agent: ["market.provisioned"] },
      directory: NONE,
      document: { agent: ["unsigned version"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "a production market of a sandbox agent",
      states: ["chain operation none → done", "escrow none → FUNDING", "market none → ACTIVE"],
      tables: ["agent_markets", "chain_operations", "escrows"],
      activity: ["agent.markets_changed"],
      events: { agent: ["market.provisioned"] },
      directory: NONE,
      document: NONE,
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "the chain does not answer in time",
      states: ["chain operation none → waiting", "market none → PROVISIONING"],
      tables: ["agent_markets", "chain_operations"],
      activity: ["agent.markets_changed"],
      ...UNSEEN,
    },
    {
      when: "the registrar has no gas",
      states: ["alert none → open", "chain operation none → waiting", "market none → PROVISIONING"],
      tables: ["agent_markets", "chain_operations"],
      activity: ["agent.markets_changed"],
      events: NONE,
      directory: NONE,
      document: NONE,
      certificate: NONE,
      alerts: ["low_gas"],
      mails: [],
    },
    {
      // The sandbox market fails, and the production market's wallet is written to the contract again (MKT-9).
      when: "a production market gets another wallet while the transaction is on its way",
      states: ["chain operation none → done", "market ACTIVE → PROVISIONING", "market none → FAILED"],
      tables: ["agent_markets", "chain_operations"],
      activity: ["agent.markets_changed"],
      ...UNSEEN,
    },
    {
      when: "the chain refuses",
      states: ["chain operation none → failed", "market none → FAILED"],
      tables: ["agent_markets", "chain_operations"],
      activity: ["agent.markets_changed"],
      ...UNSEEN,
    },
    {
      // First the market leaves the document, then it returns with the new wallet (MKT-12).
      when: "another wallet",
      states: [],
      tables: ["agent_markets", "agents", "chain_operations", "escrows"],
      activity: ["agent.markets_changed"],
      events: { agent: ["market.provisioned"] },
      directory: { agent: ["updated", "updated"] },
      document: { agent: ["new version", "new version"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "another wallet, the chain does not answer in time",
      states: ["chain operation done → waiting", "market ACTIVE → PROVISIONING"],
      tables: ["agent_markets", "agents", "chain_operations"],
      activity: ["agent.markets_changed"],
      events: NONE,
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    { when: "open already, as asked", ...NOTHING },
  ],

  removeAuthorizedMarket: [
    {
      when: "of the agent's environment",
      states: ["market ACTIVE → none"],
      tables: ["agent_markets", "agents"],
      activity: ["agent.markets_changed"],
      events: NONE,
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "a production market of a sandbox agent",
      states: ["market ACTIVE → none"],
      tables: ["agent_markets"],
      activity: ["agent.markets_changed"],
      ...UNSEEN,
    },
  ],

  createPaymentIntent: [
    {
      when: "always",
      states: ["intent none → OPEN"],
      tables: ["payment_intents", "spend_holds", "spend_sums"],
      activity: NOT_MANAGEMENT,
      ...UNSEEN,
    },
  ],

  getPaymentAddress: [
    {
      when: "with an order",
      states: ["intent none → OPEN"],
      tables: ["payment_intents", "spend_holds", "spend_sums"],
      activity: NOT_MANAGEMENT,
      ...UNSEEN,
    },
    { when: "without an order", ...NOTHING },
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
      directory: NONE,
      document: { provider: ["new revision"] },
      certificate: NONE,
      ...NO_NOTICE,
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
      certificate: NONE,
      ...NO_NOTICE,
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
      directory: NONE,
      document: { provider: ["new revision"] },
      certificate: NONE,
      ...NO_NOTICE,
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
      directory: NONE,
      document: { provider: ["new revision"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    { when: "the same again", ...NOTHING },
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
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "confirmed, and the threshold falls to what the escrow holds",
      states: ["escrow FUNDING → ACTIVE", "task open → confirmed"],
      tables: ["agents", "escrows", "rating_counterparties", "tasks"],
      activity: NOT_MANAGEMENT,
      events: { provider: ["agent.escrow_state_changed", "task.closed"], consumer: ["task.closed"] },
      directory: { provider: ["updated"], consumer: ["updated"] },
      document: { provider: ["new revision"], consumer: ["new revision"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "confirmed, and both ratings stay",
      states: ["task open → confirmed"],
      tables: ["agents", "rating_counterparties", "tasks"],
      activity: NOT_MANAGEMENT,
      events: { provider: ["task.closed"], consumer: ["task.closed"] },
      directory: NONE,
      document: { provider: ["new revision"], consumer: ["new revision"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "partial",
      states: ["task open → confirmed"],
      tables: ["agents", "rating_counterparties", "tasks"],
      activity: NOT_MANAGEMENT,
      events: { provider: ["task.closed"], consumer: ["task.closed"] },
      directory: { provider: ["updated"], consumer: ["updated"] },
      document: { provider: ["new revision"], consumer: ["new revision"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "rejected",
      states: ["task open → confirmed"],
      tables: ["agents", "rating_counterparties", "tasks"],
      activity: NOT_MANAGEMENT,
      events: { provider: ["task.closed"], consumer: ["task.closed"] },
      directory: { provider: ["updated"], consumer: ["updated"] },
      document: { provider: ["new revision"], consumer: ["new revision"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "refused after 72 hours, before the job came by",
      states: ["task open → auto_confirmed"],
      tables: ["agents", "escrows", "rating_counterparties", "tasks"],
      activity: NOT_MANAGEMENT,
      events: { provider: ["task.closed"], consumer: ["task.closed"] },
      directory: { provider: ["updated"], consumer: ["updated"] },
      document: { provider: ["new revision"], consumer: ["new revision"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
  ],

  verifyProof: [{ when: "a nonce is used up, in its object", ...NOTHING }],

  getAgentAid: [
    {
      when: "the document is stale",
      states: [],
      tables: [],
      activity: NO_EDIT,
      events: NONE,
      directory: NONE,
      document: { agent: ["signed"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    { when: "the document is signed", ...NOTHING },
  ],

  getStatusList: [
    {
      when: "the list was signed a minute ago or never",
      states: [],
      tables: ["status_lists"],
      activity: NO_EDIT,
      ...UNSEEN,
    },
    { when: "the list was signed since", ...NOTHING },
  ],

  acknowledgeAlert: [
    {
      when: "open",
      states: ["alert open → acknowledged"],
      tables: ["operator_entries"],
      activity: OPERATORS_OWN,
      ...UNSEEN,
    },
    { when: "acknowledged already", ...NOTHING },
  ],
};

/** By the job's name, for one row that it records. */
export const JOB_CONSEQUENCES: Readonly<Record<string, Cases>> = {
  ...ACCOUNT_JOBS,
  ...REVIEW_JOBS,

  hand_on_events: [{ when: "there are new events", states: [], tables: ["outbox"], activity: BY_ITSELF, ...UNSEEN }],

  prune_idempotency_outcomes: [
    { when: "a window is over", states: [], tables: ["idempotency_outcomes"], activity: BY_ITSELF, ...UNSEEN },
  ],

  end_attestations: [
    {
      when: "agents run",
      states: ["agent ACTIVE → SUSPENDED", "principal ACTIVE → ATTESTATION_EXPIRED"],
      tables: ["agents", "principals"],
      activity: ["agent.suspended", "principal.attestation_expired"],
      events: { principal: ["principal.status_changed"], agent: ["agent.status_changed"] },
      directory: { agent: ["status_changed"] },
      document: NONE,
      certificate: { agent: ["suspended"] },
      ...NO_NOTICE,
    },
    {
      when: "no agent runs",
      states: ["principal ACTIVE → ATTESTATION_EXPIRED"],
      tables: ["principals"],
      activity: ["principal.attestation_expired"],
      events: { principal: ["principal.status_changed"] },
      directory: NONE,
      document: NONE,
      certificate: NONE,
      ...NO_NOTICE,
    },
  ],

  finish_cascades: CASCADE_CASES,

  restate_agents: [
    {
      when: "a crash left agents that state another name",
      states: [],
      tables: ["agents", "restatements"],
      activity: RECORDED_WITH_PROFILE,
      events: NONE,
      directory: { agent: ["updated"] },
      document: { agent: ["stale version"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
  ],

  open_status_lists: [
    { when: "the newest list is counted", states: [], tables: ["status_lists"], activity: BY_ITSELF, ...UNSEEN },
  ],

  auto_confirm_tasks: [
    {
      when: "the consumer has shown its will",
      states: ["task open → auto_confirmed"],
      tables: ["agents", "escrows", "rating_counterparties", "tasks"],
      activity: BY_ITSELF,
      events: { provider: ["task.closed"], consumer: ["task.closed"] },
      directory: { provider: ["updated"], consumer: ["updated"] },
      document: { provider: ["new revision"], consumer: ["new revision"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "the consumer has not",
      states: ["task open → auto_confirmed"],
      tables: ["tasks"],
      activity: BY_ITSELF,
      events: { provider: ["task.closed"], consumer: ["task.closed"] },
      directory: NONE,
      document: NONE,
      certificate: NONE,
      ...NO_NOTICE,
    },
  ],

  abandon_intents: [
    {
      when: "nobody paid in time",
      states: ["intent OPEN → ABANDONED"],
      tables: ["payment_intents", "spend_holds", "spend_sums"],
      activity: BY_ITSELF,
      events: { provider: ["intent.abandoned"], consumer: ["intent.abandoned"] },
      directory: NONE,
      document: NONE,
      certificate: NONE,
      ...NO_NOTICE,
    },
  ],

  rate_abandoned_intents: [
    {
      when: "the consumer's rating moves",
      states: [],
      tables: ["agents", "payment_intents", "rating_counterparties"],
      activity: BY_ITSELF,
      events: NONE,
      directory: { consumer: ["updated"] },
      document: { consumer: ["new revision"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "the consumer is not rated yet",
      states: [],
      tables: ["agents", "payment_intents", "rating_counterparties"],
      activity: BY_ITSELF,
      events: NONE,
      directory: NONE,
      document: { consumer: ["new revision"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "agents of one principal",
      states: [],
      tables: ["payment_intents"],
      activity: BY_ITSELF,
      ...UNSEEN,
    },
  ],

  follow_thresholds: [{ when: "handed to the queue: follow_threshold", ...NOTHING }],

  resume_market_provisioning: [{ when: "handed to the queue: provision_market", ...NOTHING }],

  watch_registrations: [
    { when: "the contract says it still", states: [], tables: ["chain_operations"], activity: BY_ITSELF, ...UNSEEN },
    {
      when: "the registration is gone",
      states: ["alert none → open", "market ACTIVE → PROVISIONING"],
      tables: ["agent_markets", "agents", "chain_operations"],
      activity: BY_ITSELF,
      events: NONE,
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: NONE,
      alerts: ["chain_reorganised"],
      mails: [],
    },
    {
      when: "the contract has a wallet that no market wants any more",
      states: ["market ACTIVE → PROVISIONING"],
      tables: ["agent_markets", "agents", "chain_operations"],
      activity: BY_ITSELF,
      events: NONE,
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    { when: "the markets still wait", states: [], tables: ["chain_operations"], activity: BY_ITSELF, ...UNSEEN },
    {
      when: "the threshold is gone",
      states: ["alert none → open"],
      tables: ["chain_operations", "escrows"],
      activity: BY_ITSELF,
      events: NONE,
      directory: NONE,
      document: NONE,
      certificate: NONE,
      alerts: ["chain_reorganised"],
      mails: [],
    },
  ],

  tend_signers: [
    { when: "the key has gas, and nothing waits", ...NOTHING },
    {
      when: "the key is low on gas",
      states: ["alert none → open"],
      tables: [],
      activity: BY_ITSELF,
      events: NONE,
      directory: NONE,
      document: NONE,
      certificate: NONE,
      alerts: ["low_gas"],
      mails: [],
    },
    {
      when: "a transaction has waited for five minutes",
      states: ["alert none → open"],
      tables: [],
      activity: BY_ITSELF,
      events: NONE,
      directory: NONE,
      document: NONE,
      certificate: NONE,
      alerts: ["waiting_transaction"],
      mails: [],
    },
  ],

  sign_activity_heads: [
    {
      when: "entries were added since the last head",
      states: [],
      tables: ["activity_chains", "activity_heads"],
      activity: NO_EDIT,
      ...UNSEEN,
    },
    { when: "none was added", states: [], tables: ["activity_chains"], activity: NO_EDIT, ...UNSEEN },
  ],

  mail_alerts: [
    {
      when: "an alert was never mailed, and its kind's hour is over",
      states: [],
      tables: [],
      activity: BY_ITSELF,
      events: NONE,
      directory: NONE,
      document: NONE,
      certificate: NONE,
      alerts: [],
      mails: ["alerts to the operator"],
    },
  ],
};

/** By the kind of the queue message. */
export const MESSAGE_CONSEQUENCES: Readonly<Record<ChainMessage["kind"], Cases>> = {
  provision_market: [
    {
      when: "the contract has it",
      states: ["chain operation waiting → done", "escrow none → FUNDING", "market PROVISIONING → ACTIVE"],
      tables: ["agent_markets", "agents", "chain_operations", "escrows"],
      activity: RECORDED_AT_REQUEST,
      events: { agent: ["market.provisioned"] },
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "the chain refuses",
      states: ["chain operation waiting → failed", "market PROVISIONING → FAILED"],
      tables: ["agent_markets", "chain_operations"],
      activity: RECORDED_AT_REQUEST,
      ...UNSEEN,
    },
    {
      when: "the chain refuses another wallet",
      states: ["chain operation waiting → failed", "market PROVISIONING → ACTIVE"],
      tables: ["agent_markets", "agents", "chain_operations"],
      activity: RECORDED_AT_REQUEST,
      events: NONE,
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "the chain does not answer",
      states: [],
      tables: ["chain_operations"],
      activity: RECORDED_AT_REQUEST,
      ...UNSEEN,
    },
    {
      when: "no block takes the transaction",
      states: [],
      tables: ["agent_markets", "chain_operations"],
      activity: RECORDED_AT_REQUEST,
      ...UNSEEN,
    },
    {
      when: "the network's fees are above the bound",
      states: [],
      tables: ["agent_markets", "chain_operations"],
      activity: RECORDED_AT_REQUEST,
      ...UNSEEN,
    },
    {
      // The operation is done by the production market; the watch finds that in a minute (MKT-14).
      when: "a production market with another wallet has opened meanwhile",
      states: ["chain operation done → failed", "market PROVISIONING → FAILED"],
      tables: ["agent_markets", "chain_operations"],
      activity: RECORDED_AT_REQUEST,
      ...UNSEEN,
    },
    {
      when: "the agent has ended meanwhile",
      states: ["chain operation waiting → failed", "market PROVISIONING → FAILED"],
      tables: ["agent_markets", "chain_operations"],
      activity: RECORDED_AT_REQUEST,
      ...UNSEEN,
    },
    {
      when: "the registrar has no gas",
      states: ["alert none → open"],
      tables: ["agent_markets", "chain_operations"],
      activity: RECORDED_AT_REQUEST,
      events: NONE,
      directory: NONE,
      document: NONE,
      certificate: NONE,
      alerts: ["low_gas"],
      mails: [],
    },
  ],

  follow_threshold: [
    {
      when: "the contract has it",
      states: [],
      tables: ["chain_operations", "escrows"],
      activity: BY_ITSELF,
      ...UNSEEN,
    },
    { when: "the chain does not answer", ...NOTHING },
  ],
};

/** The consequences of running any job or message, beside its own. */
export const RUNNING_CONSEQUENCES: Readonly<Record<"job" | "message", Cases>> = {
  job: [
    { when: "it runs", states: [], tables: ["jobs"], activity: BY_ITSELF, ...UNSEEN },
    {
      when: "what it finds has been due for ten minutes",
      states: ["alert none → open"],
      tables: ["jobs"],
      activity: BY_ITSELF,
      events: NONE,
      directory: NONE,
      document: NONE,
      certificate: NONE,
      alerts: ["job_lag"],
      mails: [],
    },
    {
      when: "one of its rows fails",
      states: ["alert none → open"],
      tables: ["jobs"],
      activity: BY_ITSELF,
      events: NONE,
      directory: NONE,
      document: NONE,
      certificate: NONE,
      alerts: ["job_failed"],
      mails: [],
    },
  ],
  message: [
    {
      when: "its last attempt failed",
      states: ["alert none → open"],
      tables: [],
      activity: BY_ITSELF,
      events: NONE,
      directory: NONE,
      document: NONE,
      certificate: NONE,
      alerts: ["dead_letter"],
      mails: [],
    },
  ],
};
