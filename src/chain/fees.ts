// Computes the gas fees of the service's own transactions (CHN-17). Pure. A node's suggestion is followed up to the network's bounds. A replacement
// pays an eighth more, which is the least that nodes accept.
import type { Network } from "./networks.ts";

export type Fees = { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint };
export type FeeBounds = Pick<Network, "max_fee_gwei" | "max_tip_gwei">;

const WEI_PER_GWEI = 1_000_000_000;
const toWei = (gwei: number): bigint => BigInt(Math.round(gwei * WEI_PER_GWEI));
const pickSmaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const pickLarger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** Twice the base fee outlasts six full blocks in a row. Null if base fee and tip exceed the bound: later nonces would have to wait too. */
export function computeFees(baseFee: bigint, suggestedTip: bigint, bounds: FeeBounds): Fees | null {
  const bound = toWei(bounds.max_fee_gwei);
  const tip = pickSmaller(pickSmaller(suggestedTip, toWei(bounds.max_tip_gwei)), bound);
  return baseFee + tip > bound
    ? null
    : { maxFeePerGas: pickSmaller(baseFee * 2n + tip, bound), maxPriorityFeePerGas: tip };
}

/** Returns null if the bound forbids a fee that is an eighth higher. */
export function computeReplacementFees(waiting: Fees, present: Fees, bounds: FeeBounds): Fees | null {
  const raised = (fee: bigint): bigint => fee + fee / 8n + 1n;
  const maxFeePerGas = pickLarger(raised(waiting.maxFeePerGas), present.maxFeePerGas);
  const maxPriorityFeePerGas = pickLarger(raised(waiting.maxPriorityFeePerGas), present.maxPriorityFeePerGas);
  if (maxFeePerGas > toWei(bounds.max_fee_gwei)) return null;
  return { maxFeePerGas, maxPriorityFeePerGas: pickSmaller(maxPriorityFeePerGas, maxFeePerGas) };
}
