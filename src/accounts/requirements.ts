// Derives the requirements of an account's next state from its row alone (ACC-3, ACC-18).
import { type PlatformStatus, REQUIRED_DOCUMENTS } from "../core/vocabulary.ts";
import type { PlatformRow } from "../db/tables/accounts.ts";

/** The columns that the next state waits for. */
export type Progress = Pick<
  PlatformRow,
  | "status"
  | "legalName"
  | "registrationNumber"
  | "country"
  | "registeredAddress"
  | "adminContactEmail"
  | "documents"
  | "decision"
  | "decisionReason"
>;

export type Requirements = {
  readonly currently_due: readonly string[];
  readonly pending_verification: readonly string[];
  readonly errors: readonly { readonly requirement: string; readonly code: string; readonly reason: string }[];
};

/** The next acts of the caller, by the state of the account. The other states wait for nothing, or for others. */
const DUE_BY_STATUS: Readonly<Partial<Record<PlatformStatus, (platform: Progress) => readonly string[]>>> = {
  EMAIL_PENDING: () => ["email_verification"],
  PROFILE_PENDING: findMissingProfile,
  KYB_PENDING: (platform) => pickMissingOrNext(findMissingDocuments(platform), "verification_submission"),
};

export function toRequirements(platform: Progress): Requirements {
  const { status, decision, decisionReason } = platform;
  const rejected = status === "KYB_PENDING" && decision === "reject";
  return {
    currently_due: DUE_BY_STATUS[status]?.(platform) ?? [],
    pending_verification: status === "IN_REVIEW" ? REQUIRED_DOCUMENTS : [],
    errors: rejected
      ? [{ requirement: "verification", code: "verification_rejected", reason: decisionReason ?? "" }]
      : [],
  };
}

const PROFILE: readonly (readonly [member: string, value: (platform: Progress) => unknown])[] = [
  ["legal_name", ({ legalName }) => legalName],
  ["registration_number", ({ registrationNumber }) => registrationNumber],
  ["country", ({ country }) => country],
  ["registered_address", ({ registeredAddress }) => registeredAddress],
  ["admin_contact_email", ({ adminContactEmail }) => adminContactEmail],
];

/** The required members of the profile that are missing, with the address as one member. */
export function findMissingProfile(platform: Progress): string[] {
  return PROFILE.filter(([, value]) => value(platform) === null).map(([member]) => member);
}

export const findMissingDocuments = ({ documents }: Pick<Progress, "documents">): string[] =>
  REQUIRED_DOCUMENTS.filter((type) => documents[type] === undefined);

const pickMissingOrNext = (missing: readonly string[], next: string): readonly string[] =>
  missing.length > 0 ? missing : [next];
