// Ids: prefixed, 26 characters of Crockford base32, ordered by time (HTTP-1).
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { buildIdPattern, createId, ID_PREFIXES } from "../../src/core/ids.ts";
import { runs } from "../support/scale.ts";

const NOW = Date.parse("2026-07-21T12:00:00Z");
const instant = fc.integer({ min: 0, max: 2 ** 48 - 1 });

describe("an id", () => {
  it.each(ID_PREFIXES)("%s_ is followed by 26 characters of Crockford base32", (prefix) => {
    const id = createId(prefix, NOW);
    expect(id).toMatch(new RegExp(`^${prefix}_[0-9A-HJKMNP-TV-Z]{26}$`));
    expect(id).toMatch(buildIdPattern(prefix));
  });

  it("has each of these prefixes", () => {
    const contract = "plt ses cus prn att agt mkt pin fac tsk dsp evt whe dlv act doc key ver".split(" ");
    expect(ID_PREFIXES).toEqual(expect.arrayContaining(contract));
  });

  it("sorts by its instant", () => {
    fc.assert(
      fc.property(instant, instant, (a, b) => {
        fc.pre(a !== b);
        expect(createId("prn", a) < createId("prn", b)).toBe(a < b);
      }),
      runs(),
    );
  });

  it("is unique: ten thousand ids of one instant differ", () => {
    const ids = Array.from({ length: 10_000 }, () => createId("act", NOW));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("carries the bits of a UUIDv7: its time, version 7 and variant 2", () => {
    const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    const text = createId("evt", NOW).slice(4);
    let bits = 0n;
    for (const char of text) bits = (bits << 5n) | BigInt(alphabet.indexOf(char));
    expect(Number(bits >> 80n)).toBe(NOW);
    expect((bits >> 76n) & 15n).toBe(7n);
    expect((bits >> 62n) & 3n).toBe(2n);
  });

  it("does not match if its kind, its alphabet or its length is another", () => {
    const id = createId("prn", NOW);
    expect(id).not.toMatch(buildIdPattern("plt"));
    expect(id.toLowerCase()).not.toMatch(buildIdPattern("prn"));
    expect(id.slice(0, -1)).not.toMatch(buildIdPattern("prn"));
    expect(`${id.slice(0, -1)}U`).not.toMatch(buildIdPattern("prn"));
    expect(`${id}0`).not.toMatch(buildIdPattern("prn"));
  });
});
