// The rows of operations on the platform account in the table of consequences (table.ts).
import type { Cases } from "./words.ts";

const ASKED_BY_ANYBODY = { none: "nobody has shown who asks" } as const;

export const ACCOUNT_OPERATIONS: Readonly<Record<string, Cases>> = {
  registerPlatform: [
    {
      when: "always",
      states: ["account none → EMAIL_PENDING"],
      tables: ["account_links", "activity_chains", "mail_counts", "passwords", "platforms"],
      activity: ["account.registered"],
      mails: ["verify_email"],
    },
  ],

  verifyEmail: [
    {
      when: "a new account",
      states: ["account EMAIL_PENDING → PROFILE_PENDING"],
      tables: ["account_links", "management_keys", "platforms", "seen_devices"],
      activity: ["account.email_verified", "api_key.issued"],
      mails: ["customer.key_issued"],
    },
    {
      // One notice to each of the two addresses.
      when: "a new address",
      tables: ["account_links", "platforms"],
      activity: ["account.email_changed"],
      mails: ["customer.email_changed", "customer.email_changed"],
    },
    {
      // One notice to the account's own address, and one to each of the two contacts.
      when: "an admin contact",
      tables: ["account_links", "platforms"],
      activity: ["account.contact_confirmed"],
      mails: ["customer.contact_changed", "customer.contact_changed"],
    },
  ],

  refuseVerification: [
    {
      when: "a new account",
      states: ["account EMAIL_PENDING → none"],
      tables: ["account_links", "activity_chains", "passwords", "platforms"],
      activity: { none: "its log is deleted with it" },
    },
    {
      when: "a new address",
      tables: ["account_links"],
      activity: ["account.link_refused"],
    },
    {
      when: "an admin contact",
      tables: ["account_links", "platforms"],
      activity: ["account.link_refused"],
    },
  ],

  resendVerification: [
    {
      when: "an account is not verified yet",
      tables: ["account_links", "mail_counts"],
      activity: ASKED_BY_ANYBODY,
      mails: ["verify_email"],
    },
  ],

  changePassword: [
    {
      when: "the account has other sessions",
      tables: ["passwords", "sessions"],
      activity: ["account.password_changed"],
      mails: ["customer.password_changed"],
    },
    {
      when: "links to reset it and to change the address are open",
      tables: ["account_links", "passwords"],
      activity: ["account.password_changed"],
      mails: ["customer.password_changed"],
    },
  ],

  forgotPassword: [
    {
      when: "the verified address of an account",
      tables: ["account_links"],
      activity: ASKED_BY_ANYBODY,
      mails: ["reset_password"],
    },
    { when: "any other address", activity: ASKED_BY_ANYBODY },
  ],

  resetPassword: [
    {
      when: "always",
      tables: ["account_links", "passwords", "sessions"],
      activity: ["account.password_reset"],
      mails: ["customer.password_reset"],
    },
  ],

  changeEmail: [
    {
      when: "always",
      tables: ["account_links", "mail_counts"],
      activity: { none: "recorded when the new address is verified" },
      mails: ["verify_new_email"],
    },
  ],

  announceToAll: [
    {
      when: "always",
      tables: ["announcements", "operator_entries", "walks"],
      activity: { none: "an operator's act: it concerns no account alone" },
    },
  ],

  patchPlatform: [
    {
      when: "a field that is stated nowhere else",
      tables: ["platforms"],
      activity: ["account.profile_changed"],
    },
    {
      when: "another admin contact",
      tables: ["account_links", "mail_counts", "platforms"],
      activity: ["account.profile_changed"],
      mails: ["verify_contact"],
    },
    {
      // One notice to the account's own address, and one to the previous contact.
      when: "the account's own address as the admin contact",
      tables: ["platforms"],
      activity: ["account.profile_changed"],
      mails: ["customer.contact_changed", "customer.contact_changed"],
    },
    {
      when: "an accredited account proposes another name",
      states: ["alert none → open"],
      tables: ["platforms"],
      activity: ["account.profile_proposed"],
      alerts: ["review_waiting"],
    },
    {
      when: "an accredited account changes its registered address",
      states: ["alert none → open"],
      tables: ["platforms"],
      activity: ["account.profile_changed"],
      alerts: ["account_renamed"],
    },
    {
      when: "the profile is complete",
      states: ["account PROFILE_PENDING → KYB_PENDING"],
      tables: ["platforms"],
      activity: ["account.profile_changed"],
    },
    {
      when: "the name and the country are known",
      states: ["principal none → ACTIVE"],
      tables: ["attestations", "platforms", "principals"],
      activity: ["account.profile_changed", "principal.registered"],
    },
    {
      // The tenant principal follows the profile, and its agents' documents state it (ACC-19).
      when: "the name changes",
      tables: ["agents", "platforms", "principals"],
      activity: ["account.profile_changed"],
      directory: { agent: ["updated"] },
      document: { agent: ["stale version"] },
    },
    {
      when: "the country changes, and its agents are DRAFTs",
      tables: ["agents", "platforms", "principals"],
      activity: ["account.profile_changed"],
      document: { agent: ["unsigned version"] },
    },
  ],

  promotePlatform: [
    {
      when: "always",
      tables: ["management_keys", "platforms"],
      activity: ["account.promoted", "api_key.issued"],
      mails: ["customer.key_issued"],
    },
  ],

  rotateKey: [
    {
      when: "an account with one key",
      tables: ["management_keys"],
      activity: ["api_key.rotated"],
      events: { account: ["api_key.rotated"] },
      mails: ["customer.key_rotated"],
    },
    {
      when: "an account in production",
      tables: ["management_keys"],
      activity: ["api_key.rotated"],
      events: { account: ["api_key.rotated", "api_key.rotated"] },
      mails: ["customer.key_rotated"],
    },
  ],
};

const BY_TIME = { none: "falls due by itself" } as const;

export const ACCOUNT_JOBS: Readonly<Record<string, Cases>> = {
  remove_unverified_accounts: [
    {
      // Its log entries are deleted with it.
      when: "an account was not verified in seven days",
      states: ["account EMAIL_PENDING → none"],
      tables: ["account_links", "activity_chains", "passwords", "platforms"],
      activity: { none: "the account never began, and its log is removed" },
    },
  ],

  prune_account_credentials: [
    {
      when: "a session, a link and a key have ended, and a device was last seen 90 days ago",
      tables: ["account_links", "management_keys", "seen_devices", "sessions"],
      activity: BY_TIME,
    },
  ],

  announce: [
    {
      when: "an account has not received an announcement yet",
      tables: ["walks"],
      activity: BY_TIME,
      mails: ["customer.maintenance"],
    },
  ],

  notify_expiring: [
    {
      when: "an attestation ends in 30, 7 or 1 days",
      tables: ["principals"],
      activity: BY_TIME,
      events: { principal: ["principal.attestation_expiring"] },
      mails: ["customer.attestation_expiring"],
    },
    {
      when: "it has ended or was revoked meanwhile",
      tables: ["principals"],
      activity: BY_TIME,
    },
  ],

  mail_notices: [
    {
      when: "a security notice to the owner is due",
      tables: ["account_volumes"],
      activity: BY_TIME,
    },
    {
      when: "another notice is due",
      tables: ["account_volumes", "mail_counts"],
      activity: BY_TIME,
    },
    {
      when: "more notices are due than an hour has room for",
      tables: ["account_volumes", "mail_counts"],
      activity: BY_TIME,
      mails: ["customer.digest"],
    },
  ],
};
