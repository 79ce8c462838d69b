// The receipt with which either party proves a settlement offline (FAC-15).
import { beforeAll, describe, expect, it } from "vitest";
import { importJwks, toPublishedJwks } from "../../src/protocol/jwks.ts";
import { packJws, unpackJws } from "../../src/protocol/jws.ts";
import { RECEIPT_TYPE, signReceipt, verifyReceipt } from "../../src/protocol/receipt.ts";
import { bytesChanged, CA_JWK, caKey, ISSUER, otherKey, receiptClaims, signPayload } from "./fixtures.ts";

const OPTIONS = { issuer: ISSUER };
let keys: Awaited<ReturnType<typeof importJwks>>;
let receipt: string;

beforeAll(async () => {
  keys = await importJwks(await toPublishedJwks([CA_JWK]));
  receipt = await signReceipt(receiptClaims(), await caKey());
});

const verify = (jws: unknown) => verifyReceipt(jws, keys, OPTIONS);

describe("a receipt", () => {
  it("verifies and states the settlement's facts", async () => {
    expect(await verify(receipt)).toEqual({ ok: true, claims: receiptClaims(), kid: (await caKey()).kid });
  });

  it("with any byte changed fails verification", async () => {
    for (const changed of bytesChanged(receipt)) expect((await verify(changed)).ok, changed).toBe(false);
  });

  it("is packed to three quarters of its length and unpacked unchanged; nothing else is packed", async () => {
    const claims = { ...receiptClaims(), currency: "Ü.{}." };
    for (const jws of [receipt, await signReceipt(claims, await caKey())]) {
      const packed = packJws(jws, RECEIPT_TYPE);
      expect(packed.length).toBeLessThan(0.76 * jws.length);
      expect(unpackJws(packed, RECEIPT_TYPE)).toBe(jws);
      expect(() => packJws(jws, "aeap-cert+jwt")).toThrow(TypeError);
      expect(() => packJws(`${jws}.`, RECEIPT_TYPE)).toThrow(TypeError);
    }
  });

  it("of a final sale has no end of a dispute window", async () => {
    const claims = { ...receiptClaims(), dispute_window_closes_at: null };
    expect(await verify(await signReceipt(claims, await caKey()))).toMatchObject({ ok: true, claims });
  });

  it("by a stranger, of another type, or of another issuer is refused", async () => {
    expect(await verify(await signReceipt(receiptClaims(), await otherKey()))).toEqual({
      ok: false,
      reason: "key_unknown",
    });
    expect(await verify(await signPayload(receiptClaims(), "aeap-cert+jwt"))).toEqual({
      ok: false,
      reason: "type_not_allowed",
    });
    expect(await verifyReceipt(receipt, keys, { issuer: "https://other.example" })).toEqual({
      ok: false,
      reason: "issuer_mismatch",
    });
  });

  it.each(Object.keys(receiptClaims()))("without %s is neither signed nor accepted", async (claim) => {
    const claims = { ...receiptClaims(), [claim]: undefined };
    await expect(signReceipt(claims, await caKey())).rejects.toThrow(claim);
    expect(await verify(await signPayload(claims, RECEIPT_TYPE))).toEqual({
      ok: false,
      reason: "claims_malformed",
      claim,
    });
  });

  it.each<[string, Record<string, unknown>]>([
    ["an amount as a number", { gross_amt: 10 }],
    ["an amount in exponent form", { fee_amt: "5e-3" }],
    ["a negative amount", { fee_amt: "-1" }],
    ["a hash without 0x", { tx_hash: "ab".repeat(32) }],
    ["a party that is no DID", { provider_did: "provider" }],
    ["a chain by number", { caip2: 84532 }],
    ["an instant that is not UTC", { settled_at: "2026-07-21T11:59:58+02:00" }],
    ["a fractional log index", { log_index: 0.5 }],
  ])("with %s is malformed", async (_name, change) => {
    expect(await verify(await signPayload({ ...receiptClaims(), ...change }, RECEIPT_TYPE))).toMatchObject({
      ok: false,
      reason: "claims_malformed",
      claim: Object.keys(change)[0],
    });
  });
});
