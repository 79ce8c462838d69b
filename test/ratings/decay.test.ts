// The instant at which decay alone moves a published rating (TSK-23).
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DAY_MS, SECOND_MS } from "../../src/core/limits.ts";
import { DEFAULT_PARAMETERS, type RatingMethod } from "../../src/ratings/method.ts";
import { type AgentSums, computeRating, findNextChange, forwardScale, type Sums } from "../../src/ratings/rating.ts";
import { runs } from "../support/scale.ts";

const NOW = Date.UTC(2026, 10, 21);
const BY: RatingMethod = { ...DEFAULT_PARAMETERS, minimum: { interactions: 1, counterparties: 1 } };

/** Stored sums that weigh this much now. */
const sumsOf = (weight: number, r: number, counterparties = 8, by = BY): AgentSums => {
  const scaled = weight * forwardScale(by, NOW);
  return { weight: scaled, weighted: scaled * r, interactions: 10, counterparties };
};
const at = (sums: AgentSums, heaviest: readonly Sums[], when: number, by = BY) =>
  computeRating(sums, heaviest, by, when);

describe("the next change", () => {
  const weight = fc.double({ min: 0.01, max: 10_000, noNaN: true });
  const r = fc.double({ min: 0, max: 1, noNaN: true });
  const methods = fc.record({
    halfLifeDays: fc.integer({ min: 30, max: 400 }),
    kappa: fc.double({ min: 0.1, max: 50, noNaN: true }),
    mu: fc.constantFrom(0, 0.3, 0.5, 0.505, 0.77, 1),
  });

  it("is the first instant at which the rounded rating differs, to the second", () => {
    fc.assert(
      fc.property(weight, r, methods, (w, part, method) => {
        const by = { ...BY, ...method };
        const sums = sumsOf(w, part, 8, by);
        const rating = at(sums, [], NOW, by);
        const next = findNextChange(sums, [], by, NOW);
        if (next === null) {
          // Half a step from the prior the rating approaches a tie, which only the noise of floats decides.
          if (Math.abs(Math.abs((rating ?? 0) - method.mu) - 0.005) < 1e-9) return;
          for (const days of [1, 90, 900, 9_000]) expect(at(sums, [], NOW + days * DAY_MS, by)).toBe(rating);
          return;
        }
        expect(next).toBeGreaterThan(NOW);
        expect(at(sums, [], next + SECOND_MS, by)).not.toBe(rating);
        const before = next - 3 * SECOND_MS;
        if (before > NOW) expect(at(sums, [], before, by)).toBe(rating);
        // The rating moves towards the prior, by one step.
        const moved = at(sums, [], next + SECOND_MS, by) ?? Number.NaN;
        expect(Math.abs(moved - method.mu)).toBeLessThan(Math.abs((rating ?? Number.NaN) - method.mu) + 1e-9);
      }),
      runs(),
    );
  });

  it("counts the heaviest as clipped", () => {
    const sums = sumsOf(10, 1, 4);
    const heaviest = [{ weight: sums.weight * 0.9, weighted: sums.weighted * 0.9 }];
    const next = findNextChange(sums, heaviest, BY, NOW);
    expect(next).not.toBe(findNextChange(sums, [], BY, NOW));
    expect(at(sums, heaviest, Number(next) + SECOND_MS)).not.toBe(at(sums, heaviest, NOW));
    expect(at(sums, heaviest, Number(next) - 3 * SECOND_MS)).toBe(at(sums, heaviest, NOW));
  });

  it("never comes for a rating at the prior, for one without weight, and for an unrated agent", () => {
    expect(findNextChange(sumsOf(5, 0.5), [], BY, NOW)).toBeNull();
    expect(findNextChange(sumsOf(0, 0), [], BY, NOW)).toBeNull();
    expect(findNextChange({ ...sumsOf(5, 1), interactions: 0 }, [], BY, NOW)).toBeNull();
  });
});
