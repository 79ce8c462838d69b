// The rows of documents, of the review, and of the erasure after a closing (table.ts).
import type { Cases } from "./words.ts";

const OPERATORS_READING = { none: "a reading, an entry of the operators' own log" } as const;
const FILES_ALONE = { none: "files that nobody has seen; no table holds them" } as const;
const AFTER_CLOSING = { none: "falls due by itself, years after the account has ended" } as const;

const DOCUMENT = {
  tables: ["documents", "platforms"],
  activity: ["account.document_submitted"],
} as const;

const DECISION = {
  activity: ["account.verification_decided"],
  events: { account: ["platform.verification_decided"] },
  mails: ["customer.verification_decided"],
} as const;

const PROFILE_DECISION = {
  activity: ["account.profile_decided"],
  events: { account: ["platform.profile_decided"] },
  mails: ["customer.profile_decided"],
} as const;

const ATTESTED = ["attestations", "operator_entries", "platforms", "principals"] as const;
const RENEWED = ["attestations", "operator_entries", "principals"] as const;

export const REVIEW_OPERATIONS: Readonly<Record<string, Cases>> = {
  submitDocument: [
    { when: "a required type", ...DOCUMENT },
    { when: "a required type that replaces an earlier document", ...DOCUMENT },
    { when: "supporting", ...DOCUMENT },
  ],

  submitVerification: [
    {
      when: "always",
      states: ["account KYB_PENDING → IN_REVIEW", "alert none → open"],
      tables: ["platforms"],
      activity: ["account.verification_submitted"],
      alerts: ["review_waiting"],
    },
  ],

  readPlatformDocument: [{ when: "always", tables: ["operator_entries"], activity: OPERATORS_READING }],
  decideVerification: [
    { ...DECISION, when: "approve", states: ["account IN_REVIEW → ACCREDITED"], tables: ATTESTED },
    {
      ...DECISION,
      when: "approve, and its company has agents",
      states: ["account IN_REVIEW → ACCREDITED"],
      tables: ["agents", ...ATTESTED],
      document: { agent: ["new revision"] },
    },
    {
      ...DECISION,
      when: "reject",
      states: ["account IN_REVIEW → KYB_PENDING"],
      tables: ["operator_entries", "platforms"],
    },
    {
      ...PROFILE_DECISION,
      when: "approve a proposed name, and its company has agents",
      tables: ["agents", "operator_entries", "platforms", "principals"],
      directory: { agent: ["updated"] },
      document: { agent: ["stale version"] },
    },
    { ...PROFILE_DECISION, when: "reject a proposed name", tables: ["operator_entries", "platforms"] },
  ],

  renewTenantAttestation: [
    { when: "before it ends", tables: RENEWED, activity: ["principal.attestation_recorded"] },
    {
      when: "after it has ended, with a suspended agent",
      states: ["principal ATTESTATION_EXPIRED → ACTIVE"],
      tables: ["agents", ...RENEWED],
      activity: ["principal.attestation_recorded"],
      events: { principal: ["principal.status_changed"] },
      document: { agent: ["new revision"] },
    },
  ],
};

export const REVIEW_JOBS: Readonly<Record<string, Cases>> = {
  sweep_documents: [{ when: "a file has no row", activity: FILES_ALONE }],
  erase_closed_accounts: [
    {
      when: "the retention is over",
      tables: ["account_links", "documents", "passwords", "platforms", "seen_devices", "sessions"],
      activity: AFTER_CLOSING,
    },
  ],
};
