// A certificate is verified offline, with only the published keys (IDN-5 to IDN-9).
import { beforeAll, describe, expect, it } from "vitest";
import { CERTIFICATE_TYPE, issueCertificate, verifyCertificate } from "../../src/protocol/certificate.ts";
import { importJwks, toPublishedJwks } from "../../src/protocol/jwks.ts";
import { signProof, verifyProof } from "../../src/protocol/proof.ts";
import {
  AGENT_JWK,
  bytesChanged,
  CA_JWK,
  CONSUMER,
  caKey,
  certificateClaims,
  ISSUER,
  NOW,
  NOW_SECONDS,
  OFF_CURVE_JWK,
  OTHER_JWK,
  otherKey,
  PROVIDER,
  signAs,
  signPayload,
} from "./fixtures.ts";

const OPTIONS = { issuer: ISSUER, now: NOW };
let keys: Awaited<ReturnType<typeof importJwks>>;
let certificate: string;
let kid: string;

beforeAll(async () => {
  keys = await importJwks(await toPublishedJwks([CA_JWK]));
  certificate = await issueCertificate(certificateClaims(), await caKey());
  kid = (await caKey()).kid;
});

const verify = (jwt: unknown, options = {}) => verifyCertificate(jwt, keys, { ...OPTIONS, ...options });
const reasonFor = async (jwt: unknown, options = {}) => {
  const result = await verify(jwt, options);
  return result.ok ? "accepted" : result.reason;
};
const withHeader = async (change: Record<string, unknown>) =>
  signAs({ alg: "ES256", typ: CERTIFICATE_TYPE, kid, ...change }, certificateClaims(), await caKey());
const withClaims = (change: Record<string, unknown>) =>
  signPayload({ ...certificateClaims(), ...change }, CERTIFICATE_TYPE);
const withAgent = (change: Record<string, unknown>) => withClaims({ aeap: { ...certificateClaims().aeap, ...change } });

describe("a valid certificate", () => {
  it("is an ES256 JWT with exactly alg, typ and kid in its header", () => {
    const [header = ""] = certificate.split(".");
    expect(JSON.parse(atob(header))).toEqual({ alg: "ES256", typ: "aeap-cert+jwt", kid });
  });

  it("verifies with imported keys, with a resolver, and with the published set", async () => {
    const jwks = await toPublishedJwks([OTHER_JWK, CA_JWK]);
    for (const source of [keys, (name: string) => keys.get(name), jwks]) {
      const result = await verifyCertificate(certificate, source, OPTIONS);
      expect(result).toMatchObject({ ok: true, kid, claims: certificateClaims() });
    }
  });

  it("states whether the attestation was signed, or has an earlier version without this statement", async () => {
    const { attestation } = certificateClaims().aeap;
    for (const stated of [{}, { signed: true }, { signed: false }]) {
      const result = await verify(await withAgent({ attestation: { ...attestation, ...stated } }));
      expect(result.ok && result.claims.aeap.attestation).toEqual({ ...attestation, ...stated });
    }
    expect(await verify(await withAgent({ attestation: { ...attestation, signed: "true" } }))).toMatchObject({
      reason: "claims_malformed",
      claim: "aeap.attestation.signed",
    });
  });

  it("returns the agent's key, which verifies the agent's proofs", async () => {
    const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
    if (!("privateKey" in pair)) throw new Error("no pair");
    const { x = "", y = "" } = (await crypto.subtle.exportKey("jwk", pair.publicKey)) as { x?: string; y?: string };
    const claims = { ...certificateClaims(), cnf: { jwk: { kty: "EC", crv: "P-256", x, y } as const } };
    const result = await verify(await issueCertificate(claims, await caKey()));
    if (!result.ok) throw new Error(result.reason);
    const statement = {
      kind: "bound",
      timestamp: String(NOW_SECONDS),
      callerDid: CONSUMER,
      calleeDid: PROVIDER,
    } as const;
    const { proof } = await signProof(statement, pair.privateKey);
    expect((await verifyProof({ statement, proof, key: result.agentKey, now: NOW })).ok).toBe(true);
  });

  it("keeps roles, tiers and members that a later version adds (IDN-9)", async () => {
    const jwt = await withAgent({ economic_role: "BROKER", cert_tier: "TIER_9", later: { added: true } });
    expect(await verify(jwt)).toMatchObject({ ok: true, claims: { aeap: { economic_role: "BROKER" } } });
  });
});

describe("a certificate with any byte changed fails verification", () => {
  it("in header, payload, signature and dots", async () => {
    for (const changed of bytesChanged(certificate)) expect((await verify(changed)).ok, changed).toBe(false);
  });

  it("in the unused bits of its last character", async () => {
    const last = certificate.at(-1) ?? "";
    for (const other of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") {
      if (other !== last) expect((await verify(certificate.slice(0, -1) + other)).ok).toBe(false);
    }
  });
});

describe("a text that is not a certificate is malformed", () => {
  it.each<[string, (jwt: string) => unknown]>([
    ["nothing", () => undefined],
    ["an object", () => ({})],
    ["an empty text", () => ""],
    ["two segments", (jwt) => jwt.split(".").slice(0, 2).join(".")],
    ["four segments", (jwt) => `${jwt}.AAAA`],
    ["padding", (jwt) => `${jwt}==`],
    ["white space around", (jwt) => ` ${jwt}`],
    ["a line break after", (jwt) => `${jwt}\n`],
    ["a header that is no JSON", (jwt) => jwt.replace(/^[^.]+/, "AAAA")],
    ["a header that is an array", (jwt) => jwt.replace(/^[^.]+/, "W10")],
    ["a megabyte", (jwt) => jwt + "A".repeat(1_000_000)],
  ])("%s", async (_name, change) => {
    expect(await reasonFor(change(certificate))).toBe("malformed");
  });
});

describe("the header decides only which published key verifies", () => {
  it.each<[string, Record<string, unknown>, string]>([
    ["alg none", { alg: "none" }, "algorithm_not_allowed"],
    ["alg HS256", { alg: "HS256" }, "algorithm_not_allowed"],
    ["alg ES384", { alg: "ES384" }, "algorithm_not_allowed"],
    ["alg es256", { alg: "es256" }, "algorithm_not_allowed"],
    ["no alg", { alg: undefined }, "algorithm_not_allowed"],
    ["typ JWT", { typ: "JWT" }, "type_not_allowed"],
    ["typ of a receipt", { typ: "aeap-receipt+jwt" }, "type_not_allowed"],
    ["typ with its prefix", { typ: "application/aeap-cert+jwt" }, "type_not_allowed"],
    ["typ in capitals", { typ: "AEAP-CERT+JWT" }, "type_not_allowed"],
    ["no typ", { typ: undefined }, "type_not_allowed"],
    ["an embedded key", { jwk: OTHER_JWK }, "header_not_allowed"],
    ["a key's address", { jku: "https://evil.example/jwks" }, "header_not_allowed"],
    ["a chain's address", { x5u: "https://evil.example/x5u" }, "header_not_allowed"],
    ["a chain", { x5c: ["AAAA"] }, "header_not_allowed"],
    ["a critical extension", { crit: ["exp"], exp: 1 }, "header_not_allowed"],
    ["an unencoded payload", { b64: false, crit: ["b64"] }, "header_not_allowed"],
    ["no kid", { kid: undefined }, "key_id_missing"],
    ["a kid that is no text", { kid: 1 }, "key_id_missing"],
    ["an empty kid", { kid: "" }, "key_id_missing"],
    ["an unknown kid", { kid: "unknown" }, "key_unknown"],
    ["a kid that names a member of every object", { kid: "__proto__" }, "key_unknown"],
  ])("%s", async (_name, change, reason) => {
    expect(await reasonFor(await withHeader(change))).toBe(reason);
  });

  it("a stranger's signature with the CA's kid fails", async () => {
    const header = { alg: "ES256", typ: CERTIFICATE_TYPE, kid };
    expect(await reasonFor(await signAs(header, certificateClaims(), await otherKey()))).toBe("signature_invalid");
  });

  it("a certificate by a key that is not published is refused", async () => {
    expect(await reasonFor(await issueCertificate(certificateClaims(), await otherKey()))).toBe("key_unknown");
  });

  it("a key that is published for another use does not verify", async () => {
    const { keys: published } = await toPublishedJwks([CA_JWK]);
    for (const change of [{ use: "enc" }, { alg: "ES384" }, { crv: "P-384" }]) {
      const jwks = { keys: published.map((key) => ({ ...key, ...change })) };
      expect(await verifyCertificate(certificate, jwks, OPTIONS)).toEqual({ ok: false, reason: "key_unknown" });
    }
  });

  it("a resolver that cannot fetch the set rejects, instead of refusing the certificate", async () => {
    const unreachable = () => Promise.reject(new Error("unreachable"));
    await expect(verifyCertificate(certificate, unreachable, OPTIONS)).rejects.toThrow("unreachable");
  });
});

describe("claims are checked after the signature", () => {
  it.each<[string, Record<string, unknown>, string]>([
    ["another issuer", { iss: "https://other.example" }, "issuer_mismatch"],
    ["the issuer with a slash", { iss: `${ISSUER}/` }, "issuer_mismatch"],
    ["another subject than aeap.agent_id", { sub: PROVIDER }, "subject_mismatch"],
    ["a private key in cnf", { cnf: { jwk: OTHER_JWK } }, "agent_key_private"],
    ["a point off the curve in cnf", { cnf: { jwk: OFF_CURVE_JWK } }, "agent_key_invalid"],
    ["another curve in cnf", { cnf: { jwk: { ...AGENT_JWK, crv: "P-384" } } }, "agent_key_invalid"],
    ["a symmetric key in cnf", { cnf: { jwk: { kty: "oct", k: "AAAA" } } }, "agent_key_private"],
  ])("%s", async (_name, change, reason) => {
    expect(await reasonFor(await withClaims(change))).toBe(reason);
  });

  it("a subject that is not a DID", async () => {
    const aeap = { ...certificateClaims().aeap, agent_id: "agent" };
    expect(await reasonFor(await withClaims({ sub: "agent", aeap }))).toBe("subject_mismatch");
  });

  it.each(["iss", "sub", "jti", "iat", "nbf", "exp", "cnf", "status", "aeap"])("without %s", async (claim) => {
    const result = await verify(await withClaims({ [claim]: undefined }));
    expect(result).toMatchObject({ ok: false, reason: "claims_malformed" });
    expect(!result.ok && result.claim?.split(".")[0]).toBe(claim);
  });

  it.each(Object.keys(certificateClaims().aeap))("without aeap.%s", async (claim) => {
    const result = await verify(await withAgent({ [claim]: undefined }));
    expect(result).toMatchObject({ ok: false, reason: "claims_malformed" });
    expect(!result.ok && result.claim?.startsWith(`aeap.${claim}`)).toBe(true);
  });

  it.each<[string, Record<string, unknown>]>([
    ["exp as text", { exp: String(NOW_SECONDS + 60) }],
    ["exp null, which is no end", { exp: null }],
    ["an array as sub", { sub: [CONSUMER] }],
    ["another version", { aeap: { ...certificateClaims().aeap, version: "2" } }],
    ["actions that are no list", { aeap: { ...certificateClaims().aeap, authorized_actions: "purchase" } }],
    ["a negative status index", { status: { status_list: { idx: -1, uri: ISSUER } } }],
  ])("%s is malformed", async (_name, change) => {
    expect(await reasonFor(await withClaims(change))).toBe("claims_malformed");
  });

  it.each([[[]], ["text"], [null], [1]])("a payload that is not an object (%j)", async (payload) => {
    expect(await reasonFor(await signPayload(payload, CERTIFICATE_TYPE))).toBe("payload_malformed");
  });
});

describe("time", () => {
  const { nbf, exp } = certificateClaims();

  it("accepts from nbf on and refuses from exp on (RFC 7519)", async () => {
    expect(await reasonFor(certificate, { now: nbf * 1_000 - 1 })).toBe("not_yet_valid");
    expect(await reasonFor(certificate, { now: nbf * 1_000 })).toBe("accepted");
    expect(await reasonFor(certificate, { now: exp * 1_000 - 1 })).toBe("accepted");
    expect(await reasonFor(certificate, { now: exp * 1_000 })).toBe("expired");
  });

  it("allows the caller's tolerance at both ends", async () => {
    const tolerance = { clockToleranceSeconds: 5 };
    expect(await reasonFor(certificate, { now: nbf * 1_000 - 5_000, ...tolerance })).toBe("accepted");
    expect(await reasonFor(certificate, { now: nbf * 1_000 - 5_001, ...tolerance })).toBe("not_yet_valid");
    expect(await reasonFor(certificate, { now: exp * 1_000 + 4_999, ...tolerance })).toBe("accepted");
    expect(await reasonFor(certificate, { now: exp * 1_000 + 5_000, ...tolerance })).toBe("expired");
  });
});

describe("a certificate that no verifier would accept is not issued", () => {
  it.each<[string, Record<string, unknown>]>([
    ["sub and agent_id differ", { sub: PROVIDER }],
    ["cnf holds a private key", { cnf: { jwk: OTHER_JWK } }],
    ["a claim is missing", { jti: "" }],
  ])("%s", async (_name, change) => {
    const claims = { ...certificateClaims(), ...change };
    await expect(issueCertificate(claims, await caKey())).rejects.toThrow(TypeError);
  });
});
