// Tests that a DID and an intent are on-chain as keccak256 of their text (CHN-8), against a second implementation.
import { keccak256, toHex } from "viem";
import { expect, test } from "vitest";
import { hashDid, hashIntent, isPayableDid, namesNoPayer, parseTxHash } from "../../src/chain/hashes.ts";

const DID = "did:aeap:11111111-1111-4111-8111-111111111111";

test("keccak256 of the empty text is that of the yellow paper, not that of SHA-3", () => {
  expect(hashDid("")).toBe("0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
});

test("a DID and an intent hash to keccak256 of their UTF-8 text", () => {
  expect(hashDid(DID)).toBe(keccak256(toHex(DID)));
  expect(hashIntent("pin_ü")).toBe(keccak256(toHex("pin_ü")));
});

test("an intent that names its payer hashes to the highest bit, 95 bits of its own hash, and that address", () => {
  const payer = "0x0180680277302Fa8f5f35FcaCd53E7Be5D63519F";
  const ids = Array.from({ length: 100 }, (_, index) => `pin_${index}`);
  for (const id of ids) {
    const hash = BigInt(keccak256(toHex(id)));
    const named = ((hash >> 160n) << 160n) | (1n << 255n) | BigInt(payer);
    expect(BigInt(hashIntent(id, payer))).toBe(named);
    expect([hashIntent(id).length, hashIntent(id, payer).length]).toEqual([66, 66]);
    expect(namesNoPayer(id)).toBe(hash >> 255n === 0n);
  }
  expect(new Set(ids.map(namesNoPayer)).size).toBe(2);
});

test("a DID is payable unless its hash starts with a zero nibble", () => {
  const dids = Array.from({ length: 200 }, (_, index) => `${DID}${index}`);
  for (const did of dids) expect(isPayableDid(did)).toBe(keccak256(toHex(did))[2] !== "0");
  expect(dids.some((did) => !isPayableDid(did))).toBe(true);
});

test("a transaction hash is 64 hex digits, with or without 0x", () => {
  const hash = "AB".repeat(32);
  for (const text of [hash, `0x${hash}`, hash.toLowerCase()]) expect(parseTxHash(text)).toBe(`0x${"ab".repeat(32)}`);
  for (const text of ["", "0x", hash.slice(1), `${hash}0`, ` ${hash}`, `0X${hash}0`, "z".repeat(64)]) {
    expect(parseTxHash(text)).toBeUndefined();
  }
});
