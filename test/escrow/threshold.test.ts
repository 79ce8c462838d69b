// The threshold and the state of an escrow (MKT-16, MKT-17).
import { describe, expect, it } from "vitest";
import { computeEscrowState } from "../../src/escrow/states.ts";
import { computeBaseThreshold, computeEscrowThreshold } from "../../src/escrow/threshold.ts";

describe("the threshold", () => {
  it.each([
    [null, 15_000_000],
    [0, 15_000_000],
    [0.5, 15_000_000],
    [0.51, 14_850_000],
    [0.75, 11_250_000],
    [1, 7_500_000],
  ])("is, with a rating of %s, %d base units", (rating, units) => {
    expect(computeEscrowThreshold(15_000_000, rating)).toBe(units);
  });

  it("is exact up to the last base unit that is counted, and rounded up", () => {
    const base = Number.MAX_SAFE_INTEGER;
    expect([0.5, 0.51, 1].map((rating) => computeEscrowThreshold(base, rating))).toEqual([
      ...[base, 8_917_127_262_193_582, 4_503_599_627_370_496],
    ]);
  });

  it("has the base that its network names", () => {
    expect(computeBaseThreshold({ decimals: 18, escrow_base: "0.008" })).toBe(8e15);
  });
});

describe("the state", () => {
  const at = (balance: number, disputed = 0, threshold = 15, baseThreshold = 15) =>
    computeEscrowState({ balance, baseThreshold, threshold, disputed });
  it("is ACTIVE from the threshold on, FUNDING below it, and CONSTRAINED while more is disputed than counts", () => {
    expect([at(15), at(14), at(14, 0, 0)]).toEqual(["ACTIVE", "FUNDING", "FUNDING"]);
    expect([at(99, 100), at(99, 99), at(14, 14), at(14, 15), at(-1, 5), at(-1)]).toEqual([
      "CONSTRAINED",
      "ACTIVE",
      "FUNDING",
      "CONSTRAINED",
      "CONSTRAINED",
      "FUNDING",
    ]);
  });

  it.each([0, 1, 6, 14])(
    "is not CONSTRAINED by less than 5.00 in a token of %i decimals, whatever its own threshold",
    (decimals) => {
      const base = computeBaseThreshold({ decimals });
      const five = 5 * 10 ** decimals;
      for (const threshold of [base, base / 2])
        expect([at(0, five - 1, threshold, base), at(0, five, threshold, base)]).toEqual(["FUNDING", "CONSTRAINED"]);
    },
  );
});
