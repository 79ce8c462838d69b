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
