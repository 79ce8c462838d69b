// The running hash of a log (EVT-12), recomputed here from its definition.
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { computeNextHash, FIRST_HASH } from "../../src/protocol/running-hash.ts";

const entry = { seq: 1, b: "ü", a: { to: 2, from: null } };

describe("the running hash", () => {
  it("is SHA-256 over the 32 bytes of the previous hash and the canonical text of the entry", async () => {
    const text = '{"a":{"from":null,"to":2},"b":"ü","seq":1}';
    const first = createHash("sha256").update(Buffer.alloc(32)).update(text).digest("hex");
    expect(await computeNextHash(FIRST_HASH, entry)).toBe(first);
    const second = createHash("sha256").update(Buffer.from(first, "hex")).update(text).digest("hex");
    expect(await computeNextHash(first, entry)).toBe(second);
  });

  it("does not depend on the order of members", async () => {
    expect(await computeNextHash(FIRST_HASH, { b: "ü", a: { from: null, to: 2 }, seq: 1 })).toBe(
      await computeNextHash(FIRST_HASH, entry),
    );
  });

  it.each(["", "0", "G".repeat(64), "A".repeat(64), "0".repeat(66)])(
    "refuses %j as the previous hash",
    async (before) => {
      await expect(computeNextHash(before, entry)).rejects.toThrow(TypeError);
    },
  );

  it("refuses an entry that is not a JSON value", async () => {
    await expect(computeNextHash(FIRST_HASH, { seq: Number.NaN })).rejects.toThrow("$.seq: not a finite number");
  });
});
