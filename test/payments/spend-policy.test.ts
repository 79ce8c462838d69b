// The arithmetic of spend policies: windows as differences of running totals, and the narrowest bound of all spenders (PAY-8 to PAY-10).
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BASE_UNITS_MAX, floorAmount } from "../../src/core/text.ts";
import { type Counterparty, judgePolicy, type Spender, sumWindow } from "../../src/payments/spend-policy.ts";
import { runs } from "../support/scale.ts";

const nothing = { settled: 0, settledBefore: 0, open: 0, expired: 0 };
const spender = (did: string, policy: Partial<Spender> = {}): Spender => ({
  did,
  maxTransactionValue: null,
  spendingLimit: null,
  minimumCounterpartyCertTier: null,
  minimumCounterpartyAr: null,
  spend: nothing,
  ...policy,
});
const limit = (amount: string, currency = "USDC") => ({ amount, currency, window_days: 30 });
const provider: Counterparty = { certTier: "TIER_2", rating: 0.8 };
const pay = (units: number) => ({ units, currency: "USDC", decimals: 6 });
const judge = (spenders: Spender[], units: number, counterparty: Counterparty = provider) =>
  judgePolicy(spenders, counterparty, pay(units));

describe("the amount spent in a window", () => {
  it("is the amount settled since the window began plus the holds that have not ended", () => {
    expect(sumWindow({ settled: 100, settledBefore: 60, open: 30, expired: 10 })).toBe(60);
  });

  it("equals the sum over the history, for any history and any window", () => {
    const history = fc.array(fc.record({ gap: fc.nat(50), amount: fc.nat(1_000) }), { maxLength: 40 });
    fc.assert(
      fc.property(history, fc.nat(2_000), fc.nat(500), (entries, now, window) => {
        let at = 0;
        let total = 0;
        const ledger = entries.map(({ gap, amount }) => {
          at += gap + 1;
          total += amount;
          return { at, amount, total };
        });
        const known = ledger.filter((row) => row.at <= now);
        const settledBefore = known.filter((row) => row.at <= now - window).at(-1)?.total ?? 0;
        const settled = known.at(-1)?.total ?? 0;
        const summed = known.filter((row) => row.at > now - window).reduce((sum, row) => sum + row.amount, 0);
        expect(sumWindow({ settled, settledBefore, open: 0, expired: 0 })).toBe(summed);
      }),
      runs(),
    );
  });
});

describe("ceilings in base units", () => {
  for (const [text, units] of [
    ["10.50", 10_500_000],
    ["1e-06", 1],
    ["0.0000019", 1],
    ["0.0000001", 0],
    ["1e2", 100_000_000],
    ["1e30", BASE_UNITS_MAX],
    ["10000000000.1234567", BASE_UNITS_MAX],
    ["1000000000.1234567", 1_000_000_000_123_456],
  ] as const) {
    it(`${text} at six decimals is ${units}: rounded down, and capped at the largest amount`, () => {
      expect(floorAmount(text, 6)).toBe(units);
    });
  }
});

describe("judgePolicy", () => {
  it("makes no check if no spender set a bound", () => {
    expect(judge([spender("c"), spender("d")], 5)).toEqual([]);
  });

  it("allows exactly the ceiling, and refuses one base unit more", () => {
    const spenders = [spender("c", { maxTransactionValue: "10.00" })];
    expect(judge(spenders, 10_000_000)[0]?.passed).toBe(true);
    expect(judge(spenders, 10_000_001)[0]).toEqual({
      check: "max_transaction_value",
      passed: false,
      limit: "10.00",
      attempted: "10.000001",
    });
  });

  it("allows exactly what remains of the limit, and refuses one base unit more", () => {
    const spend = { settled: 50_000_000, settledBefore: 20_000_000, open: 15_000_000, expired: 5_000_000 };
    const spenders = [spender("c", { spendingLimit: limit("100.00"), spend })];
    expect(judge(spenders, 60_000_000)[0]?.passed).toBe(true);
    expect(judge(spenders, 60_000_001)[0]).toMatchObject({ passed: false, limit: "100.00", remaining: "60.00" });
  });

  it("shows nothing remaining, not a negative amount, if late settlements went over the limit", () => {
    const spenders = [spender("c", { spendingLimit: limit("1.00"), spend: { ...nothing, settled: 5_000_000 } })];
    expect(judge(spenders, 1)[0]).toMatchObject({ passed: false, remaining: "0.00" });
  });

  it("refuses against a limit in another currency, because it compares nothing with it", () => {
    const spenders = [spender("c", { spendingLimit: limit("100.00", "EURC") })];
    expect(judge(spenders, 1)[0]).toMatchObject({ check: "spending_limit", passed: false, currency: "EURC" });
  });

  it("names the delegator whose bound is the narrowest, and no agent if the bound is the consumer's own", () => {
    const own = spender("c", { maxTransactionValue: "5.00", spendingLimit: limit("10.00") });
    const wide = spender("d", {
      maxTransactionValue: "9.00",
      spendingLimit: limit("10.00"),
      spend: { ...nothing, open: 7_000_000 },
    });
    const [ceiling, window] = judge([own, wide], 4_000_000);
    expect(ceiling).toMatchObject({ limit: "5.00" });
    expect(ceiling).not.toHaveProperty("delegator");
    expect(window).toMatchObject({ check: "spending_limit", passed: false, remaining: "3.00", delegator: "d" });
  });

  it("compares the provider with the highest tier that any spender requires", () => {
    const spenders = [
      spender("c", { minimumCounterpartyCertTier: "TIER_2" }),
      spender("d", { minimumCounterpartyCertTier: "TIER_3" }),
    ];
    expect(judge(spenders.slice(0, 1), 1)[0]?.passed).toBe(true);
    expect(judge(spenders, 1)[0]).toEqual({
      check: "minimum_counterparty_cert_tier",
      passed: false,
      limit: "TIER_3",
      attempted: "TIER_2",
      delegator: "d",
    });
  });

  it("accepts a rating equal to the floor, and never an unrated provider", () => {
    const spenders = [spender("c", { minimumCounterpartyAr: 0.8 })];
    expect(judge(spenders, 1)[0]?.passed).toBe(true);
    expect(judge([spender("c", { minimumCounterpartyAr: 0 })], 1, { certTier: "TIER_2", rating: null })[0]).toEqual({
      check: "minimum_counterparty_ar",
      passed: false,
      limit: 0,
      attempted: null,
    });
  });

  it("answers in the order of PAY-8", () => {
    const all = spender("c", {
      maxTransactionValue: "1",
      spendingLimit: limit("1"),
      minimumCounterpartyCertTier: "TIER_1",
      minimumCounterpartyAr: 0.1,
    });
    expect(judge([all], 1).map(({ check }) => check)).toEqual([
      "max_transaction_value",
      "spending_limit",
      "minimum_counterparty_cert_tier",
      "minimum_counterparty_ar",
    ]);
  });
});
