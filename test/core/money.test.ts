// Money is decimal text, never a binary float, limited to 2^53-1 base units (HTTP-4, HTTP-5), and rounded half-even (TSK-6).
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  BASE_UNITS_MAX,
  compareDecimals,
  floorAmount,
  formatAmount,
  parseAmount,
  roundHalfEven2,
  toPlainAmount,
} from "../../src/core/text.ts";
import { runs } from "../support/scale.ts";

const DECIMALS = 6;
const ok = (units: number) => ({ ok: true, units });
const fault = (name: string) => ({ ok: false, fault: name });

const units = fc.oneof(fc.integer({ min: 0, max: 10_000_000 }), fc.maxSafeNat(), fc.constantFrom(0, 1, BASE_UNITS_MAX));
const decimals = fc.integer({ min: 0, max: 18 });

describe("parsing and formatting", () => {
  it("reproduce every number of base units", () => {
    fc.assert(
      fc.property(units, decimals, (value, places) => {
        expect(parseAmount(formatAmount(value, places), places)).toEqual(ok(value));
      }),
      runs(),
    );
  });

  it("agree for every exponent that the same amount is written with", () => {
    fc.assert(
      fc.property(units, fc.integer({ min: 0, max: 20 }), (value, shift) => {
        const plain = formatAmount(value, DECIMALS);
        const digits = plain.replace(".", "");
        const fraction = plain.split(".")[1]?.length ?? 0;
        expect(parseAmount(`${digits}e-${fraction}`, DECIMALS)).toEqual(ok(value));
        expect(parseAmount(`${digits}${"0".repeat(shift)}E-${fraction + shift}`, DECIMALS)).toEqual(ok(value));
        expect(parseAmount(`000${plain}`, DECIMALS)).toEqual(ok(value));
      }),
      runs(),
    );
  });

  it("agree with exact integers, so no value passes through a float", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 60n }), (value) => {
        const expected = value > BigInt(BASE_UNITS_MAX) ? fault("too_big") : ok(Number(value));
        expect(
          parseAmount(`${value / 1_000_000n}.${(value % 1_000_000n).toString().padStart(6, "0")}`, DECIMALS),
        ).toEqual(expected);
      }),
      runs(),
    );
  });
});

describe("parsing", () => {
  it.each([
    ["10.50", 10_500_000],
    ["10", 10_000_000],
    ["1.0", 1_000_000],
    ["1e-06", 1],
    ["1E-6", 1],
    ["1e+1", 10_000_000],
    ["0.000001", 1],
    ["0.1000000000", 100_000],
    ["0", 0],
    ["0.0", 0],
    ["0e999", 0],
    // As floats these would be 0.30000000000000004 and 9007199254740992.
    ["0.3", 300_000],
    ["9007199254.740991", BASE_UNITS_MAX],
  ])("reads %s", (text, expected) => {
    expect(parseAmount(text, DECIMALS)).toEqual(ok(expected));
  });

  it.each([
    ["9007199254.740992", "too_big"],
    ["1e300", "too_big"],
    ["1e999", "too_big"],
    ["0.0000001", "invalid_format"],
    ["1e-7", "invalid_format"],
    ["1.0000005", "invalid_format"],
    ["", "invalid_format"],
    [".5", "invalid_format"],
    ["5.", "invalid_format"],
    ["-1", "invalid_format"],
    ["+1", "invalid_format"],
    ["1,5", "invalid_format"],
    [" 1", "invalid_format"],
    ["1\n", "invalid_format"],
    ["0x10", "invalid_format"],
    ["Infinity", "invalid_format"],
    ["NaN", "invalid_format"],
    ["١", "invalid_format"],
    ["1e", "invalid_format"],
    ["1e1.5", "invalid_format"],
  ])("refuses %j: %s", (text, expected) => {
    expect(parseAmount(text, DECIMALS)).toEqual(fault(expected));
  });
});

describe("formatting", () => {
  it.each([
    [10_500_000, "10.50"],
    [0, "0.00"],
    [1, "0.000001"],
    [1_230_000, "1.23"],
    [1_234_000, "1.234"],
    [BASE_UNITS_MAX, "9007199254.740991"],
    [-1_500_000, "-1.50"],
  ])("writes %i base units as %s", (value, expected) => {
    expect(formatAmount(value, DECIMALS)).toBe(expected);
  });

  it("has no fraction for a token without decimals", () => {
    expect(formatAmount(42, 0)).toBe("42");
  });

  it("takes a bigint beyond the safe integers digit by digit", () => {
    expect(formatAmount(2n ** 64n, DECIMALS)).toBe("18446744073709.551616");
  });
});

describe("plain text of an amount", () => {
  it.each([
    ["1e-06", "0.000001"],
    ["1.0", "1.00"],
    ["10", "10.00"],
    ["0010.500", "10.50"],
    ["1.25e1", "12.50"],
    ["12.5E+3", "12500.00"],
    ["0", "0.00"],
    ["0e-40", "0.00"],
    ["9007199254740993.123", "9007199254740993.123"],
    ["1e39", `1${"0".repeat(39)}.00`],
    ["1e40", null],
    ["12e39", null],
    [`${"9".repeat(40)}e5`, null],
    ["1e-40", `0.${"0".repeat(39)}1`],
    ["1.1e-40", null],
    ["1e-41", null],
    ["0e999", "0.00"],
    ["1e999", null],
    ["-1", null],
    ["", null],
  ])("of %j is %j", (text, expected) => {
    expect(toPlainAmount(text)).toBe(expected);
  });

  it("is read as the same text again, whatever text it was made from", () => {
    const digits = fc.stringMatching(/^\d{1,40}$/);
    const exponent = fc.integer({ min: -90, max: 90 });
    fc.assert(
      fc.property(digits, fc.option(digits), fc.option(exponent), (whole, fraction, power) => {
        const text = `${whole}${fraction === null ? "" : `.${fraction}`}${power === null ? "" : `e${power}`}`;
        const plain = toPlainAmount(text);
        if (plain === null) return;
        expect([toPlainAmount(plain), compareDecimals(plain, text)]).toEqual([plain, 0]);
        expect(() => floorAmount(plain, DECIMALS)).not.toThrow();
      }),
      runs(),
    );
  });

  it("is the same amount, whatever the exponent", () => {
    fc.assert(
      fc.property(units, fc.integer({ min: 0, max: 20 }), (value, shift) => {
        const plain = formatAmount(value, DECIMALS);
        expect(toPlainAmount(plain)).toBe(plain);
        expect(toPlainAmount(`${value}e-6`)).toBe(plain);
        expect(toPlainAmount(`${value}${"0".repeat(shift)}E-${6 + shift}`)).toBe(plain);
      }),
      runs(),
    );
  });
});

describe("rounding to two decimals", () => {
  it.each([
    [0.125, 0.12],
    [0.135, 0.14],
    [0.145, 0.14],
    [0.005, 0],
    [0.015, 0.02],
    [0.995, 1],
    [0.1249, 0.12],
    [0.1251, 0.13],
    [0, 0],
    [1, 1],
  ])("rounds %d to %d: a tie goes to the even digit", (value, expected) => {
    expect(roundHalfEven2(value)).toBe(expected);
  });

  it("is never off by more than half a hundredth, and leaves at most two decimals", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (value) => {
        const rounded = roundHalfEven2(value);
        expect(Math.abs(rounded - value)).toBeLessThanOrEqual(0.005 + 1e-9);
        expect(rounded).toBe(Number(rounded.toFixed(2)));
      }),
      runs(),
    );
  });
});
