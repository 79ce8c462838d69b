// The rows of the service's own acts in the table of consequences (table.ts): alerts, the event queue, pruning, and jobs that hand their work on.
import { CASCADE_CASES } from "./suspensions.ts";
import { BY_ITSELF, type Cases, NO_EDIT } from "./words.ts";

const OPERATORS_OWN = { none: "an operator's act, an entry of the operators' own log: it has no platform" } as const;

export const SERVICE_OPERATIONS: Readonly<Record<string, Cases>> = {
  verifyProof: [{ when: "a nonce is used up, in its object" }],
  acknowledgeAlert: [
    {
      when: "open",
      states: ["alert open → acknowledged"],
      tables: ["operator_entries"],
      activity: OPERATORS_OWN,
    },
    { when: "acknowledged already" },
  ],
};

export const SERVICE_JOBS: Readonly<Record<string, Cases>> = {
  hand_on_events: [{ when: "there are new events", tables: ["outbox"], activity: BY_ITSELF }],
  list_events: [{ when: "there are new events to list", activity: BY_ITSELF }],
  prune_events: [{ when: "events are older than 30 days", tables: ["event_marks"], activity: BY_ITSELF }],
  prune_idempotency_outcomes: [{ when: "a window is over", tables: ["idempotency_outcomes"], activity: BY_ITSELF }],
  finish_cascades: CASCADE_CASES,

  follow_thresholds: [{ when: "handed to the queue: follow_threshold" }],
  resume_market_provisioning: [{ when: "handed to the queue: provision_market" }],
  apply_wallet_changes: [{ when: "handed to the queue: provision_market" }],
  sign_activity_heads: [
    {
      when: "entries were added since the last head",
      tables: ["account_volumes", "activity_chains", "activity_heads"],
      activity: NO_EDIT,
    },
    { when: "no entry was added", tables: ["activity_chains"], activity: NO_EDIT },
  ],

  mail_alerts: [
    {
      when: "an alert was never mailed, and its kind's hour is over",
      activity: BY_ITSELF,
      mails: ["alerts to the operator"],
    },
  ],
};
