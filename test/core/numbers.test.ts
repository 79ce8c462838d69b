import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isDouble } from "../../src/core/text.ts";
import { runs } from "../support/scale.ts";

describe("a double", () => {
  it.each(["0", "-0", "0.0", "1", "1.50", "15e-1", "1E2", "0.1", "9007199254740991", "1e308", "0.30000000000000004"])(
    "keeps %s",
    (text) => expect(isDouble(text)).toBe(true),
  );

  it.each([
    "1.0000000000000001",
    "13.9999999999999999",
    "0.10000000000000001",
    "9007199254740993",
    "1e400",
    "1e-400",
    "0.12345678901234567890",
  ])("does not keep %s", (text) => expect(isDouble(text)).toBe(false));

  it("keeps its own text, in any form", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.nat(20), (value, zeros) => {
        expect(isDouble(String(value))).toBe(true);
        expect(isDouble(value.toExponential())).toBe(true);
        const text = String(value);
        if (/^-?\d+$/.test(text)) expect(isDouble(`${text}.${"0".repeat(zeros + 1)}`)).toBe(true);
      }),
      runs(),
    );
  });
});
