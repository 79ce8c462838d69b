// The three signed texts, in the form of the service and of the AEA/P clients (PRF-2 to PRF-5).
import { beforeAll, describe, expect, it } from "vitest";
import { decodeBase64Any } from "../../src/core/encoding.ts";
import { generateKeyPair } from "../../src/protocol/ecdsa.ts";
import {
  buildProofText,
  digestRequest,
  formatProofTimestamp,
  type ProofStatement,
  parseProofTimestamp,
  signProof,
  verifyProof,
} from "../../src/protocol/proof.ts";
import { bytesChanged, CONSUMER, NOW, NOW_SECONDS, PROVIDER } from "./fixtures.ts";
import vectors from "./interop-vectors.json" with { type: "json" };

const ISO = "2026-07-21T12:00:00Z";
const NONCE = "00112233445566778899aabbccddeeff";
const DIGEST = "6252d87e2200fec7b5fda126450431177790054c5f7a207f11bfe5941b4bfad9";

const bound = { kind: "bound", timestamp: ISO, callerDid: CONSUMER, calleeDid: PROVIDER } as const;
const challenge = { kind: "challenge", timestamp: ISO, nonce: NONCE, agentDid: PROVIDER } as const;
const request = {
  kind: "request",
  timestamp: ISO,
  agentDid: PROVIDER,
  method: "GET",
  path: "/v1/payment-address",
  digest: DIGEST,
} as const;
const STATEMENTS: readonly ProofStatement[] = [bound, challenge, request];

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;
let pair: Pair;
beforeAll(async () => {
  pair = await generateKeyPair();
});

const check = (statement: ProofStatement, proof: string, now = NOW) =>
  verifyProof({ statement, proof, key: pair.publicKey, now });

describe("the three texts", () => {
  it.each([
    [bound, `${ISO}|${CONSUMER}|${PROVIDER}`],
    [challenge, `${NONCE}|${PROVIDER}|${ISO}`],
    [request, `aeap-req:v1|${ISO}|${PROVIDER}|GET|/v1/payment-address|${DIGEST}`],
  ] as const)("of the statement $kind is exact", (statement, text) => {
    expect(buildProofText(statement)).toEqual({ ok: true, text });
  });

  it("contain no separator within a part, so that no text can be read in two ways", () => {
    const split: ProofStatement[] = [
      { ...bound, timestamp: `${ISO}|` },
      { ...bound, callerDid: `${CONSUMER}|${PROVIDER}` },
      { ...bound, calleeDid: `|${PROVIDER}` },
      { ...challenge, nonce: `${NONCE}|${PROVIDER}` },
      { ...challenge, agentDid: `${PROVIDER}|${ISO}` },
      { ...request, method: "GET|" },
      { ...request, path: "/v1/a|b" },
      { ...request, digest: `${DIGEST}|` },
    ];
    for (const statement of split) expect(buildProofText(statement).ok).toBe(false);
  });

  it.each<[string, ProofStatement, string]>([
    ["a caller that is no DID", { ...bound, callerDid: "did:web:a" }, "did_malformed"],
    ["a callee in capitals", { ...bound, calleeDid: PROVIDER.toUpperCase() }, "did_malformed"],
    ["a nonce below 16 characters", { ...challenge, nonce: "short" }, "nonce_malformed"],
    ["a nonce with a space", { ...challenge, nonce: `${NONCE} ` }, "nonce_malformed"],
    ["a lower-case method", { ...request, method: "get" }, "method_malformed"],
    ["a path with a query", { ...request, path: "/v1/a?b=c" }, "path_malformed"],
    ["a path with a fragment", { ...request, path: "/v1/a#b" }, "path_malformed"],
    ["a path with a host", { ...request, path: "https://a/v1" }, "path_malformed"],
    ["a path with a line break", { ...request, path: "/v1/a\n" }, "path_malformed"],
    ["an upper-case digest", { ...request, digest: DIGEST.toUpperCase() }, "digest_malformed"],
    ["a timestamp in words", { ...bound, timestamp: "now" }, "timestamp_malformed"],
  ])("%s has no text", async (_name, statement, reason) => {
    expect(buildProofText(statement)).toEqual({ ok: false, reason });
    expect(await check(statement, "AAAA")).toEqual({ ok: false, reason });
    await expect(signProof(statement, pair.privateKey)).rejects.toThrow(reason);
  });
});

describe("a proof", () => {
  it.each(STATEMENTS)("verifies after signing: $kind", async (statement) => {
    const { proof, text } = await signProof(statement, pair.privateKey);
    expect(await check(statement, proof)).toEqual({
      ok: true,
      text,
      signedAt: NOW,
      r: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
  });

  it("verifies in raw base64url too", async () => {
    const { proof } = await signProof(request, pair.privateKey, "raw-base64url");
    expect((await check(request, proof)).ok).toBe(true);
  });

  it.each(STATEMENTS)("of one kind does not verify as another: $kind", async (statement) => {
    const { proof } = await signProof(statement, pair.privateKey);
    for (const other of STATEMENTS) expect((await check(other, proof)).ok).toBe(other === statement);
  });

  it("over another notation of the same instant fails: the header's own characters are signed", async () => {
    const { proof } = await signProof(bound, pair.privateKey);
    for (const timestamp of [String(NOW_SECONDS), "2026-07-21T12:00:00.000Z", "2026-07-21T12:00:00+00:00"]) {
      expect(await check({ ...bound, timestamp }, proof)).toEqual({ ok: false, reason: "signature_mismatch" });
    }
  });

  it("for another callee, caller, method, path or body fails", async () => {
    const [forBound, forRequest] = [await signProof(bound, pair.privateKey), await signProof(request, pair.privateKey)];
    const other = "did:aeap:33333333-3333-4333-8333-333333333333";
    const refused = [
      await check({ ...bound, calleeDid: other }, forBound.proof),
      await check({ ...bound, callerDid: other }, forBound.proof),
      await check({ ...bound, callerDid: PROVIDER, calleeDid: CONSUMER }, forBound.proof),
      await check({ ...request, agentDid: other }, forRequest.proof),
      await check({ ...request, method: "POST" }, forRequest.proof),
      await check({ ...request, path: "/v1/payment-address/" }, forRequest.proof),
      await check({ ...request, digest: DIGEST.replace("6", "7") }, forRequest.proof),
    ];
    for (const result of refused) expect(result).toEqual({ ok: false, reason: "signature_mismatch" });
  });

  it.each(STATEMENTS)("with any byte of its signature changed fails: $kind", async (statement) => {
    const { proof } = await signProof(statement, pair.privateKey);
    for (const changed of bytesChanged(proof)) {
      const result = await check(statement, changed);
      // `+` and `-`, `/` and `_` are one digit in two alphabets: the same signature in another notation.
      if (result.ok) expect(decodeBase64Any(changed)).toEqual(decodeBase64Any(proof));
    }
  });

  it.each(STATEMENTS)("over a text with any byte changed fails: $kind", async (statement) => {
    const { proof } = await signProof(statement, pair.privateKey);
    for (const [part, value] of Object.entries(statement)) {
      if (part === "kind") continue;
      for (const changed of bytesChanged(value)) {
        expect((await check({ ...statement, [part]: changed }, proof)).ok, `${part} ${changed}`).toBe(false);
      }
    }
  });
});

describe("the window is 30 seconds in each direction, inclusive", () => {
  it.each([String(NOW_SECONDS), ISO, "2026-07-21T14:00:00+02:00"])("for %s", async (timestamp) => {
    const statement = { ...bound, timestamp };
    const { proof } = await signProof(statement, pair.privateKey);
    for (const offset of [-30_000, -1, 0, 1, 30_000]) {
      expect((await check(statement, proof, NOW + offset)).ok, String(offset)).toBe(true);
    }
    expect(await check(statement, proof, NOW + 30_001)).toEqual({ ok: false, reason: "timestamp_too_old" });
    expect(await check(statement, proof, NOW - 30_001)).toEqual({ ok: false, reason: "timestamp_in_future" });
  });

  it("does not accept an old timestamp with a valid signature", async () => {
    const { proof } = await signProof({ ...bound, timestamp: "0" }, pair.privateKey);
    expect(await check({ ...bound, timestamp: "0" }, proof)).toEqual({ ok: false, reason: "timestamp_too_old" });
  });
});

describe("a timestamp", () => {
  it("of the SDK is in epoch seconds, rounded down", () => {
    expect(formatProofTimestamp(NOW + 999)).toBe(String(NOW_SECONDS));
  });

  it.each<[string, number]>([
    ["0", 0],
    [String(NOW_SECONDS), NOW],
    [ISO, NOW],
    ["2026-07-21T12:00:00.5Z", NOW + 500],
    ["2026-07-21T12:00:00.123Z", NOW + 123],
    ["2026-07-21T12:00:00.123456+00:00", NOW + 123],
    ["2026-07-21T17:30:00+05:30", NOW],
    ["2026-07-21T04:00:00-08:00", NOW],
    ["2028-02-29T00:00:00Z", Date.UTC(2028, 1, 29)],
  ])("%s is parsed", (text, instant) => {
    expect(parseProofTimestamp(text)).toBe(instant);
  });

  it.each([
    "",
    " ",
    "-1",
    "+1",
    "01",
    "1.5",
    "1e9",
    "0x10",
    "1234567890123",
    "٣٤",
    `${NOW_SECONDS} `,
    `${NOW_SECONDS}\n`,
    "2026-07-21",
    "2026-07-21T12:00Z",
    "2026-07-21T12:00:00",
    "2026-07-21 12:00:00Z",
    "2026-07-21t12:00:00z",
    "2026-07-21T12:00:00.Z",
    "2026-07-21T12:00:00,5Z",
    "2026-07-21T12:00:00+0000",
    "2026-07-21T12:00:00+24:00",
    "2026-07-21T12:00:00+00:60",
    "2026-02-30T00:00:00Z",
    "2027-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-07-21T24:00:00Z",
    "2026-07-21T12:60:00Z",
    "2026-07-21T12:00:60Z",
    "+002026-07-21T12:00:00Z",
    "Tue, 21 Jul 2026 12:00:00 GMT",
  ])("%j is refused", (text) => {
    expect(parseProofTimestamp(text)).toBeUndefined();
  });
});

describe("the digest of a request", () => {
  const digest = async (input: Parameters<typeof digestRequest>[0]) => {
    const result = await digestRequest(input);
    return result.ok ? result.digest : result.reason;
  };
  const EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

  it("of a GET covers the decoded pairs sorted by key, as public clients sign them", async () => {
    for (const vector of vectors.vectors) {
      if (vector.wire_query === undefined) continue;
      expect(await digest({ method: "GET", query: vector.wire_query })).toBe(vector.digest);
      expect(await digest({ method: "GET", query: `?${vector.wire_query}` })).toBe(vector.digest);
      expect(await digest({ method: "GET", query: new URLSearchParams(vector.wire_query) })).toBe(vector.digest);
    }
  });

  it("of any other method covers the raw bytes of the body", async () => {
    for (const vector of vectors.vectors) {
      if (vector.body === undefined) continue;
      expect(await digest({ method: "POST", body: vector.body })).toBe(vector.digest);
      expect(await digest({ method: "POST", body: new TextEncoder().encode(vector.body) })).toBe(vector.digest);
      expect(await digest({ method: "POST", body: new TextEncoder().encode(vector.body).buffer as ArrayBuffer })).toBe(
        vector.digest,
      );
      expect(await digest({ method: "POST", body: `${vector.body} ` })).not.toBe(vector.digest);
    }
  });

  it("of no query and no body is that of the empty text", async () => {
    for (const method of ["GET", "POST", "DELETE"]) expect(await digest({ method })).toBe(EMPTY);
    expect(await digest({ method: "GET", query: "", body: "ignored" })).toBe(EMPTY);
    expect(await digest({ method: "POST", query: "a=ignored" })).toBe(EMPTY);
  });

  it("reads + and %20 as a space, and keeps the order of pairs with one key", async () => {
    expect(await digest({ method: "GET", query: "a=b+c" })).toBe(await digest({ method: "GET", query: "a=b%20c" }));
    expect(await digest({ method: "GET", query: "b=0&a=2&a=1" })).toBe(
      await digest({
        method: "GET",
        query: [
          ["a", "2"],
          ["a", "1"],
          ["b", "0"],
        ],
      }),
    );
    expect(await digest({ method: "GET", query: "a=1&a=2" })).not.toBe(
      await digest({ method: "GET", query: "a=2&a=1" }),
    );
  });

  it.each(["a=1%26b%3D2", "a%3D1=2", "a%26b=1"])("of %s does not exist: two queries would share it", async (query) => {
    expect(await digest({ method: "GET", query })).toBe("query_ambiguous");
  });

  it("of a value with = exists, because no key can contain it", async () => {
    expect(await digest({ method: "GET", query: "cursor=abc%3D%3D" })).toMatch(/^[0-9a-f]{64}$/);
  });
});
