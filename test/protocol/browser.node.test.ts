// The payer's half (CHN-2, CHN-8), and the check of the directory's feed against its head (DIR-14), run unchanged as in a browser: in a context
// without anything of Node.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { followFeed, signDirectoryHead } from "../../src/protocol/directory-head.ts";
import { importSigningKey, type PrivateJwk, pickPublicPart, toPublishedJwks } from "../../src/protocol/jwks.ts";
import { FIRST_HASH } from "../../src/protocol/running-hash.ts";
import { VECTORS } from "./payment-vectors.ts";

const PAYMENT = import.meta.resolve("./browser-context.ts");
const FEED = import.meta.resolve("./browser-feed.ts");

function run(url: string, input: unknown = null): unknown {
  const script = fileURLToPath(url);
  const args = ["--experimental-vm-modules", "--no-warnings", script];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: "utf8",
    input: JSON.stringify(input),
  });
  expect([status, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
}

test("the payer's half reproduces the published vectors", () => {
  expect(run(PAYMENT)).toEqual(
    VECTORS.map(({ settlement_key, nonce, typed_data, calldata }) => ({
      ...{ settlement_key, nonce, typed_data },
      settleWithAuthorization: calldata.settleWithAuthorization,
      salt: 66,
    })),
  );
});

test("a feed can be recomputed, and its head verified", async () => {
  const pair = (await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
    "sign",
    "verify",
  ])) as CryptoKeyPair;
  const exported = (await crypto.subtle.exportKey("jwk", pair.privateKey)) as PrivateJwk;
  const signing = await importSigningKey({ ...pickPublicPart(exported), d: exported.d });
  const jwks = await toPublishedJwks([pickPublicPart(exported)]);
  const records = [1, 2, 3].map((seq) => ({
    seq,
    did: `did:aeap:00000000-0000-4000-8000-00000000000${seq}`,
    change_type: "registered",
    occurred_at: `2026-11-21T09:30:00.00${seq}Z`,
  }));
  const issuer = "https://service.example";
  const place = await followFeed({ seq: 0, hash: FIRST_HASH }, records);
  if ("missing" in place) throw new Error("unreachable: no record is missing");
  const claims = { iss: issuer, environment: "sandbox", ...place, iat: 1_795_000_000 };
  const jws = await signDirectoryHead(claims, signing);
  const input = { records, jws, jwks, issuer };
  expect(run(FEED, input)).toEqual({ place, checked: { ok: true, claims, kid: signing.kid } });
  const [first, , third] = records;
  expect(run(FEED, { ...input, records: [first, third] })).toMatchObject({ place: { missing: 2 } });
  expect(run(FEED, { ...input, issuer: "https://other.example" })).toMatchObject({
    checked: { ok: false, reason: "issuer_mismatch" },
  });
});
