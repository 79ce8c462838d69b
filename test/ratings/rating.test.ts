// The computation of ratings, by its properties (TSK-6 to TSK-15).
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DAY_MS, HOUR_MS } from "../../src/core/limits.ts";
import { DEFAULT_PARAMETERS as BY } from "../../src/ratings/method.ts";
import {
  computeRating,
  computeSignalWeight,
  type Signal,
  type Sums,
  toContribution,
  toProviderSignal,
  toTaskSignals,
} from "../../src/ratings/rating.ts";
import { runs } from "../support/scale.ts";

type Entry = { signal: Signal; at: number; counterparty: string };
const NOW = Date.UTC(2026, 10, 21);

/** The sums that a store would hold after these signals, in this order. */
function storeOf(entries: readonly Entry[]) {
  const own = { weight: 0, weighted: 0 };
  const others = new Map<string, { weight: number; weighted: number }>();
  for (const { signal, at, counterparty } of entries) {
    const { weight, weighted } = toContribution(BY, signal, at);
    const other = others.get(counterparty) ?? { weight: 0, weighted: 0 };
    for (const sums of [own, other]) {
      sums.weight += weight;
      sums.weighted += weighted;
    }
    others.set(counterparty, other);
  }
  const heaviest: Sums[] = [...others.values()].sort((a, b) => b.weight - a.weight).slice(0, 4);
  return { sums: { ...own, interactions: entries.length, counterparties: others.size }, heaviest };
}

const MINIMUM = {
  sandbox: { interactions: 1, counterparties: 1 },
  production: { interactions: 10, counterparties: 2 },
};

const rate = (entries: readonly Entry[], now = NOW, environment: "sandbox" | "production" = "sandbox") => {
  const { sums, heaviest } = storeOf(entries);
  return computeRating(sums, heaviest, { ...BY, minimum: MINIMUM[environment] }, now);
};

const entry = fc.record({
  signal: fc.record({
    r: fc.double({ min: 0, max: 1, noNaN: true }),
    weight: fc.double({ min: 0.15, max: 12, noNaN: true }),
  }),
  at: fc.integer({ min: NOW - 1_000 * DAY_MS, max: NOW }),
  counterparty: fc.constantFrom("a", "b", "c", "d", "e", "f", "g"),
});
const history = fc.array(entry, { minLength: 1, maxLength: 40 });

describe("a rating", () => {
  it("lies between 0 and 1 and has two decimals", () => {
    fc.assert(
      fc.property(history, fc.integer({ min: 0, max: 20_000 }), (entries, days) => {
        const rating = rate(entries, NOW + days * DAY_MS) ?? Number.NaN;
        expect(rating).toBeGreaterThanOrEqual(0);
        expect(rating).toBeLessThanOrEqual(1);
        expect(Math.round(rating * 100) / 100).toBe(rating);
      }),
      runs(),
    );
  });

  it("never falls when one of its signals is better", () => {
    fc.assert(
      fc.property(history, fc.nat(), fc.double({ min: 0, max: 1, noNaN: true }), (entries, which, better) => {
        const index = which % entries.length;
        const raised = entries.map((one, i) =>
          i === index ? { ...one, signal: { ...one.signal, r: Math.max(one.signal.r, better) } } : one,
        );
        expect(rate(raised) ?? 0).toBeGreaterThanOrEqual(rate(entries) ?? 1);
      }),
      runs(),
    );
  });

  it("does not depend on the order in which its signals came", () => {
    const shuffled = history.chain((entries) =>
      fc.tuple(
        fc.constant(entries),
        fc.shuffledSubarray(entries, { minLength: entries.length, maxLength: entries.length }),
      ),
    );
    fc.assert(
      fc.property(shuffled, ([entries, other]) => {
        // They differ by a hundredth at most, because the last bit of a sum may decide a tie.
        expect(Math.abs((rate(other) ?? 0) - (rate(entries) ?? 0))).toBeLessThanOrEqual(0.0100001);
      }),
      runs(),
    );
  });

  it("drifts back to the prior as its signals age", () => {
    fc.assert(
      fc.property(history, (entries) => {
        const far = (rating: number | null) => Math.abs((rating ?? 0) - BY.mu);
        const young = rate(entries);
        const old = rate(entries, NOW + 3_600 * DAY_MS);
        expect(far(old)).toBeLessThanOrEqual(far(young));
        expect(rate(entries, NOW + 36_500 * DAY_MS)).toBe(BY.mu);
      }),
      runs(),
    );
  });

  it("counts a signal half after ninety days", () => {
    const one = toContribution(BY, { r: 1, weight: 2 }, NOW);
    const older = toContribution(BY, { r: 1, weight: 2 }, NOW - 90 * DAY_MS);
    expect(older.weight / one.weight).toBeCloseTo(0.5, 12);
  });

  it("follows the formula: one signal of weight w and value r", () => {
    const weight = computeSignalWeight(BY, 10);
    const expected = (weight * 1 + 1) / (weight + 2);
    expect(rate([{ signal: { r: 1, weight }, at: NOW, counterparty: "a" }])).toBe(Math.round(expected * 100) / 100);
  });

  it("cannot be carried by one counterparty: a flood of praise counts no more than its share", () => {
    const honest: Entry[] = ["b", "c", "d", "e"].map((counterparty) => ({
      signal: { r: 0, weight: 1 },
      at: NOW,
      counterparty,
    }));
    const flood = (n: number): Entry[] =>
      Array.from({ length: n }, () => ({ signal: { r: 1, weight: 1 }, at: NOW, counterparty: "a" }));
    const without = rate([...honest, ...flood(1)]) ?? 0;
    // The flood holds only a quarter of the unclipped weight, against honest weight that does not grow.
    const { sums, heaviest } = storeOf([...honest, ...flood(96)]);
    const [own] = heaviest;
    expect(own?.weight).toBeCloseTo(96 * (sums.weight / 100), 6);
    const expected = (25 + 1) / (25 + 4 + 2);
    expect(rate([...honest, ...flood(96)])).toBe(Math.round(expected * 100) / 100);
    expect(without).toBeLessThan(0.5);
  });

  it("is null below the environment's minimum, and in production with one counterparty", () => {
    const tasks = (n: number, parties: string[]): Entry[] =>
      Array.from({ length: n }, (_, i) => ({
        signal: { r: 1, weight: 1 },
        at: NOW,
        counterparty: parties[i % parties.length] ?? "a",
      }));
    expect(rate([], NOW)).toBeNull();
    expect(rate(tasks(1, ["a"]), NOW)).not.toBeNull();
    expect(rate(tasks(9, ["a", "b"]), NOW, "production")).toBeNull();
    expect(rate(tasks(10, ["a"]), NOW, "production")).toBeNull();
    expect(rate(tasks(10, ["a", "b"]), NOW, "production")).not.toBeNull();
  });

  it("costs the millionth task what the first did: sums stay finite for a century", () => {
    const { weight } = toContribution(BY, { r: 1, weight: 12 }, NOW + 100 * 365 * DAY_MS);
    expect(Number.isFinite(weight * 1e9)).toBe(true);
  });
});

describe("the weight of a signal", () => {
  it("is the logarithm of the amount, between 0.3 and 4", () => {
    expect(computeSignalWeight(BY, 0.0001)).toBe(0.3);
    expect(computeSignalWeight(BY, 99)).toBeCloseTo(2, 12);
    expect(computeSignalWeight(BY, 1e9)).toBe(4);
  });
});

describe("the signals of a closed task", () => {
  const base = { score: null, amountWholeUnits: 99, tookMs: HOUR_MS } as const;
  it.each([
    [{ ...base, outcome: "confirmed" }, 1, 2, 1],
    [{ ...base, outcome: "partial", score: 0.4 }, 0.4, 2, 1],
    [{ ...base, outcome: "rejected", score: 0 }, 0, 2, 1],
    [{ ...base, outcome: "confirmed", tookMs: 24 * HOUR_MS - 1 }, 1, 2, 1],
    [{ ...base, outcome: "confirmed", tookMs: 24 * HOUR_MS }, 1, 2, 0.9],
    [{ ...base, outcome: "auto_confirmed", tookMs: 72 * HOUR_MS }, 1, 1, 0.7],
    [{ ...base, outcome: "rejected", score: 0, verdict: "upheld" }, 0, 6, 1],
    [{ ...base, outcome: "auto_confirmed", score: 1, verdict: "upheld" }, 0, 6, 0.7],
    [{ ...base, outcome: "confirmed", score: 1, verdict: "partially_upheld", verdictScore: 0.3 }, 0.3, 4, 1],
    [{ ...base, outcome: "confirmed", score: 1, verdict: "rejected" }, 1, 2, 0],
    [{ ...base, outcome: "auto_confirmed", score: 1, verdict: "rejected" }, 1, 1, 0],
  ] as const)("are as the rules say for %o", (task, r, weight, consumer) => {
    const signals = toTaskSignals(BY, task);
    expect(signals.provider.r).toBe(r);
    expect(signals.provider.weight).toBeCloseTo(weight, 12);
    expect(signals.consumer.r).toBe(consumer);
  });
});

describe("the signal of a verdict", () => {
  it.each([
    ["dispute_upheld", 0.4, 0, 6],
    ["dispute_partially_upheld", 0.4, 0.4, 4],
  ] as const)("is as the rules say for %s", (verdict, score, r, weight) => {
    const signal = toProviderSignal(BY, verdict, 99, score);
    expect(signal.r).toBe(r);
    expect(signal.weight).toBeCloseTo(weight, 12);
  });
});
