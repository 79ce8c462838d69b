// The tiers of a principal (PRN-10): the one that its attestation states, and the one that its agents' roles need. Pure.
import { toLowestTier } from "../core/roles.ts";
import { type AttestationModel, type EconomicRole, rankTier, type Tier } from "../core/vocabulary.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";

/** For an attestation that states no tier. */
const MODEL_TIERS: Readonly<Record<AttestationModel, Tier>> = { kyc: "TIER_1", kyb: "TIER_2" };

type Attested = Pick<PrincipalRow, "attestationTier" | "attestationModel">;

export const toAttestedTier = ({ attestationTier, attestationModel }: Attested): Tier =>
  attestationTier ?? MODEL_TIERS[attestationModel];

/** The highest tier that the agents need. Any of them may buy, and only sellers need more. */
export const computeRequiredTier = (providers: number): Tier => toLowestTier(providers > 0 ? "PROVIDER" : "CONSUMER");

/** A warning in the answer of a call that succeeds. */
export type TierWarning = {
  readonly code: "attestation_tier_below_role";
  readonly message: string;
  readonly attested_tier: Tier;
  readonly required_tier: Tier;
};

/** Warns if the role needs a higher tier than the attested one. The tier is the platform's duty, so the call succeeds. */
export function findTierWarnings(role: EconomicRole, principal: Attested): TierWarning[] {
  const [attested, required] = [toAttestedTier(principal), toLowestTier(role)];
  if (rankTier(attested) >= rankTier(required)) return [];
  const message = `The principal is attested at ${attested}, but a ${role} needs ${required}: the agent must not transact until that tier is attested.`;
  return [{ code: "attestation_tier_below_role", message, attested_tier: attested, required_tier: required }];
}
