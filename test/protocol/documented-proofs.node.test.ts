// The code in docs/proofs.md signs so that the service verifies it (PRF-3), and verifies the service's hashes and signatures (EVT-12, EVT-13).
import { generateKeyPairSync } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { exportJWK } from "jose";
import { expect, it } from "vitest";
import { signActivityHead } from "../../src/protocol/activity-head.ts";
import { digestRequest, verifyProof } from "../../src/protocol/proof.ts";
import { computeNextHash, FIRST_HASH } from "../../src/protocol/running-hash.ts";

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

it.each(REQUESTS)("the digest of %s %s equals the service's", async (method, query, body) => {
  const expected = await digestRequest({ method, query, body: body ?? "" });
  expect(expected).toEqual({ ok: true, digest: printed.digest(method, query, body) });
});

it.each(REQUESTS)("the headers of %s %s verify", async (method, query, body) => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const did = "did:aeap:3fe5def0-eede-43db-aebd-305dbbc817ae";
  const signer = { did, certificate: "a.b.c", privateKey: pem };
  const headers = printed.agentHeaders(signer, method, `https://service.test/v1/tasks${query}`, body);
  const { "AEAP-Timestamp": timestamp = "", "AEAP-Proof": proof = "" } = headers;
  const digest = await digestRequest({ method, query, body: body ?? "" });
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

it("names each type of document that the service signs", () => {
  const folder = "src/protocol";
  const sources = readdirSync(folder).map((file) => readFileSync(`${folder}/${file}`, "utf8"));
  const signed = sources
    .flatMap((text) => [...text.matchAll(/^export const \w+_TYPE = "(.*)";$/gm)])
    .map(([, type]) => type);
  const named = [...page.matchAll(/^\|[^|]+\| `([\w-]+\+\w+)` \|/gm)].map(([, type]) => type);
  expect(named.sort()).toEqual(signed.sort());
});

type Entry = { readonly seq: number; readonly subject: string; readonly changes?: object };
type PrintedLog = {
  verifyLog: (entries: readonly Entry[], heads: readonly { jws: string }[], by: object) => Promise<string>;
};

it("verifies an activity log, and detects an edited entry, a missing one and a foreign head", async () => {
  const found = /```js\n(import \{ createHash \} from[\s\S]*?)```/.exec(page)?.[1] ?? "";
  const code = found.replace('from "jose"', `from "${import.meta.resolve("jose")}"`);
  const url = `data:text/javascript,${encodeURIComponent(code)}`;
  const { verifyLog } = (await import(/* @vite-ignore */ url)) as PrintedLog;
  const entries: Entry[] = [
    { seq: 1, subject: "ü" },
    { subject: "b", seq: 2, changes: { z: { from: null, to: [1, 0.5] }, a: { to: "x" } } },
    { seq: 3, subject: "c" },
  ];
  const hashes = [FIRST_HASH];
  for (const entry of entries) hashes.push(await computeNextHash(hashes.at(-1) ?? "", entry));
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const { privateKey, publicKey } = (await crypto.subtle.generateKey(algorithm, true, ["sign"])) as CryptoKeyPair;
  const claims = { iss: "https://service.test", sub: "plt_1", seq: 2, hash: hashes[2] ?? "", iat: 1 };
  const head = async (sub: string) => ({ jws: await signActivityHead({ ...claims, sub }, { kid: "k", privateKey }) });
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: "k", alg: "ES256" }] };
  const by = { issuer: "https://service.test", platformId: "plt_1", jwks };
  expect(await verifyLog(entries, [await head("plt_1")], by)).toBe(hashes[3]);
  const edited = entries.map((entry) => (entry.seq === 1 ? { ...entry, subject: "u" } : entry));
  await expect(verifyLog(edited, [await head("plt_1")], by)).rejects.toThrow("not what was signed");
  const removed = entries.filter(({ seq }) => seq !== 2);
  await expect(verifyLog(removed, [await head("plt_1")], by)).rejects.toThrow("entry 2 is missing");
  await expect(verifyLog(entries, [await head("plt_2")], by)).rejects.toThrow();
});
