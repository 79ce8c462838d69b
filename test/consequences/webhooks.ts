// The rows of webhook endpoints and their deliveries in the table of consequences (table.ts). A delivery is a consequence of its event, and is in the
// row of the job that queues it.
import { BY_ITSELF, type Cases } from "./words.ts";

export const WEBHOOK_OPERATIONS: Readonly<Record<string, Cases>> = {
  createWebhook: [
    {
      when: "always",
      states: ["webhook none → enabled"],
      tables: ["webhook_endpoints"],
      activity: ["webhook.created"],
      mails: ["customer.webhook_created"],
    },
  ],

  patchWebhook: [
    {
      when: "its address, its events and its description change",
      tables: ["webhook_endpoints"],
      activity: ["webhook.url_changed", "webhook.events_changed", "webhook.description_changed"],
      mails: ["customer.webhook_url_changed"],
    },
    {
      when: "it is disabled",
      states: ["webhook enabled → disabled"],
      tables: ["webhook_endpoints"],
      activity: ["webhook.disabled"],
      mails: ["customer.webhook_disabled"],
    },
    {
      when: "it is enabled again",
      states: ["webhook disabled → enabled"],
      tables: ["webhook_endpoints"],
      activity: ["webhook.enabled"],
    },
  ],

  rotateWebhookSecret: [{ when: "always", tables: ["webhook_endpoints"], activity: ["webhook.secret_rotated"] }],
  deleteWebhook: [
    {
      when: "it is enabled",
      states: ["webhook enabled → none"],
      tables: ["webhook_endpoints"],
      activity: ["webhook.deleted"],
      mails: ["customer.webhook_disabled"],
    },
    {
      when: "it is disabled",
      states: ["webhook disabled → none"],
      tables: ["webhook_endpoints"],
      activity: ["webhook.deleted"],
    },
  ],

  testWebhook: [
    {
      when: "always",
      tables: ["webhook_queue"],
      activity: { none: "a test changes nothing that stands" },
      events: { account: ["webhook.test"] },
    },
  ],

  redeliver: [
    {
      when: "it has ended",
      tables: ["webhook_deliveries", "webhook_queue"],
      activity: { none: "the same event goes to the same endpoint" },
    },
    {
      when: "it was never tried",
      activity: { none: "it is due already" },
    },
  ],

  replayEvents: [
    {
      when: "always",
      tables: ["walks", "webhook_endpoints"],
      activity: { none: "the same events go to the same endpoint" },
    },
  ],
};

export const WEBHOOK_JOBS: Readonly<Record<string, Cases>> = {
  fan_out_events: [
    {
      when: "an endpoint selects a new event",
      tables: ["account_volumes", "webhook_queue"],
      activity: BY_ITSELF,
    },
    { when: "no endpoint selects it", tables: ["account_volumes"], activity: BY_ITSELF },
    {
      when: "80 % of a quota of the account is used",
      states: ["alert none → open"],
      tables: ["account_volumes"],
      activity: BY_ITSELF,
      alerts: ["volume"],
    },
    {
      when: "a quota of the account is used up",
      states: ["alert none → open"],
      tables: ["account_volumes", "platforms"],
      activity: BY_ITSELF,
      alerts: ["volume"],
    },
  ],

  deliver_webhooks: [{ when: "deliveries are due, and it wakes their endpoints", activity: BY_ITSELF }],
  replay_events: [
    {
      when: "events follow its position",
      tables: ["account_volumes", "walks", "webhook_queue"],
      activity: BY_ITSELF,
    },
  ],

  prune_deliveries: [
    {
      when: "deliveries are older than 30 days",
      tables: ["webhook_deliveries"],
      activity: BY_ITSELF,
    },
  ],

  reseal_webhook_secrets: [
    {
      when: "a secret is sealed under an older key",
      tables: ["webhook_endpoints"],
      activity: BY_ITSELF,
    },
  ],
};

const DISABLED = {
  states: ["webhook enabled → disabled"],
  tables: ["webhook_deliveries", "webhook_endpoints", "webhook_queue"],
  activity: ["webhook.disabled"],
  mails: ["customer.webhook_disabled"],
} as const;

/** The work of an endpoint's object when it is woken. */
export const WEBHOOK_MESSAGES = {
  deliver: [
    {
      when: "the receiver accepts it",
      tables: ["webhook_deliveries", "webhook_queue"],
      activity: BY_ITSELF,
    },
    {
      when: "the receiver fails for the first time",
      tables: ["webhook_deliveries", "webhook_endpoints", "webhook_queue"],
      activity: BY_ITSELF,
    },
    { when: "the receiver is gone", ...DISABLED },
    { when: "the receiver has failed for five days", ...DISABLED },
    {
      when: "its endpoint was deleted",
      tables: ["webhook_queue"],
      activity: BY_ITSELF,
    },
  ],
} as const satisfies Readonly<Record<string, Cases>>;
