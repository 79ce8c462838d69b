// The consequences of operations on the platform account (table.ts).
import { type Cases, NO_NOTICE, NONE, UNSEEN } from "./words.ts";

const ASKED_BY_ANYBODY = { none: "nobody has shown who asks" } as const;

export const ACCOUNT_OPERATIONS: Readonly<Record<string, Cases>> = {
  registerPlatform: [
    {
      ...UNSEEN,
      when: "always",
      states: ["account none → EMAIL_PENDING"],
      tables: ["account_links", "activity_chains", "mail_counts", "passwords", "platforms"],
      activity: ["account.registered"],
      mails: ["verify_email"],
    },
  ],

  verifyEmail: [
    {
      ...UNSEEN,
      when: "of a new account",
      states: ["account EMAIL_PENDING → PROFILE_PENDING"],
      tables: ["account_links", "management_keys", "platforms", "seen_devices"],
      activity: ["account.email_verified", "api_key.issued"],
      mails: ["customer.key_issued"],
    },
    {
      // A notice to each of the two addresses.
      ...UNSEEN,
      when: "of a new address",
      states: [],
      tables: ["account_links", "platforms"],
      activity: ["account.email_changed"],
      mails: ["customer.email_changed", "customer.email_changed"],
    },
    {
      // A notice to the account's own address and to each of the two contacts.
      ...UNSEEN,
      when: "of an admin contact",
      states: [],
      tables: ["account_links", "platforms"],
      activity: ["account.contact_confirmed"],
      mails: ["customer.contact_changed", "customer.contact_changed"],
    },
  ],

  refuseVerification: [
    {
      ...UNSEEN,
      when: "of a new account",
      states: ["account EMAIL_PENDING → none"],
      tables: ["account_links", "activity_chains", "passwords", "platforms"],
      activity: { none: "its log is deleted with it" },
    },
    {
      ...UNSEEN,
      when: "of a new address",
      states: [],
      tables: ["account_links"],
      activity: ["account.link_refused"],
    },
    {
      ...UNSEEN,
      when: "of an admin contact",
      states: [],
      tables: ["account_links", "platforms"],
      activity: ["account.link_refused"],
    },
  ],

  resendVerification: [
    {
      ...UNSEEN,
      when: "of an account that waits for it",
      states: [],
      tables: ["account_links", "mail_counts"],
      activity: ASKED_BY_ANYBODY,
      mails: ["verify_email"],
    },
  ],

  changePassword: [
    {
      ...UNSEEN,
      when: "the account has other sessions",
      states: [],
      tables: ["passwords", "sessions"],
      activity: ["account.password_changed"],
      mails: ["customer.password_changed"],
    },
    {
      ...UNSEEN,
      when: "links to reset it and to change the address are open",
      states: [],
      tables: ["account_links", "passwords"],
      activity: ["account.password_changed"],
      mails: ["customer.password_changed"],
    },
  ],

  forgotPassword: [
    {
      ...UNSEEN,
      when: "of the verified address of an account",
      states: [],
      tables: ["account_links"],
      activity: ASKED_BY_ANYBODY,
      mails: ["reset_password"],
    },
    { ...UNSEEN, when: "of any other address", states: [], tables: [], activity: ASKED_BY_ANYBODY },
  ],

  resetPassword: [
    {
      ...UNSEEN,
      when: "always",
      states: [],
      tables: ["account_links", "passwords", "sessions"],
      activity: ["account.password_reset"],
      mails: ["customer.password_reset"],
    },
  ],

  changeEmail: [
    {
      ...UNSEEN,
      when: "always",
      states: [],
      tables: ["account_links", "mail_counts"],
      activity: { none: "recorded when the new address is verified" },
      mails: ["verify_new_email"],
    },
  ],

  announceToAll: [
    {
      ...UNSEEN,
      when: "always",
      states: [],
      tables: ["announcements", "operator_entries"],
      activity: { none: "an operator's act: it concerns no account alone" },
    },
  ],

  patchPlatform: [
    {
      when: "a member that nothing else states",
      states: [],
      tables: ["platforms"],
      activity: ["account.profile_changed"],
      ...UNSEEN,
    },
    {
      ...UNSEEN,
      when: "another admin contact",
      states: [],
      tables: ["account_links", "mail_counts", "platforms"],
      activity: ["account.profile_changed"],
      mails: ["verify_contact"],
    },
    {
      // A notice to the account's own address and to the contact before.
      ...UNSEEN,
      when: "the account's own address as the admin contact",
      states: [],
      tables: ["platforms"],
      activity: ["account.profile_changed"],
      mails: ["customer.contact_changed", "customer.contact_changed"],
    },
    {
      ...UNSEEN,
      when: "an accredited account proposes another name",
      states: ["alert none → open"],
      tables: ["platforms"],
      activity: ["account.profile_proposed"],
      alerts: ["review_waiting"],
    },
    {
      ...UNSEEN,
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
      ...UNSEEN,
    },
    {
      when: "the name and the country are known",
      states: ["principal none → ACTIVE"],
      tables: ["attestations", "platforms", "principals"],
      activity: ["account.profile_changed", "principal.registered"],
      ...UNSEEN,
    },
    {
      // The tenant principal follows the profile, and its agents' documents state it (ACC-19).
      when: "the name changes",
      states: [],
      tables: ["agents", "platforms", "principals"],
      activity: ["account.profile_changed"],
      events: NONE,
      directory: { agent: ["updated"] },
      document: { agent: ["stale version"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "the country changes, and its agents are DRAFTs",
      states: [],
      tables: ["agents", "platforms", "principals"],
      activity: ["account.profile_changed"],
      events: NONE,
      directory: NONE,
      document: { agent: ["unsigned version"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
  ],

  promotePlatform: [
    {
      ...UNSEEN,
      when: "always",
      states: [],
      tables: ["management_keys", "platforms"],
      activity: ["account.promoted", "api_key.issued"],
      mails: ["customer.key_issued"],
    },
  ],

  rotateKey: [
    {
      ...UNSEEN,
      when: "of an account with one key",
      states: [],
      tables: ["management_keys"],
      activity: ["api_key.rotated"],
      events: { account: ["api_key.rotated"] },
      mails: ["customer.key_rotated"],
    },
    {
      ...UNSEEN,
      when: "of an account in production",
      states: [],
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
      // Its entries go with it.
      ...UNSEEN,
      when: "an account was not verified in seven days",
      states: ["account EMAIL_PENDING → none"],
      tables: ["account_links", "activity_chains", "passwords", "platforms"],
      activity: { none: "the account never began, and its log is removed" },
    },
  ],

  prune_account_credentials: [
    {
      ...UNSEEN,
      when: "a session, a link and a key have ended, and a device was last seen 90 days ago",
      states: [],
      tables: ["account_links", "management_keys", "seen_devices", "sessions"],
      activity: BY_TIME,
    },
  ],

  announce: [
    {
      ...UNSEEN,
      when: "an account has not heard of an announcement",
      states: [],
      tables: ["announcements"],
      activity: BY_TIME,
      mails: ["customer.maintenance"],
    },
  ],

  notify_expiring: [
    {
      ...UNSEEN,
      when: "an attestation ends in 30, 7 or 1 days",
      states: [],
      tables: ["principals"],
      activity: BY_TIME,
      events: { principal: ["principal.attestation_expiring"] },
      mails: ["customer.attestation_expiring"],
    },
    {
      ...UNSEEN,
      when: "it has ended, or was taken back, meanwhile",
      states: [],
      tables: ["principals"],
      activity: BY_TIME,
    },
  ],

  mail_notices: [
    {
      ...UNSEEN,
      when: "a security notice to the owner is due",
      states: [],
      tables: ["account_volumes"],
      activity: BY_TIME,
    },
    {
      ...UNSEEN,
      when: "another notice is due",
      states: [],
      tables: ["account_volumes", "mail_counts"],
      activity: BY_TIME,
    },
    {
      ...UNSEEN,
      when: "more notices are due than an hour has room for",
      states: [],
      tables: ["account_volumes", "mail_counts"],
      activity: BY_TIME,
      mails: ["customer.digest"],
    },
  ],
};
