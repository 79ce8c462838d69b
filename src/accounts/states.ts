// The documents that a platform account is reviewed by (ACC-4).

/** Without these a verification cannot be submitted (ACC-4). */
export const REQUIRED_DOCUMENTS = [
  "certificate_of_incorporation",
  "proof_of_registered_address",
  "director_identification",
  "ownership_and_control_structure",
] as const;
