// The check of Ed25519 keys agrees with a library (PRN-22).
import { ed25519 } from "@noble/curves/ed25519";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isKeyPoint } from "../../src/protocol/ed25519.ts";
import { runs } from "../support/scale.ts";

const { ExtendedPoint } = ed25519;
const P = 2n ** 255n - 19n;

function isKey(bytes: Uint8Array): boolean {
  try {
    const point = ExtendedPoint.fromHex(bytes);
    return !point.isSmallOrder() && point.isTorsionFree();
  } catch {
    return false;
  }
}
const bytesOf = (value: bigint): Uint8Array =>
  Uint8Array.from({ length: 32 }, (_, at) => Number((value >> BigInt(8 * at)) & 0xffn));
/** A point of order eight. */
const TORSION = ExtendedPoint.fromHex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a");
const SMALL = Array.from({ length: 8 }, (_, n) => (n === 0 ? ExtendedPoint.ZERO : TORSION.multiplyUnsafe(BigInt(n))));

test("random bytes and keys are judged as by the library", () => {
  const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 });
  fc.assert(
    fc.property(bytes, (some) => {
      expect(isKeyPoint(some)).toBe(isKey(some));
      expect(isKeyPoint(ed25519.getPublicKey(some))).toBe(true);
    }),
    runs(),
  );
});

test("points of small order, and keys with such a component, are refused", () => {
  expect(new Set(SMALL.map((point) => point.toHex())).size).toBe(8);
  for (const point of SMALL) {
    expect([point.toHex(), isKeyPoint(point.toRawBytes())]).toEqual([point.toHex(), false]);
    const mixed = ExtendedPoint.BASE.add(point);
    expect([point.toHex(), isKeyPoint(mixed.toRawBytes())]).toEqual([point.toHex(), point.equals(ExtendedPoint.ZERO)]);
  }
});

test("encodings that are not canonical, or have another length, are refused", () => {
  for (let y = 0n; y < 19n; y++) {
    for (const sign of [0n, 2n ** 255n]) expect([y, isKeyPoint(bytesOf((P + y) | sign))]).toEqual([y, false]);
  }
  // The sign bit must not be set for x = 0.
  for (const y of [1n, P - 1n]) expect(isKeyPoint(bytesOf(y | (2n ** 255n)))).toBe(false);
  const key = ed25519.getPublicKey(new Uint8Array(32).fill(7));
  for (const other of [key.slice(1), Uint8Array.of(...key, 0), new Uint8Array()]) expect(isKeyPoint(other)).toBe(false);
});
