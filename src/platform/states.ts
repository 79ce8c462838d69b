// Specification 3.1: the states of a platform account. Its transitions come with the account's own routes.
export const PLATFORM_STATUSES = [
  "EMAIL_PENDING",
  "PROFILE_PENDING",
  "KYB_PENDING",
  "IN_REVIEW",
  "ACCREDITED",
  "SUSPENDED",
  "CLOSED",
] as const;
export type PlatformStatus = (typeof PLATFORM_STATUSES)[number];

/** 2.15: without these a verification cannot be submitted. */
export const REQUIRED_DOCUMENTS = [
  "certificate_of_incorporation",
  "proof_of_registered_address",
  "director_identification",
  "ownership_and_control_structure",
] as const;
