// The code that docs/proofs.md prints signs as the service verifies (PRF-3).
import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { requestDigest, verifyProof } from "../../src/protocol/proof.ts";

type Signer = { did: string; certificate: string; privateKey: string };
type Printed = {
  digest: (method: string, query: string, body?: string) => string;
  agentHeaders: (signer: Signer, method: string, url: string, body?: string) => Record<string, string>;
};
const page = readFileSync("docs/proofs.md", "utf8");
const block = /```js\n(import \{ createHash[\s\S]*?)```/.exec(page)?.[1] ?? "";
const printed = (await import(/* @vite-ignore */ `data:text/javascript,${encodeURIComponent(block)}`)) as Printed;

const REQUESTS: [string, string, string | undefined][] = [
  ["GET", "", undefined],
  ["GET", "?b=2&a=1%202&b=1", undefined],
  ["HEAD", "", undefined],
  ["HEAD", "?b=2&a=1%202&b=1", undefined],
  ["POST", "?b=2", '{"a":1}'],
  ["POST", "", undefined],
  ["DELETE", "", undefined],
];

it.each(REQUESTS)("the digest of %s %s is the service's", async (method, query, body) => {
  const expected = await requestDigest({ method, query, body: body ?? "" });
  expect(expected).toEqual({ ok: true, digest: printed.digest(method, query, body) });
});

it.each(REQUESTS)("the headers of %s %s verify", async (method, query, body) => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const did = "did:aeap:3fe5def0-eede-43db-aebd-305dbbc817ae";
  const signer = { did, certificate: "a.b.c", privateKey: pem };
  const headers = printed.agentHeaders(signer, method, `https://service.test/v1/tasks${query}`, body);
  const { "AEAP-Timestamp": timestamp = "", "AEAP-Proof": proof = "" } = headers;
  const digest = await requestDigest({ method, query, body: body ?? "" });
  if (!digest.ok) throw new Error(digest.reason);
  const path = "/v1/tasks";
  const statement = { kind: "request", timestamp, agentDid: did, method, path, digest: digest.digest } as const;
  const key = await crypto.subtle.importKey(
    "spki",
    publicKey.export({ type: "spki", format: "der" }),
    { name: "ECDSA", namedCurve: "P-256" },
    true,
    ["verify"],
  );
  expect(await verifyProof({ statement, proof, key, now: Date.now() })).toMatchObject({ ok: true });
});
