// Every change of state and its consequences, as a table. docs/consequences.md is printed from it, and tests play every row and compare it with what
// was written. Not part of it are the memory of objects (used proofs and nonces, sent transactions), the outbox's mark, the running hash of the
// activity log, how far the follower has read, and the last use of keys and sessions.
import type { ChainMessage, WebhookMessage } from "../../src/context.ts";
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
import { SERVICE_JOBS, SERVICE_OPERATIONS } from "./service.ts";
import { SESSION_JOBS, SESSION_OPERATIONS } from "./sessions.ts";
import { PRINCIPAL_OPERATIONS, STANDING_OPERATIONS } from "./suspensions.ts";
import { VAULT_JOBS, VAULT_MESSAGES, VAULT_OPERATIONS } from "./vaults.ts";
import { VERIFIER_OPERATIONS } from "./verifiers.ts";
import { WEBHOOK_JOBS, WEBHOOK_MESSAGES, WEBHOOK_OPERATIONS } from "./webhooks.ts";
import { BY_ITSELF, type Cases, type Consequence, completeRows } from "./words.ts";

/** POSTs that only read. `verifyProof` has a row, because it uses up a nonce. */
export const READING_POSTS: readonly string[] = ["verifyCertificate", "verifyAid", "evaluateSpendPolicy"];

type Noun = Readonly<Partial<Record<"operations" | "jobs" | "messages", Readonly<Record<string, Cases>>>>>;
/** Operations by operationId; jobs by name, for one row that each records; messages by kind. */
export const NOUNS: Readonly<Record<string, Noun>> = {
  Accounts: { operations: { ...ACCOUNT_OPERATIONS, ...STANDING_OPERATIONS }, jobs: ACCOUNT_JOBS },
  Sessions: { operations: SESSION_OPERATIONS, jobs: SESSION_JOBS },
  Reviews: { operations: REVIEW_OPERATIONS, jobs: REVIEW_JOBS },
  Principals: { operations: PRINCIPAL_OPERATIONS },
  Attestations: { operations: ATTESTATION_OPERATIONS },
  Customers: { operations: CUSTOMER_OPERATIONS },
  Verifiers: { operations: VERIFIER_OPERATIONS },
  Agents: { operations: { ...AGENT_OPERATIONS, ...STATE_OPERATIONS, ...MOVE_OPERATIONS }, jobs: AGENT_JOBS },
  Markets: { operations: MARKET_OPERATIONS, jobs: MARKET_JOBS, messages: MARKET_MESSAGES },
  Vaults: { operations: VAULT_OPERATIONS, jobs: VAULT_JOBS, messages: VAULT_MESSAGES },
  "What the chain tells": { jobs: FOLLOWER_JOBS, messages: FOLLOWER_MESSAGES },
  Purchases: { operations: PURCHASE_OPERATIONS, jobs: PURCHASE_JOBS },
  Disputes: { operations: DISPUTE_OPERATIONS, jobs: DISPUTE_JOBS, messages: DISPUTE_MESSAGES },
  Sandbox: { operations: SANDBOX_OPERATIONS, jobs: SANDBOX_JOBS },
  Directory: { jobs: DIRECTORY_JOBS },
  Webhooks: { operations: WEBHOOK_OPERATIONS, jobs: WEBHOOK_JOBS, messages: WEBHOOK_MESSAGES },
  "The service itself": { operations: SERVICE_OPERATIONS, jobs: SERVICE_JOBS },
};

const rowsOf = (kind: "operations" | "jobs") =>
  completeRows(Object.assign({}, ...Object.values(NOUNS).map((noun) => noun[kind])));

/** Every operation that writes. */
export const OPERATION_CONSEQUENCES: Readonly<Record<string, Consequence[]>> = rowsOf("operations");
export const JOB_CONSEQUENCES: Readonly<Record<string, Consequence[]>> = rowsOf("jobs");
export const MESSAGE_CONSEQUENCES = completeRows<(ChainMessage | WebhookMessage)["kind"]>({
  ...MARKET_MESSAGES,
  ...FOLLOWER_MESSAGES,
  ...VAULT_MESSAGES,
  ...DISPUTE_MESSAGES,
  ...WEBHOOK_MESSAGES,
});

/** The consequences of running any job or message, besides its own. */
export const RUNNING_CONSEQUENCES = completeRows<"job" | "message">({
  job: [
    { when: "nothing is due" },
    { when: "something is due", tables: ["jobs"], activity: BY_ITSELF },
    {
      when: "what it finds has been due for ten minutes",
      states: ["alert none → open"],
      tables: ["jobs"],
      activity: BY_ITSELF,
      alerts: ["job_lag"],
    },
    {
      when: "one of its rows fails",
      states: ["alert none → open"],
      tables: ["jobs"],
      activity: BY_ITSELF,
      alerts: ["job_failed"],
    },
  ],
  message: [
    {
      when: "its last attempt failed",
      states: ["alert none → open"],
      activity: BY_ITSELF,
      alerts: ["dead_letter"],
    },
  ],
});
