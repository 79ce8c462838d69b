// Tests that fees follow the node's suggestion within the network's bounds, and that a replacement pays an eighth more within them (CHN-17).
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { computeFees, computeReplacementFees } from "../../src/chain/sender.ts";
import { runs } from "../support/scale.ts";

const GWEI = 1_000_000_000n;
const BOUNDS = { max_fee_gwei: 100, max_tip_gwei: 5 };
const BOUND = 100n * GWEI;
const wei = fc.bigInt({ min: 0n, max: 400n * GWEI });

describe("the fees of a new transaction", () => {
  it.each([
    ["the node's tip", 1n * GWEI, 2n * GWEI, [4n, 2n]],
    ["the bound of the tip", 1n * GWEI, 5_000n * GWEI, [7n, 5n]],
    ["the bound of the fee", 60n * GWEI, 2n * GWEI, [100n, 2n]],
  ])("are within %s", (_name, baseFee, tip, [fee, paidTip]) => {
    const fees = computeFees(baseFee, tip, BOUNDS);
    expect([fees?.maxFeePerGas, fees?.maxPriorityFeePerGas]).toEqual([(fee ?? 0n) * GWEI, (paidTip ?? 0n) * GWEI]);
  });

  it("are never above a bound, whatever the node suggests, and null if base fee and tip together are above it", () => {
    fc.assert(
      fc.property(wei, wei, (baseFee, tip) => {
        const fees = computeFees(baseFee, tip, BOUNDS);
        if (fees === null) return baseFee + 5n * GWEI > BOUND;
        return fees.maxFeePerGas <= BOUND && fees.maxPriorityFeePerGas <= 5n * GWEI && fees.maxFeePerGas >= baseFee;
      }),
      runs(),
    );
    expect(computeFees(BOUND + 1n, 0n, BOUNDS)).toBeNull();
  });
});

describe("the fees of a replacement", () => {
  it("are at least an eighth higher and never above the bound, or null if that is impossible", () => {
    fc.assert(
      fc.property(wei, wei, (baseFee, tip) => {
        const waiting = computeFees(baseFee, tip, BOUNDS);
        if (waiting === null) return true;
        const raised = computeReplacementFees(waiting, waiting, BOUNDS);
        if (raised === null) return (waiting.maxFeePerGas * 9n) / 8n + 1n >= BOUND;
        return (
          raised.maxFeePerGas * 8n >= waiting.maxFeePerGas * 9n &&
          raised.maxPriorityFeePerGas * 8n >= waiting.maxPriorityFeePerGas * 9n &&
          raised.maxFeePerGas <= BOUND
        );
      }),
      runs(),
    );
  });

  it("follow the present fees if those are higher", () => {
    const waiting = { maxFeePerGas: 4n * GWEI, maxPriorityFeePerGas: GWEI };
    const present = { maxFeePerGas: 50n * GWEI, maxPriorityFeePerGas: 3n * GWEI };
    expect(computeReplacementFees(waiting, present, BOUNDS)).toEqual(present);
  });
});
