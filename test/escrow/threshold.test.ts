// The threshold and the state of an escrow (MKT-16, MKT-17).
import { describe, expect, it } from "vitest";
import { escrowStateAt } from "../../src/escrow/states.ts";
import { escrowThreshold } from "../../src/escrow/threshold.ts";

describe("the threshold", () => {
  it.each([
    [null, 15_000_000],
    [0, 15_000_000],
    [0.5, 15_000_000],
    [0.51, 14_850_000],
    [0.75, 11_250_000],
    [1, 7_500_000],
  ])("with a rating of %s is %d", (rating, units) => {
    expect(escrowThreshold(15_000_000, rating)).toBe(units);
  });
});

describe("the state", () => {
  it("is ACTIVE from the threshold on, FUNDING below it, and CONSTRAINED for as long as a dispute holds it", () => {
    expect(escrowStateAt("FUNDING", 15, 15)).toBe("ACTIVE");
    expect(escrowStateAt("ACTIVE", 14, 15)).toBe("FUNDING");
    expect(escrowStateAt("CONSTRAINED", 99, 15)).toBe("CONSTRAINED");
  });
});
