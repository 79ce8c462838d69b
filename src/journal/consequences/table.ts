// Every change of state and its consequences, as a table. docs/consequences.md is printed from it, and tests play every row and compare it
// with what was written. The Worker does not read it. The memory of objects (used proofs and nonces, sent transactions), the outbox's mark,
// the running hash of the activity log, how far the follower has read, and the last use of keys and sessions are not consequences.
import type { ChainMessage, WebhookMessage } from "../../context.ts";
import { ACCOUNT_JOBS, ACCOUNT_OPERATIONS } from "./accounts.ts";
import { STATE_OPERATIONS } from "./agent-states.ts";
import { AGENT_JOBS, AGENT_OPERATIONS } from "./agents.ts";
import { ATTESTATION_OPERATIONS } from "./attestations.ts";
import { CUSTOMER_OPERATIONS } from "./customers.ts";
import { DIRECTORY_JOBS } from "./directory.ts";
import { DISPUTE_JOBS, DISPUTE_MESSAGES, DISPUTE_OPERATIONS } from "./disputes.ts";
import { FOLLOWER_JOBS, FOLLOWER_MESSAGES } from "./follower.ts";
import { MARKET_JOBS, MARKET_MESSAGES, MARKET_OPERATIONS } from "./markets.ts";
import { MOVE_OPERATIONS } from "./moves.ts";
import { PURCHASE_JOBS, PURCHASE_OPERATIONS } from "./purchases.ts";
import { REVIEW_JOBS, REVIEW_OPERATIONS } from "./review.ts";
import { SANDBOX_JOBS, SANDBOX_OPERATIONS } from "./sandbox.ts";
import { SESSION_JOBS, SESSION_OPERATIONS } from "./sessions.ts";
import { CASCADE_CASES, PRINCIPAL_OPERATIONS, STANDING_OPERATIONS } from "./standing.ts";
import { VAULT_JOBS, VAULT_MESSAGES, VAULT_OPERATIONS } from "./vaults.ts";
import { VERIFIER_OPERATIONS } from "./verifiers.ts";
import { WEBHOOK_JOBS, WEBHOOK_MESSAGES, WEBHOOK_OPERATIONS } from "./webhooks.ts";
import { BY_ITSELF, type Cases, NO_EDIT, NONE, NOTHING, UNSEEN } from "./words.ts";

const OPERATORS_OWN = { none: "an operator's act, an entry of the operators' own log: it has no platform" } as const;

/** POSTs that only read: `verifyProof` has a row, because it uses a nonce up. */
export const READING_POSTS: readonly string[] = ["verifyCertificate", "verifyAid", "evaluateSpendPolicy"];

/** By operationId: every operation that writes. */
export const OPERATION_CONSEQUENCES: Readonly<Record<string, Cases>> = {
  ...ACCOUNT_OPERATIONS,
  ...SESSION_OPERATIONS,
  ...REVIEW_OPERATIONS,
  ...STANDING_OPERATIONS,
  ...PRINCIPAL_OPERATIONS,
  ...ATTESTATION_OPERATIONS,
  ...CUSTOMER_OPERATIONS,
  ...VERIFIER_OPERATIONS,
  ...AGENT_OPERATIONS,
  ...STATE_OPERATIONS,
  ...MOVE_OPERATIONS,
  ...MARKET_OPERATIONS,
  ...VAULT_OPERATIONS,
  ...PURCHASE_OPERATIONS,
  ...DISPUTE_OPERATIONS,
  ...SANDBOX_OPERATIONS,
  ...WEBHOOK_OPERATIONS,

  verifyProof: [{ when: "a nonce is used up, in its object", ...NOTHING }],

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
  ...SESSION_JOBS,
  ...REVIEW_JOBS,
  ...AGENT_JOBS,
  ...MARKET_JOBS,
  ...FOLLOWER_JOBS,
  ...VAULT_JOBS,
  ...PURCHASE_JOBS,
  ...DISPUTE_JOBS,
  ...SANDBOX_JOBS,
  ...DIRECTORY_JOBS,
  ...WEBHOOK_JOBS,

  hand_on_events: [{ when: "there are new events", states: [], tables: ["outbox"], activity: BY_ITSELF, ...UNSEEN }],

  list_events: [{ when: "there are new events to list", states: [], tables: [], activity: BY_ITSELF, ...UNSEEN }],

  prune_events: [
    { when: "events are older than 30 days", states: [], tables: ["event_marks"], activity: BY_ITSELF, ...UNSEEN },
  ],

  prune_idempotency_outcomes: [
    { when: "a window is over", states: [], tables: ["idempotency_outcomes"], activity: BY_ITSELF, ...UNSEEN },
  ],

  finish_cascades: CASCADE_CASES,

  follow_thresholds: [{ when: "handed to the queue: follow_threshold", ...NOTHING }],

  resume_market_provisioning: [{ when: "handed to the queue: provision_market", ...NOTHING }],

  apply_wallet_changes: [{ when: "handed to the queue: provision_market", ...NOTHING }],

  sign_activity_heads: [
    {
      when: "entries were added since the last head",
      states: [],
      tables: ["account_volumes", "activity_chains", "activity_heads"],
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
export const MESSAGE_CONSEQUENCES: Readonly<Record<(ChainMessage | WebhookMessage)["kind"], Cases>> = {
  ...MARKET_MESSAGES,
  ...FOLLOWER_MESSAGES,
  ...VAULT_MESSAGES,
  ...DISPUTE_MESSAGES,
  ...WEBHOOK_MESSAGES,
};

/** The consequences of running any job or message, beside its own. */
export const RUNNING_CONSEQUENCES: Readonly<Record<"job" | "message", Cases>> = {
  job: [
    { when: "nothing is due", ...NOTHING },
    { when: "something is due", states: [], tables: ["jobs"], activity: BY_ITSELF, ...UNSEEN },
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
