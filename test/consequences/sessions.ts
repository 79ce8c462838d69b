// The rows of operations on an account's sessions and TOTP in the table of consequences (table.ts).
import { BY_ITSELF, type Cases } from "./words.ts";

export const SESSION_OPERATIONS: Readonly<Record<string, Cases>> = {
  logIn: [
    {
      when: "from a known device and network",
      tables: ["seen_devices", "sessions"],
      activity: ["session.created"],
    },
    {
      when: "from another device or network",
      tables: ["seen_devices", "sessions"],
      activity: ["session.created"],
      mails: ["customer.session_opened"],
    },
    {
      when: "the password was derived with other parameters than today's, or a code was used",
      tables: ["passwords", "seen_devices", "sessions"],
      activity: ["session.created"],
    },
    {
      when: "it is the hundredth failure within 24 hours",
      activity: { none: "nobody has shown who asks" },
      mails: ["customer.log_ins_limited"],
    },
  ],

  logOut: [
    {
      when: "always",
      tables: ["sessions"],
      activity: ["session.ended"],
    },
  ],

  endSession: [{ when: "always", tables: ["sessions"], activity: ["session.ended"] }],
  endOtherSessions: [
    { when: "there are others", tables: ["sessions"], activity: ["session.ended"] },
    { when: "there is none" },
  ],

  confirmSession: [
    {
      when: "by the password",
      tables: ["sessions"],
      activity: { none: "the acts that it opens are entries" },
    },
    {
      when: "by a code",
      tables: ["passwords", "sessions"],
      activity: { none: "the acts that it opens are entries" },
    },
  ],

  setUpTotp: [
    {
      when: "always",
      tables: ["passwords"],
      activity: { none: "recorded when it is confirmed" },
    },
  ],

  confirmTotp: [
    {
      when: "the account has other sessions",
      tables: ["passwords", "sessions"],
      activity: ["account.totp_enabled"],
      mails: ["customer.totp_enabled"],
    },
  ],

  removeTotp: [
    {
      when: "the account has other sessions",
      tables: ["passwords", "sessions"],
      activity: ["account.totp_disabled"],
      mails: ["customer.totp_disabled"],
    },
  ],

  removePlatformTotp: [
    {
      when: "the account has sessions",
      tables: ["operator_entries", "passwords", "sessions"],
      activity: ["account.totp_disabled"],
      mails: ["customer.totp_disabled"],
    },
  ],
};

export const SESSION_JOBS: Readonly<Record<string, Cases>> = {
  reseal_totp_secrets: [
    {
      when: "a secret is sealed under an older key",
      tables: ["passwords"],
      activity: BY_ITSELF,
    },
  ],
};
