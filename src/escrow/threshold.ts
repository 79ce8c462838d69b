// The threshold of a provider's escrow (MKT-16). Pure.
import { ESCROW_BASE_THRESHOLD } from "../core/limits.ts";
import { parseAmount } from "../core/text.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";

/** In base units of the network's token. A network that names no base has the usual one. */
export function computeBaseThreshold({ decimals, escrow_base = ESCROW_BASE_THRESHOLD }: Based): number {
  const parsed = parseAmount(escrow_base, decimals);
  if (!parsed.ok) throw new Error("unreachable: a configured base can be counted");
  return parsed.units;
}
type Based = { readonly decimals: number; readonly escrow_base?: string | undefined };

/**
 * base × (1 − 0.5·max(0, rating − 0.5)/0.5) in base units: the best rating halves it. Ratings have two decimals, so hundredths are exact; a fraction
 * of a base unit is rounded up, in favour of buyers.
 */
export function computeEscrowThreshold(baseUnits: number, rating: number | null): number {
  const hundredths = rating === null ? 0 : Math.max(0, Math.round(rating * 100) - 50);
  return Number((BigInt(baseUnits) * BigInt(100 - hundredths) + 99n) / 100n);
}

/** The threshold with which an environment opens its escrow. An agent is rated in its own environment only. */
export const computeFirstThreshold = (
  baseUnits: number,
  environment: AgentRow["environment"],
  agent: Pick<AgentRow, "environment" | "agentRating">,
): number => computeEscrowThreshold(baseUnits, agent.environment === environment ? agent.agentRating : null);

/** The higher threshold of the two environments that use the vault (MKT-20). */
export const pickVaultThreshold = ({
  threshold,
  otherThreshold,
}: Pick<EscrowRow, "threshold" | "otherThreshold">): number => Math.max(threshold, otherThreshold);

/** Whether the contract's threshold is off by a twentieth of the base or more: a transaction for each cent would cost more than it helps. */
export const doesContractLag = (
  escrow: Pick<EscrowRow, "threshold" | "otherThreshold" | "chainThreshold" | "baseThreshold">,
): boolean =>
  escrow.baseThreshold > 0 && Math.abs(pickVaultThreshold(escrow) - escrow.chainThreshold) * 20 >= escrow.baseThreshold;
