// The consequences of operations on the sessions of an account and on its TOTP (table.ts).
import { BY_ITSELF, type Cases, NOTHING, UNSEEN } from "./words.ts";

export const SESSION_OPERATIONS: Readonly<Record<string, Cases>> = {
  logIn: [
    {
      ...UNSEEN,
      when: "from a known device and network",
      states: [],
      tables: ["seen_devices", "sessions"],
      activity: ["session.created"],
    },
    {
      ...UNSEEN,
      when: "from another device or network",
      states: [],
      tables: ["seen_devices", "sessions"],
      activity: ["session.created"],
      mails: ["customer.session_opened"],
    },
    {
      ...UNSEEN,
      when: "the password was derived with other parameters than today's, or a code was used",
      states: [],
      tables: ["passwords", "seen_devices", "sessions"],
      activity: ["session.created"],
    },
    {
      ...UNSEEN,
      when: "it is the hundredth failure within 24 hours",
      states: [],
      tables: [],
      activity: { none: "nobody has shown who asks" },
      mails: ["customer.log_ins_limited"],
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

  endSession: [{ ...UNSEEN, when: "always", states: [], tables: ["sessions"], activity: ["session.ended"] }],

  endOtherSessions: [
    { ...UNSEEN, when: "there are others", states: [], tables: ["sessions"], activity: ["session.ended"] },
    { when: "there is none", ...NOTHING },
  ],

  confirmSession: [
    {
      ...UNSEEN,
      when: "by the password",
      states: [],
      tables: ["sessions"],
      activity: { none: "the acts that it opens are entries" },
    },
    {
      ...UNSEEN,
      when: "by a code",
      states: [],
      tables: ["passwords", "sessions"],
      activity: { none: "the acts that it opens are entries" },
    },
  ],

  setUpTotp: [
    {
      ...UNSEEN,
      when: "always",
      states: [],
      tables: ["passwords"],
      activity: { none: "recorded when it is confirmed" },
    },
  ],

  confirmTotp: [
    {
      ...UNSEEN,
      when: "the account has other sessions",
      states: [],
      tables: ["passwords", "sessions"],
      activity: ["account.totp_enabled"],
      mails: ["customer.totp_enabled"],
    },
  ],

  removeTotp: [
    {
      ...UNSEEN,
      when: "the account has other sessions",
      states: [],
      tables: ["passwords", "sessions"],
      activity: ["account.totp_disabled"],
      mails: ["customer.totp_disabled"],
    },
  ],

  removePlatformTotp: [
    {
      ...UNSEEN,
      when: "the account has sessions",
      states: [],
      tables: ["operator_entries", "passwords", "sessions"],
      activity: ["account.totp_disabled"],
      mails: ["customer.totp_disabled"],
    },
  ],
};

export const SESSION_JOBS: Readonly<Record<string, Cases>> = {
  reseal_totp_secrets: [
    {
      ...UNSEEN,
      when: "a secret is sealed under an older key",
      states: [],
      tables: ["passwords"],
      activity: BY_ITSELF,
    },
  ],
};
