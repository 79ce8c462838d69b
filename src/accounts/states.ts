// The state machine of a platform account as data (ACC-2).
import { defineMachine, refuse } from "../core/machine.ts";
import { PLATFORM_STATUSES, type PlatformStatus } from "../core/vocabulary.ts";

export const PLATFORM_TRIGGERS = [
  "verify_email",
  "complete_profile",
  "submit",
  "approve",
  "reject",
  "suspend",
  "reinstate_profile",
  "reinstate_kyb",
  "reinstate_review",
  "reinstate_accredited",
  "close",
] as const;
export type PlatformTrigger = (typeof PLATFORM_TRIGGERS)[number];

export const platformMachine = defineMachine<PlatformStatus, PlatformTrigger>({
  name: "account",
  states: PLATFORM_STATUSES,
  triggers: PLATFORM_TRIGGERS,
  table: {
    EMAIL_PENDING: { verify_email: "PROFILE_PENDING" },
    PROFILE_PENDING: { complete_profile: "KYB_PENDING", suspend: "SUSPENDED", close: "CLOSED" },
    KYB_PENDING: { submit: "IN_REVIEW", suspend: "SUSPENDED", close: "CLOSED" },
    IN_REVIEW: {
      submit: refuse("kyb_in_progress"),
      approve: "ACCREDITED",
      reject: "KYB_PENDING",
      suspend: "SUSPENDED",
      close: "CLOSED",
    },
    ACCREDITED: { submit: refuse("verification_already_accredited"), suspend: "SUSPENDED", close: "CLOSED" },
    // Each state has its own way back: the account returns to the state that it was suspended in.
    SUSPENDED: {
      reinstate_profile: "PROFILE_PENDING",
      reinstate_kyb: "KYB_PENDING",
      reinstate_review: "IN_REVIEW",
      reinstate_accredited: "ACCREDITED",
    },
    CLOSED: {},
  },
});
