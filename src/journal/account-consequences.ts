// The consequences of operations on the platform account (consequences.ts).
import { type Cases, UNSEEN } from "./consequence.ts";

const ASKED_BY_ANYBODY = { none: "nobody has shown who asks" } as const;

export const ACCOUNT_OPERATIONS: Readonly<Record<string, Cases>> = {
  registerPlatform: [
    {
      ...UNSEEN,
      when: "always",
      states: ["account none → EMAIL_PENDING"],
      tables: ["account_links", "activity_chains", "passwords", "platforms"],
      activity: ["account.registered"],
      mails: ["verify_email"],
    },
  ],

  verifyEmail: [
    {
      ...UNSEEN,
      when: "of a new account",
      states: ["account EMAIL_PENDING → PROFILE_PENDING"],
      tables: ["account_links", "management_keys", "platforms"],
      activity: ["account.email_verified", "api_key.issued"],
      mails: ["customer.key_issued"],
    },
  ],

  resendVerification: [
    {
      ...UNSEEN,
      when: "of an account that waits for it",
      states: [],
      tables: ["account_links"],
      activity: ASKED_BY_ANYBODY,
      mails: ["verify_email"],
    },
  ],

  logIn: [
    {
      ...UNSEEN,
      when: "always",
      states: [],
      tables: ["sessions"],
      activity: ["session.created"],
    },
    {
      ...UNSEEN,
      when: "the password was derived with other parameters than today's",
      states: [],
      tables: ["passwords", "sessions"],
      activity: ["session.created"],
    },
  ],

  logOut: [
    {
      ...UNSEEN,
      when: "always",
      states: [],
      tables: ["sessions"],
      activity: ["session.ended"],
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

export const ACCOUNT_JOBS: Readonly<Record<string, Cases>> = {};
