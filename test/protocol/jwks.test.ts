// Keys are published with `use: sig` and `alg: ES256`; their `kid` is the RFC 7638 thumbprint (IDN-3, IDN-4).
import { describe, expect, it } from "vitest";
import { encodeBase64 } from "../../src/core/encoding.ts";
import { sign, verifySignature } from "../../src/protocol/ecdsa.ts";
import {
  computeJwkThumbprint,
  findKey,
  importJwks,
  importSigningKey,
  parsePublicJwk,
  pickPublicPart,
  toPublishedJwk,
  toPublishedJwks,
} from "../../src/protocol/jwks.ts";
import { AGENT_JWK, CA_JWK, caPublic, OFF_CURVE_JWK, OTHER_JWK } from "./fixtures.ts";

describe("a published key", () => {
  it("has exactly kty, crv, x, y, kid, use and alg, even if it is made from a private key", async () => {
    expect(await toPublishedJwk(CA_JWK)).toEqual({
      ...caPublic,
      kid: await computeJwkThumbprint(CA_JWK),
      use: "sig",
      alg: "ES256",
    });
  });

  it("is named by the SHA-256 of its required members in order (RFC 7638)", async () => {
    const text = `{"crv":"P-256","kty":"EC","x":"${CA_JWK.x}","y":"${CA_JWK.y}"}`;
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
    const expected = encodeBase64(digest).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    expect(await computeJwkThumbprint(CA_JWK)).toBe(expected);
    expect((await importSigningKey(CA_JWK)).kid).toBe(expected);
  });

  it("is one of several during a rotation, in the caller's order", async () => {
    const { keys } = await toPublishedJwks([CA_JWK, OTHER_JWK]);
    expect(keys.map(({ x }) => x)).toEqual([CA_JWK.x, OTHER_JWK.x]);
    expect(JSON.stringify(keys)).not.toContain('"d"');
  });

  it("verifies signatures by its private key, which cannot be exported", async () => {
    const { kid, privateKey } = await importSigningKey(CA_JWK);
    expect(privateKey.extractable).toBe(false);
    const key = (await importJwks(await toPublishedJwks([CA_JWK]))).get(kid);
    expect(key).toBeDefined();
    if (key === undefined) return;
    expect((await verifySignature(key, "m", encodeBase64(await sign(privateKey, "m")))).ok).toBe(true);
  });
});

describe("a public key is parsed strictly", () => {
  it("and only its four members are kept", () => {
    expect(parsePublicJwk({ ...AGENT_JWK, kid: "a", use: "enc" })).toEqual({ ok: true, jwk: AGENT_JWK });
    expect(pickPublicPart(CA_JWK)).toEqual(caPublic);
  });

  it.each<[string, unknown, string]>([
    ["null", null, "jwk_malformed"],
    ["a text", "key", "jwk_malformed"],
    ["a private key", CA_JWK, "jwk_private"],
    ["a symmetric key", { kty: "oct", k: "AAAA" }, "jwk_private"],
    ["another curve", { ...AGENT_JWK, crv: "P-384" }, "jwk_not_p256"],
    ["secp256k1", { ...AGENT_JWK, crv: "secp256k1" }, "jwk_not_p256"],
    ["another type", { ...AGENT_JWK, kty: "RSA" }, "jwk_not_p256"],
    ["no y", { kty: "EC", crv: "P-256", x: AGENT_JWK.x }, "jwk_malformed"],
    ["an x of 31 bytes", { ...AGENT_JWK, x: "A".repeat(42) }, "jwk_malformed"],
    ["an x of 33 bytes", { ...AGENT_JWK, x: "A".repeat(44) }, "jwk_malformed"],
    ["a padded x", { ...AGENT_JWK, x: `${AGENT_JWK.x}=` }, "jwk_malformed"],
  ])("%s is refused", (_name, value, reason) => {
    expect(parsePublicJwk(value)).toEqual({ ok: false, reason });
  });
});

describe("only usable keys of a fetched set are imported", () => {
  it.each<[string, Record<string, unknown>]>([
    ["without kid", { kid: undefined }],
    ["with an empty kid", { kid: "" }],
    ["for encryption", { use: "enc" }],
    ["without use", { use: undefined }],
    ["for another algorithm", { alg: "ES384" }],
    ["without alg", { alg: undefined }],
    ["of another curve", { crv: "P-384" }],
    ["with its private member", { d: CA_JWK.d }],
    ["off the curve", { y: OTHER_JWK.y }],
    ["whose operations exclude verify", { key_ops: ["sign"] }],
  ])("and none %s", async (_name, change) => {
    const entry = { ...(await toPublishedJwk(CA_JWK)), ...change };
    const good = await toPublishedJwk(AGENT_JWK);
    expect([...(await importJwks({ keys: [null, "x", entry, good] })).keys()]).toEqual([good.kid]);
  });

  it("and of two with one kid, the first", async () => {
    const first = await toPublishedJwk(CA_JWK);
    const keys = [first, { ...(await toPublishedJwk(OTHER_JWK)), kid: first.kid }];
    const { privateKey } = await importSigningKey(CA_JWK);
    const key = await findKey({ keys }, first.kid);
    expect(key && (await verifySignature(key, "m", encodeBase64(await sign(privateKey, "m")))).ok).toBe(true);
  });
});

describe("a key is found", () => {
  it("in a map, through a resolver, and in the set itself; an unknown key is found in none", async () => {
    const jwks = await toPublishedJwks([CA_JWK, OTHER_JWK]);
    const map = await importJwks(jwks);
    const kid = await computeJwkThumbprint(OTHER_JWK);
    for (const source of [map, (name: string) => map.get(name), async (name: string) => map.get(name), jwks]) {
      expect(await findKey(source, kid)).toBeDefined();
      expect(await findKey(source, "unknown")).toBeUndefined();
    }
  });

  it("unless its point is not on the curve", async () => {
    const kid = "off-curve";
    const keys = [{ ...OFF_CURVE_JWK, kid, use: "sig", alg: "ES256" }];
    expect(await findKey({ keys }, kid)).toBeUndefined();
  });
});
