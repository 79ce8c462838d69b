// The reasons and amounts of a dispute (DSP-2, DSP-6). Pure.
import { DISPUTE_BOUNTY_PERCENT, PAYOUT_REMADE_MAX, PAYOUT_REMADE_PERCENT } from "../core/limits.ts";
import { DISPUTE_REASONS, type DisputeReason } from "../core/vocabulary.ts";

/** Reasons of AEA/P clients, and the reasons that they stand for. */
const CLIENT_REASONS: ReadonlyMap<string, DisputeReason> = new Map([
  ["NON_DELIVERY", "not_delivered"],
  ["PARTIAL_DELIVERY", "not_as_described"],
  ["QUALITY", "not_as_described"],
  ["FRAUD", "unauthorized"],
  ["OTHER", "other"],
]);

export const ACCEPTED_REASONS: readonly string[] = [...DISPUTE_REASONS, ...CLIENT_REASONS.keys()];

export const toDisputeReason = (text: string): DisputeReason | null =>
  DISPUTE_REASONS.find((reason) => reason === text) ?? CLIENT_REASONS.get(text) ?? null;

/** The bounty, as a share of the disputed amount: at least one whole unit, at most all of it. Base units. */
export function computeBounty(disputed: number, decimals: number): number {
  const part = Number((BigInt(disputed) * BigInt(DISPUTE_BOUNTY_PERCENT)) / 100n);
  return Math.min(disputed, Math.max(part, 10 ** decimals));
}

/** The score of a task that was refunded in part. */
export const computePartialScore = (refund: number, gross: number): number => Math.max(0, 1 - refund / gross);

type Refunding = { readonly gross: number; readonly refundedBefore: number; readonly refund: number };
type Awarded = Refunding & {
  readonly bounty: number;
  readonly bountyBy: "provider" | "consumer" | null;
};

/** The refund alone, at most the rest of the gross. */
export const computeRefundPayable = ({ gross, refundedBefore, refund }: Refunding): number =>
  Math.max(0, Math.min(gross - refundedBefore, refund));

/** The refund and the provider's bounty, at most the rest of the gross (DSP-12). */
export const computeAwardPayable = ({ bounty, bountyBy, ...award }: Awarded): number =>
  computeRefundPayable({ ...award, refund: award.refund + (bountyBy === "provider" ? bounty : 0) });

/**
 * Decides whether a waiting part, of which only `left` is still owed, is paid as it stands: not if nothing is left or the part shrank by too much.
 * The number of smaller parts is limited, so that a provider cannot delay an award with repeated small refunds.
 */
export function isPartKept(amount: number, left: number, remade: number): boolean {
  if (left <= 0) return false;
  const less = (amount - left) * 100 >= amount * PAYOUT_REMADE_PERCENT;
  return !less || remade >= PAYOUT_REMADE_MAX;
}
