// The identity that a review approves (ACC-18): the account's profile as it was submitted and approved. The operator is alerted when the account
// then states another one.
import { computeShortHash } from "../core/short-hash.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { PlatformRow, ReviewedProfile } from "../db/tables/accounts.ts";
import { raiseAlert } from "../journal/alerts.ts";

type Profile = Pick<PlatformRow, "legalName" | "country" | "registrationNumber" | "registeredAddress">;

export const toReviewedProfile = ({
  legalName,
  country,
  registrationNumber,
  registeredAddress,
}: Profile): ReviewedProfile => ({
  legal_name: legalName,
  country,
  registration_number: registrationNumber,
  registered_address: registeredAddress,
});

/**
 * The alert of a changed identity during or after a review: one for each new identity. It only names the members, because their values are personal.
 */
export function alertChangedIdentity(db: Database, before: PlatformRow, after: PlatformRow): Statement[] {
  const { status, reviewed, platformId } = before;
  if (reviewed === null || (status !== "IN_REVIEW" && status !== "ACCREDITED")) return [];
  const [was, is] = [toReviewedProfile(before), toReviewedProfile(after)];
  const changed = findChangedMembers(reviewed, is);
  if (changed.length === 0 || findChangedMembers(was, is).length === 0) return [];
  const message = `The account changed since its review: ${changed.join(", ")}. GET /v1/operator/platforms/${platformId} shows both.`;
  return [
    raiseAlert(db, {
      kind: "account_renamed",
      subject: `${platformId} #${computeShortHash(JSON.stringify(is))}`,
      message,
    }),
  ];
}

const findChangedMembers = (one: ReviewedProfile, other: ReviewedProfile): string[] =>
  Object.keys(one).filter((name) => {
    const member = name as keyof ReviewedProfile;
    return JSON.stringify(one[member]) !== JSON.stringify(other[member]);
  });

/** The ids of the current documents by their types. */
export const pickCurrentDocuments = ({ documents }: PlatformRow): Record<string, unknown> => {
  const { day: _day, submitted: _submitted, ...current } = documents;
  return current;
};
