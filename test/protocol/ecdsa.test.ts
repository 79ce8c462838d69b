// ECDSA P-256 with SHA-256; DER or raw; base64 or base64url, padded or not; low-S is not required (PRF-5). The edge cases are those of the Wycheproof
// P-256 vectors, in both forms.
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { encodeBase64, encodeBase64Url, encodeHex } from "../../src/core/encoding.ts";
import {
  decodeDer,
  encodeDer,
  exportPrivateKeyPem,
  exportPublicJwk,
  generateKeyPair,
  importPrivateKeyPem,
  P256_ORDER,
  parseSignature,
  sign,
  signToText,
  verifySignature,
} from "../../src/protocol/ecdsa.ts";
import { importPublicJwk, type PublicJwk } from "../../src/protocol/jwks.ts";
import { runs } from "../support/scale.ts";
import { OFF_CURVE_JWK, OTHER_JWK } from "./fixtures.ts";

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;
const MESSAGE = "a text to sign, with é and 😀";
const N = P256_ORDER;
let pair: Pair;
let raw: Uint8Array<ArrayBuffer>;

beforeAll(async () => {
  pair = await generateKeyPair();
  raw = await sign(pair.privateKey, MESSAGE);
});

describe("a genuine signature verifies", () => {
  it("as DER and as raw bytes, in both alphabets, padded or not", async () => {
    const texts = [raw, encodeDer(raw)].flatMap((bytes) => {
      const [standard, url] = [encodeBase64(bytes), encodeBase64Url(bytes)];
      return [standard, standard.replaceAll("=", ""), url, url.padEnd(standard.length, "=")];
    });
    for (const text of texts) {
      expect(await verifySignature(pair.publicKey, MESSAGE, text)).toEqual({
        ok: true,
        r: encodeHex(raw.subarray(0, 32)),
      });
    }
  });

  it("with a JWK and with an imported key", async () => {
    const jwk = await exportPublicJwk(pair.publicKey);
    expect((await verifySignature(jwk, MESSAGE, encodeBase64(raw))).ok).toBe(true);
  });

  it("in both forms of signToText: DER in padded base64, and raw in base64url", async () => {
    const der = await signToText(pair.privateKey, MESSAGE);
    const compact = await signToText(pair.privateKey, MESSAGE, "raw-base64url");
    expect(der).toMatch(/^ME[A-Za-z0-9+/]+={0,2}$/);
    expect(compact).toMatch(/^[A-Za-z0-9_-]{86}$/);
    for (const text of [der, compact]) expect((await verifySignature(pair.publicKey, MESSAGE, text)).ok).toBe(true);
  });

  it("also with its mirrored s, and both have the same r", async () => {
    const mirrored = Uint8Array.from([...raw.subarray(0, 32), ...bytes32(N - number(raw.subarray(32)))]);
    const [one, two] = await Promise.all(
      [raw, mirrored].map((bytes) => verifySignature(pair.publicKey, MESSAGE, encodeBase64(encodeDer(bytes)))),
    );
    expect(one?.ok).toBe(true);
    expect(two).toEqual(one);
  });

  it("over bytes and over the text of these bytes", async () => {
    const bytes = new TextEncoder().encode(MESSAGE);
    expect((await verifySignature(pair.publicKey, bytes, encodeBase64(raw))).ok).toBe(true);
  });
});

// Made by choosing r and s and deriving the key from them: random signatures never have such numbers.
const EXTREMES: readonly [name: string, r: bigint, s: bigint, x: string, y: string][] = [
  [
    "tiny r and s",
    5n,
    1n,
    "IP0-Yv3hKkNVUnrz--iK9Ftu177WGBez97Llug8o5Yo",
    "eY1hZpWHlfV4H21X-pgjrDM3hleZcdDYMPh6uX_G9I0",
  ],
  [
    "r and s just below n",
    N - 2n,
    N - 1n,
    "SFEABBjyjEQycjP0VVXkBefkckZkEe5nRZScfZkLuFY",
    "P-ywAUoCc4J5i9IL2xDGmP9HEUBpfAJk39pWMiy1MK8",
  ],
  [
    "DER of exactly 64 bytes, which is not mistaken for raw",
    0x1111111111111111111111111111111111111111111111111111111113n,
    0x2222222222222222222222222222222222222222222222222222222222n,
    "RdumBqKTzR4roGc5DiIoRHscV66B8G1U-7aM6I_zHbs",
    "4ZkCBQD0JO9ZOXj4qQtB9OFkkT8xP6Ll5DUyZiPh0Jw",
  ],
  [
    "raw bytes that also read as DER",
    0x303e021d11111111111111111111111111111111111111111111111111111112n,
    0x00021d2222222222222222222222222222222222222222222222222222222222n,
    "ljEmTeGqH9ptS0Ak6k0mnckYCWyOxr6D9sggzH12Pvk",
    "deNiUhXHF41AuVEaNY1kDUI2zSoq8kWXGifoRGk-YRM",
  ],
];

describe("an unusual signature verifies", () => {
  it.each(EXTREMES)("%s", async (_name, r, s, x, y) => {
    const key: PublicJwk = { kty: "EC", crv: "P-256", x, y };
    const bytes = Uint8Array.from([...bytes32(r), ...bytes32(s)]);
    const expected = { ok: true, r: encodeHex(bytes32(r)) };
    for (const form of [bytes, encodeDer(bytes)]) {
      expect(await verifySignature(key, "sixty-four bytes of DER", encodeBase64(form))).toEqual(expected);
    }
  });
});

describe("r and s outside [1, n-1] are refused in either form", () => {
  const ok = 5n;
  it.each([
    ["r = 0", 0n, ok],
    ["s = 0", ok, 0n],
    ["both 0", 0n, 0n],
    ["r = n", N, ok],
    ["s = n", ok, N],
    ["r = n + 1", N + 1n, ok],
    ["s = n + 1", ok, N + 1n],
    ["r = 2^256 - 1", (1n << 256n) - 1n, ok],
    ["s = 2^256 - 1", ok, (1n << 256n) - 1n],
  ])("%s", (_name, r, s) => {
    const bytes = Uint8Array.from([...bytes32(r), ...bytes32(s)]);
    for (const form of [bytes, encodeDer(bytes)]) {
      expect(parseSignature(encodeBase64(form))).toEqual({ ok: false, reason: "signature_range" });
    }
  });

  it("r + n, which equals r modulo the order, is not accepted as r", () => {
    const der = Uint8Array.from(sequence(integer(5n + N), integer(5n)));
    expect(parseSignature(encodeBase64(der)).ok).toBe(false);
  });
});

describe("DER that a strict reader refuses", () => {
  const r = integer(0x1234n);
  const s = integer(0x5678n);
  const body = [...r, ...s];
  it.each<[string, number[]]>([
    ["nothing", []],
    ["a lone tag", [0x30]],
    ["an empty sequence", [0x30, 0x00]],
    ["another tag than SEQUENCE", [0x31, body.length, ...body]],
    ["a trailing byte after the sequence", [0x30, body.length, ...body, 0x00]],
    ["a trailing byte inside the sequence", [0x30, body.length + 1, ...body, 0x00]],
    ["a trailing NULL inside the sequence", [0x30, body.length + 2, ...body, 0x05, 0x00]],
    ["a sequence length too small", [0x30, body.length - 1, ...body]],
    ["a sequence length too large", [0x30, body.length + 1, ...body]],
    ["BER: a long-form sequence length", [0x30, 0x81, body.length, ...body]],
    ["BER: a two-byte sequence length", [0x30, 0x82, 0x00, body.length, ...body]],
    ["BER: an indefinite length", [0x30, 0x80, ...body, 0x00, 0x00]],
    ["BER: a long-form integer length", [0x30, body.length + 1, 0x02, 0x81, 0x02, 0x12, 0x34, ...s]],
    ["one integer only", [0x30, r.length, ...r]],
    ["three integers", [0x30, body.length + s.length, ...body, ...s]],
    ["another tag than INTEGER", [0x30, body.length, 0x04, ...r.slice(1), ...s]],
    ["an integer without content", [0x30, s.length + 2, 0x02, 0x00, ...s]],
    ["an integer longer than the sequence", [0x30, body.length, 0x02, 0x20, ...r.slice(2), ...s]],
    ["a negative r", [0x30, 6, 0x02, 0x01, 0xff, 0x02, 0x01, 0x01]],
    ["a negative s", [0x30, 6, 0x02, 0x01, 0x01, 0x02, 0x01, 0x80]],
    ["a needless leading zero", [0x30, 7, 0x02, 0x02, 0x00, 0x01, 0x02, 0x01, 0x01]],
    ["zero on two bytes", [0x30, 7, 0x02, 0x02, 0x00, 0x00, 0x02, 0x01, 0x01]],
    ["an integer of 33 significant bytes", sequence([0x02, 33, 0x01, ...new Array<number>(32).fill(0)], s)],
    ["an integer of 34 bytes", sequence([0x02, 34, 0x00, 0x80, ...new Array<number>(32).fill(0)], s)],
  ])("%s", (_name, der) => {
    const bytes = Uint8Array.from(der);
    expect(decodeDer(bytes)).toBeUndefined();
    expect(parseSignature(encodeBase64(bytes))).toMatchObject({ ok: false, reason: "signature_form" });
  });

  it("the sequence from which those were made is accepted", () => {
    const bytes = decodeDer(Uint8Array.from([0x30, body.length, ...body]));
    expect(bytes && [number(bytes.subarray(0, 32)), number(bytes.subarray(32))]).toEqual([0x1234n, 0x5678n]);
  });

  it("DER of any r and s decodes to its raw form, and only from its own encoding", () => {
    fc.assert(
      fc.property(fc.bigInt(1n, N - 1n), fc.bigInt(1n, N - 1n), (r, s) => {
        const raw = Uint8Array.from([...bytes32(r), ...bytes32(s)]);
        expect(decodeDer(encodeDer(raw))).toEqual(raw);
      }),
      runs(),
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        const raw = decodeDer(bytes);
        if (raw !== undefined) expect(encodeDer(raw)).toEqual(bytes);
      }),
      runs(),
    );
  });

  it("an encoder accepts only 64 bytes", () => {
    expect(() => encodeDer(new Uint8Array(63))).toThrow(RangeError);
  });
});

describe("raw signatures have exactly 64 bytes", () => {
  it.each([0, 1, 32, 62, 63, 65, 66, 72])("%i bytes are refused", (length) => {
    const bytes = new Uint8Array(length).fill(1);
    expect(parseSignature(encodeBase64(bytes))).toEqual({ ok: false, reason: "signature_form" });
  });

  it("a signature with a byte missing or added at either end fails", async () => {
    for (const bytes of [raw.slice(1), raw.slice(0, 63), Uint8Array.of(0, ...raw), Uint8Array.of(...raw, 0)]) {
      expect(await verifySignature(pair.publicKey, MESSAGE, encodeBase64(bytes))).toEqual({
        ok: false,
        reason: "signature_form",
      });
    }
  });
});

describe("anything but this key's signature over this message is refused without an exception", () => {
  it("another message", async () => {
    const text = encodeBase64(raw);
    expect(await verifySignature(pair.publicKey, `${MESSAGE} `, text)).toEqual(mismatch);
  });

  it("another key", async () => {
    const other = await importPublicJwk(OTHER_JWK);
    expect(await verifySignature(other, MESSAGE, encodeBase64(raw))).toEqual(mismatch);
  });

  it("a key off the curve, of another curve, or with a private member", async () => {
    const bad = [OFF_CURVE_JWK, { ...OFF_CURVE_JWK, crv: "P-384" }, OTHER_JWK] as PublicJwk[];
    for (const key of bad) {
      expect(await verifySignature(key, MESSAGE, encodeBase64(raw))).toEqual({ ok: false, reason: "key_invalid" });
    }
  });

  it("exchanged r and s", async () => {
    const swapped = Uint8Array.from([...raw.subarray(32), ...raw.subarray(0, 32)]);
    expect(await verifySignature(pair.publicKey, MESSAGE, encodeBase64(swapped))).toEqual(mismatch);
  });

  it("a change of any bit of the signature", async () => {
    for (let bit = 0; bit < 512; bit++) {
      const changed = raw.slice();
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect((await verifySignature(pair.publicKey, MESSAGE, encodeBase64(changed))).ok).toBe(false);
    }
  });

  it("any other text", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string({ unit: "binary" }), fc.base64String()), async (text) => {
        expect((await verifySignature(pair.publicKey, MESSAGE, text)).ok).toBe(false);
      }),
      runs(),
    );
  });

  it.each(["", "=", "====", "not base64!", `${"A".repeat(86)}==\n`, "A".repeat(100_000)])(
    "the text %#",
    async (text) => {
      expect(await verifySignature(pair.publicKey, MESSAGE, text)).toMatchObject({
        ok: false,
        reason: expect.stringMatching(/^signature_(encoding|form)$/) as string,
      });
    },
  );
});

describe("private keys", () => {
  it("are exported as PKCS#8 PEM and imported as the same key", async () => {
    const pem = await exportPrivateKeyPem(pair.privateKey);
    expect(pem).toMatch(/^-----BEGIN PRIVATE KEY-----\n[A-Za-z0-9+/=\n]+-----END PRIVATE KEY-----\n?$/);
    const back = await importPrivateKeyPem(pem);
    expect(await exportPublicJwk(back)).toEqual(await exportPublicJwk(pair.publicKey));
    expect((await verifySignature(pair.publicKey, "m", await signToText(back, "m"))).ok).toBe(true);
  });

  it("have a public part without the private one", async () => {
    expect(Object.keys(await exportPublicJwk(pair.privateKey)).sort()).toEqual(["crv", "kty", "x", "y"]);
  });

  it("that are not PEM are refused", async () => {
    await expect(importPrivateKeyPem("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----")).rejects.toThrow();
    await expect(importPrivateKeyPem("nothing")).rejects.toThrow();
  });
});

const mismatch = { ok: false, reason: "signature_mismatch" };
const number = (bytes: Uint8Array): bigint => BigInt(`0x${encodeHex(bytes)}`);

function bytes32(value: bigint): Uint8Array {
  const hex = value.toString(16).padStart(64, "0");
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function integer(value: bigint): number[] {
  const hex = value.toString(16);
  const bytes = (hex.length % 2 ? `0${hex}` : hex).match(/../g)?.map((pair) => Number.parseInt(pair, 16)) ?? [];
  const content = (bytes[0] ?? 0) >= 0x80 ? [0, ...bytes] : bytes;
  return [0x02, content.length, ...content];
}

function sequence(...parts: number[][]): number[] {
  const body = parts.flat();
  return [0x30, body.length, ...body];
}
