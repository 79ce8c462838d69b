// Certificates, documents and receipts must verify with any JOSE library and only the published JWKS, and proofs with any ECDSA library.
// jsonwebtoken, jose and node:crypto represent these.
import { createHash, createPrivateKey, createPublicKey, type JsonWebKey, sign, verify } from "node:crypto";
import { compactVerify, createLocalJWKSet, flattenedVerify, jwtVerify } from "jose";
import jsonwebtoken from "jsonwebtoken";
import { beforeAll, describe, expect, it } from "vitest";
import { type AidDocument, signAid, toAidJwt } from "../../src/protocol/aid.ts";
import { toCanonicalJson } from "../../src/protocol/canonical-json.ts";
import { issueCertificate } from "../../src/protocol/certificate.ts";
import { importPrivateKeyPem, verifySignature } from "../../src/protocol/ecdsa.ts";
import { type PublishedJwks, parsePublicJwk, toPublishedJwks } from "../../src/protocol/jwks.ts";
import {
  buildProofText,
  digestRequest,
  type ProofStatement,
  signProof,
  verifyProof,
} from "../../src/protocol/proof.ts";
import { signReceipt } from "../../src/protocol/receipt.ts";
import {
  aidContent,
  CA_JWK,
  CONSUMER,
  caKey,
  certificateClaims,
  ISSUER,
  NOW,
  OTHER_JWK,
  PROVIDER,
  receiptClaims,
} from "./fixtures.ts";
import interop from "./interop-vectors.json" with { type: "json" };

let jwks: PublishedJwks;
let document: AidDocument;
const tokens: { name: string; typ: string; token: string; content: object }[] = [];

beforeAll(async () => {
  jwks = await toPublishedJwks([OTHER_JWK, CA_JWK]);
  const key = await caKey();
  const { proof } = await signAid(aidContent(), key);
  document = { ...aidContent(), proof, live: { status: "ACTIVE", environment: "sandbox", as_of: "now" } };
  tokens.push(
    {
      name: "certificate",
      typ: "aeap-cert+jwt",
      token: await issueCertificate(certificateClaims(), key),
      content: certificateClaims(),
    },
    { name: "document", typ: "aeap-aid+jws", token: toAidJwt(document), content: aidContent() },
    {
      name: "receipt",
      typ: "aeap-receipt+jwt",
      token: await signReceipt(receiptClaims(), key),
      content: receiptClaims(),
    },
  );
});

describe("with only the published JWKS", () => {
  it("jsonwebtoken verifies a certificate, a document and a receipt", () => {
    for (const { token, content } of tokens) {
      const kid = jsonwebtoken.decode(token, { complete: true })?.header.kid;
      const jwk = jwks.keys.find((key) => key.kid === kid);
      const key = createPublicKey({ key: jwk as unknown as JsonWebKey, format: "jwk" });
      const options = { algorithms: ["ES256" as const], clockTimestamp: NOW / 1_000 };
      expect(jsonwebtoken.verify(token, key, options)).toEqual(content);
      const broken = `${token.slice(0, -10)}AAAAAAAAAA`;
      expect(() => jsonwebtoken.verify(broken, key, options)).toThrow();
    }
  });

  it("jose verifies a certificate, a document and a receipt", async () => {
    const keySet = createLocalJWKSet({ keys: jwks.keys.map((key) => ({ ...key })) });
    for (const { token, typ, content } of tokens) {
      const options = { algorithms: ["ES256"], typ, currentDate: new Date(NOW) };
      expect((await jwtVerify(token, keySet, options)).payload).toEqual(content);
      expect((await compactVerify(token, keySet)).protectedHeader.kid).toBe((await caKey()).kid);
    }
  });

  it("jose checks the issuer and the expiry of a certificate as the service does", async () => {
    const keySet = createLocalJWKSet({ keys: jwks.keys.map((key) => ({ ...key })) });
    const token = tokens[0]?.token ?? "";
    await jwtVerify(token, keySet, { issuer: ISSUER, subject: CONSUMER, currentDate: new Date(NOW) });
    const end = new Date(certificateClaims().exp * 1_000);
    await expect(jwtVerify(token, keySet, { currentDate: end })).rejects.toThrow();
  });

  it("jose verifies a document's detached proof (RFC 7515, appendix F)", async () => {
    const { proof, live: _live, ...content } = document;
    const [header, , signature] = (proof ?? "").split(".");
    const keySet = createLocalJWKSet({ keys: jwks.keys.map((key) => ({ ...key })) });
    const payload = Buffer.from(toCanonicalJson(content)).toString("base64url");
    const jws = { protected: header ?? "", payload, signature: signature ?? "" };
    expect((await flattenedVerify(jws, keySet)).protectedHeader?.typ).toBe("aeap-aid+jws");
  });
});

describe("the vectors of the public clients", () => {
  const jwk = parsePublicJwk(interop.public_jwk);
  const publicKey = createPublicKey(interop.private_key_pem);
  const ISO = "2026-07-21T12:00:00Z";
  const facilitate = { path: "/v1/facilitate", agentDid: PROVIDER, method: "POST" };
  const confirm = {
    path: "/v1/tasks/33333333-3333-4333-8333-333333333333/confirm",
    agentDid: CONSUMER,
    method: "POST",
  };
  const address = { path: "/v1/payment-address", agentDid: PROVIDER, method: "GET" };

  async function statementOf(vector: (typeof interop.vectors)[number]): Promise<ProofStatement> {
    switch (vector.name) {
      case "bound_proof":
        return { kind: "bound", timestamp: ISO, callerDid: CONSUMER, calleeDid: PROVIDER };
      case "challenge_response":
        return {
          kind: "challenge",
          timestamp: ISO,
          nonce: "00112233445566778899aabbccddeeff",
          agentDid: PROVIDER,
        };
      default: {
        const call = vector.name.endsWith("facilitate")
          ? facilitate
          : vector.name.endsWith("confirm")
            ? confirm
            : address;
        const digest = await digestRequest({
          method: call.method,
          query: vector.wire_query ?? "",
          body: vector.body ?? "",
        });
        if (!digest.ok) throw new Error(digest.reason);
        return { kind: "request", timestamp: ISO, ...call, digest: digest.digest };
      }
    }
  }

  it.each(interop.vectors)("$name: the text is the same, and its signature verifies", async (vector) => {
    if (!jwk.ok) throw new Error(jwk.reason);
    const statement = await statementOf(vector);
    expect(buildProofText(statement)).toEqual({ ok: true, text: vector.message });
    const proof = vector.proof_base64_der;
    expect((await verifyProof({ statement, proof, key: jwk.jwk, now: NOW })).ok).toBe(true);
    expect((await verifySignature(jwk.jwk, `${vector.message} `, proof)).ok).toBe(false);
  });

  it.each(interop.vectors)("$name: node:crypto verifies our signature", async (vector) => {
    const privateKey = await importPrivateKeyPem(interop.private_key_pem);
    const { proof, text } = await signProof(await statementOf(vector), privateKey);
    expect(verify("sha256", Buffer.from(text), publicKey, Buffer.from(proof, "base64"))).toBe(true);
    if (vector.canonical !== undefined) {
      expect(createHash("sha256").update(vector.canonical).digest("hex")).toBe(vector.digest);
    }
  });

  it.each(["der", "ieee-p1363"] as const)("we verify a signature by node:crypto as %s", async (dsaEncoding) => {
    if (!jwk.ok) throw new Error(jwk.reason);
    const key = createPrivateKey(interop.private_key_pem);
    for (const vector of interop.vectors) {
      const signature = sign("sha256", Buffer.from(vector.message), { key, dsaEncoding });
      for (const text of [signature.toString("base64"), signature.toString("base64url")]) {
        expect((await verifySignature(jwk.jwk, vector.message, text)).ok).toBe(true);
      }
    }
  });
});
