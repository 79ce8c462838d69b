// Specification 2.15: what a platform account is reviewed by. Its machine comes with the account's own routes.

/** 2.15: without these a verification cannot be submitted. */
export const REQUIRED_DOCUMENTS = [
  "certificate_of_incorporation",
  "proof_of_registered_address",
  "director_identification",
  "ownership_and_control_structure",
] as const;
