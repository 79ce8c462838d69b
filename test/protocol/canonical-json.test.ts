// RFC 8785: the RFC's own examples, and properties over any JSON value.
import canonicalize from "canonicalize";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toCanonicalJson } from "../../src/protocol/canonical-json.ts";
import { runs } from "../support/scale.ts";

describe("the examples of RFC 8785", () => {
  it("section 3.2.2: primitive values are written as in ECMAScript", () => {
    const input = String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`;
    expect(toCanonicalJson(JSON.parse(input))).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  it("section 3.2.3: members are sorted by UTF-16 code units", () => {
    const text = toCanonicalJson({
      "€": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "😀": "Emoji: Grinning Face",
      "\u0080": "Control",
      ö: "Latin Small Letter O With Diaeresis",
    });
    expect([...text.matchAll(/:"([^"]+)"/g)].map(([, name]) => name)).toEqual([
      "Carriage Return",
      "One",
      "Control",
      "Latin Small Letter O With Diaeresis",
      "Euro Sign",
      "Emoji: Grinning Face",
      "Hebrew Letter Dalet With Dagesh",
    ]);
  });

  it.each([
    ["0000000000000000", "0"],
    ["8000000000000000", "0"],
    ["0000000000000001", "5e-324"],
    ["8000000000000001", "-5e-324"],
    ["7fefffffffffffff", "1.7976931348623157e+308"],
    ["ffefffffffffffff", "-1.7976931348623157e+308"],
    ["4340000000000000", "9007199254740992"],
    ["c340000000000000", "-9007199254740992"],
    ["4430000000000000", "295147905179352830000"],
    ["44b52d02c7e14af5", "9.999999999999997e+22"],
    ["44b52d02c7e14af6", "1e+23"],
    ["44b52d02c7e14af7", "1.0000000000000001e+23"],
    ["444b1ae4d6e2ef4e", "999999999999999700000"],
    ["444b1ae4d6e2ef4f", "999999999999999900000"],
    ["444b1ae4d6e2ef50", "1e+21"],
    ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
    ["3eb0c6f7a0b5ed8d", "0.000001"],
    ["41b3de4355555553", "333333333.3333332"],
    ["41b3de4355555554", "333333333.33333325"],
    ["41b3de4355555555", "333333333.3333333"],
    ["41b3de4355555556", "333333333.3333334"],
    ["41b3de4355555557", "333333333.33333343"],
    ["becbf647612f3696", "-0.0000033333333333333333"],
    ["43143ff3c1cb0959", "1424953923781206.2"],
  ])("appendix B: the double %s is written as %s", (hex, expected) => {
    expect(toCanonicalJson(double(hex))).toBe(expected);
  });
});

describe("a value that JSON cannot hold is refused", () => {
  const hole: unknown[] = [];
  hole[1] = 1;
  it.each([
    ["NaN", Number.NaN],
    ["Infinity", Number.POSITIVE_INFINITY],
    ["undefined", undefined],
    ["a member that is undefined", { a: undefined }],
    ["a hole in an array", hole],
    ["a bigint", 1n],
    ["a function", () => 1],
    ["a symbol", Symbol("a")],
    ["a lone high surrogate", "\ud800"],
    ["a lone low surrogate in a name", { "\udc00": 1 }],
    ["a Date, which would be turned into text", new Date(0)],
    ["a Map, which would be turned into {}", new Map()],
  ])("%s", (_name, value) => {
    expect(() => toCanonicalJson(value)).toThrow(TypeError);
    expect(() => toCanonicalJson([{ inside: value }])).toThrow(TypeError);
  });

  it("a document that is too deep for the stack", () => {
    expect(() => toCanonicalJson(JSON.parse("[".repeat(100_000) + "]".repeat(100_000)))).toThrow(TypeError);
  });

  it("the error names the place of the fault", () => {
    expect(() => toCanonicalJson({ a: [0, { b: undefined }] })).toThrow("$.a[1].b");
  });
});

describe("for any JSON value", () => {
  const anyJson = fc.jsonValue({ stringUnit: "binary" });

  it("the canonical text has the same value", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(JSON.parse(toCanonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      runs(),
    );
  });

  it("a library of other authors writes the same text", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(toCanonicalJson(value)).toBe(canonicalize(value));
      }),
      runs(),
    );
  });

  it("a second canonicalisation changes nothing", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const text = toCanonicalJson(value);
        expect(toCanonicalJson(JSON.parse(text))).toBe(text);
      }),
      runs(),
    );
  });

  it("the original order of members does not matter", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), anyJson), (object) => {
        expect(toCanonicalJson(Object.fromEntries(Object.entries(object).reverse()))).toBe(toCanonicalJson(object));
      }),
      runs(),
    );
  });
});

function double(hex: string): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(`0x${hex}`));
  return view.getFloat64(0);
}
