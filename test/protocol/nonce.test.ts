// A nonce is valid for 120 seconds (PRF-13).
import { beforeAll, describe, expect, it } from "vitest";
import { checkNonce, importNonceKey, issueNonce } from "../../src/protocol/nonce.ts";

const NOW = Date.parse("2026-07-21T12:00:00.250Z");
type Key = Awaited<ReturnType<typeof importNonceKey>>;
let key: Key;

beforeAll(async () => {
  key = await importNonceKey(new Uint8Array(32).fill(7));
});

describe("a nonce", () => {
  it("is at least 16 characters, without the separator of proofs", async () => {
    expect(await issueNonce(key, NOW)).toMatch(/^[A-Za-z0-9_-]{64}$/);
  });

  it("differs each time, even within one millisecond", async () => {
    const issued = await Promise.all(Array.from({ length: 50 }, () => issueNonce(key, NOW)));
    expect(new Set(issued).size).toBe(50);
  });

  it("is valid for 120 seconds, and states when it was issued", async () => {
    const nonce = await issueNonce(key, NOW);
    for (const later of [0, 1, 119_999]) {
      expect(await checkNonce(key, nonce, NOW + later)).toEqual({ ok: true, issuedAt: NOW, expiresAt: NOW + 120_000 });
    }
  });

  it("has expired once 120 seconds have passed", async () => {
    const nonce = await issueNonce(key, NOW);
    expect(await checkNonce(key, nonce, NOW + 120_000)).toEqual({ ok: false, reason: "nonce_expired" });
  });

  it("by a clock that runs ahead is valid within 30 seconds, not beyond", async () => {
    const nonce = await issueNonce(key, NOW);
    expect((await checkNonce(key, nonce, NOW - 30_000)).ok).toBe(true);
    expect(await checkNonce(key, nonce, NOW - 30_001)).toEqual({ ok: false, reason: "nonce_from_future" });
  });

  it("with another secret is forged", async () => {
    const other = await importNonceKey(new Uint8Array(32).fill(8));
    expect(await checkNonce(other, await issueNonce(key, NOW), NOW)).toEqual({ ok: false, reason: "nonce_forged" });
  });

  it("bound to one agent is forged for another", async () => {
    const nonce = await issueNonce(key, NOW, "did:a");
    expect((await checkNonce(key, nonce, NOW, "did:a")).ok).toBe(true);
    expect(await checkNonce(key, nonce, NOW, "did:b")).toEqual({ ok: false, reason: "nonce_forged" });
    expect(await checkNonce(key, nonce, NOW)).toEqual({ ok: false, reason: "nonce_forged" });
  });

  it("with any character changed is refused, including those of its time", async () => {
    const nonce = await issueNonce(key, NOW);
    for (let i = 0; i < nonce.length; i++) {
      const changed = nonce.slice(0, i) + (nonce[i] === "A" ? "B" : "A") + nonce.slice(i + 1);
      expect(await checkNonce(key, changed, NOW)).toEqual({ ok: false, reason: "nonce_forged" });
    }
  });

  it.each(["", "00112233445566778899aabbccddeeff", "A".repeat(63), "A".repeat(65), `${"A".repeat(63)}|`])(
    "in another form (%s) is malformed",
    async (text) => {
      expect(await checkNonce(key, text, NOW)).toEqual({ ok: false, reason: "nonce_malformed" });
    },
  );

  it("needs a secret of 32 bytes", async () => {
    await expect(importNonceKey(new Uint8Array(31))).rejects.toThrow(RangeError);
  });
});
