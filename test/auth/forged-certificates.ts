// Certificates that must never be accepted, each with its reason: forged by a stranger who holds everything public, or signed by the CA itself as
// something else or in error.
import { p384 } from "@noble/curves/nist";
import { secp256k1 } from "@noble/curves/secp256k1";
import { encodeBase64Url, encodeUtf8 } from "../../src/core/encoding.ts";
import type { CertificateClaims, CertificateFault } from "../../src/protocol/certificate.ts";
import { encodeDer, P256_ORDER } from "../../src/protocol/ecdsa.ts";
import { importSigningKey, type PublishedJwk, pickPublicPart, type SigningKey } from "../../src/protocol/jwks.ts";
import { OTHER_JWK } from "../protocol/fixtures.ts";
import type { Json } from "../support/world.ts";

/** The material of a forger: a certificate that verifies, the published key, other objects that the CA has signed; and the CA's own key. */
export type Forge = {
  readonly genuine: string;
  readonly claims: CertificateClaims;
  readonly caJwk: PublishedJwk;
  /** The published key as PEM. */
  readonly caPem: string;
  readonly ca: SigningKey;
  /** The id of the agent's key. */
  readonly agentKid: string;
  /** Objects of other kinds, signed by the CA. */
  readonly document: string;
  readonly statusList: string;
  readonly receipt: string;
};
type Sign = (input: Uint8Array<ArrayBuffer>) => Uint8Array | Promise<Uint8Array>;
export type Forgery = readonly [
  name: string,
  make: (forge: Forge) => Promise<string> | string,
  reason: CertificateFault,
];

const base64Url = (text: string): string => encodeBase64Url(encodeUtf8(text));
const json = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** A compact JWS of any texts. */
async function jws(header: unknown, payload: unknown, sign: Sign): Promise<string> {
  const input = `${base64Url(json(header))}.${base64Url(json(payload))}`;
  return `${input}.${encodeBase64Url(await sign(encodeUtf8(input)))}`;
}

const headerOf = ({ caJwk }: Forge, change: object = {}) => ({
  alg: "ES256",
  typ: "aeap-cert+jwt",
  kid: caJwk.kid,
  ...change,
});

// ---- Who signs -----------------------------------------------------------------------------------------------------------

type Signer = (forge: Forge) => Sign;
const byCa: Signer =
  ({ ca }) =>
  (input) =>
    ecdsa("SHA-256", ca.privateKey, input);
const byStranger: Signer = () => async (input) =>
  ecdsa("SHA-256", (await importSigningKey(OTHER_JWK)).privateKey, input);
const byNobody: Signer = () => () => new Uint8Array();
const byP384: Signer = () => async (input) => {
  const algorithm = { name: "ECDSA", namedCurve: "P-384" };
  const { privateKey } = (await crypto.subtle.generateKey(algorithm, false, ["sign"])) as CryptoKeyPair;
  return ecdsa("SHA-384", privateKey, input);
};
const bySecp256k1: Signer = () => async (input) => {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", input));
  return secp256k1.sign(digest, secp256k1.utils.randomPrivateKey()).toCompactRawBytes();
};
/** Uses the published key as the secret of a MAC. */
const bySecret =
  (secretOf: (forge: Forge) => string): Signer =>
  (forge) =>
  async (input) => {
    const secret = encodeUtf8(secretOf(forge));
    const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    return new Uint8Array(await crypto.subtle.sign("HMAC", key, input));
  };
/** The CA's signature in another form. */
const byCaAs =
  (change: (raw: Uint8Array) => Uint8Array): Signer =>
  (forge) =>
  async (input) =>
    change(await byCa(forge)(input));
const always =
  (r: bigint, s: bigint): Signer =>
  () =>
  () =>
    Uint8Array.from([...bytes32(r), ...bytes32(s)]);

async function ecdsa(hash: string, key: CryptoKey, input: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign({ name: "ECDSA", hash }, key, input));
}
export const bytes32 = (number: bigint): Uint8Array =>
  Uint8Array.from(number.toString(16).padStart(64, "0").match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

// ---- What is signed ------------------------------------------------------------------------------------------------------

/** Claims that a forger would want. */
const raised = ({ claims }: Forge): Json => ({ ...claims, aeap: { ...claims.aeap, cert_tier: "TIER_3" } });

const forged =
  (by: Signer, header: object | ((forge: Forge) => object) = {}) =>
  (forge: Forge) =>
    jws(headerOf(forge, typeof header === "function" ? header(forge) : header), raised(forge), by(forge));
/** Signed by the CA, with another header. */
const headed = (header: object | ((forge: Forge) => unknown)) => (forge: Forge) =>
  jws(typeof header === "function" ? header(forge) : headerOf(forge, header), forge.claims, byCa(forge));
/** Signed by the CA, with other claims. */
const claiming = (change: (claims: CertificateClaims) => unknown) => (forge: Forge) =>
  jws(headerOf(forge), change(forge.claims), byCa(forge));
const stating = (change: Json) => claiming((claims) => ({ ...claims, aeap: { ...claims.aeap, ...change } }));
const scoped = (change: Json) =>
  claiming((claims) => ({ ...claims, aeap: { ...claims.aeap, scope: { ...claims.aeap.scope, ...change } } }));
/** The genuine signature under another header. */
const reheaded = (header: (forge: Forge) => unknown) => (forge: Forge) => {
  const [, payload, signature] = forge.genuine.split(".");
  return `${base64Url(json(header(forge)))}.${payload}.${signature}`;
};
const cnf = (jwk: Json) => claiming((claims) => ({ ...claims, cnf: { jwk } }));

const coordinates = (point: Uint8Array, size: number) => ({
  x: encodeBase64Url(point.slice(1, 1 + size)),
  y: encodeBase64Url(point.slice(1 + size)),
});
const K256 = coordinates(secp256k1.getPublicKey(secp256k1.utils.randomPrivateKey(), false), 32);
const P384 = coordinates(p384.getPublicKey(p384.utils.randomPrivateKey(), false), 48);
const soon = (seconds: number): number => Math.floor(Date.now() / 1_000) + seconds;

// ---- The list ------------------------------------------------------------------------------------------------------------

const SIGNATURES: readonly Forgery[] = [
  ["alg none without a signature", forged(byNobody, { alg: "none" }), "algorithm_not_allowed"],
  ["alg None with the genuine signature", reheaded((f) => headerOf(f, { alg: "None" })), "algorithm_not_allowed"],
  ["no signature under ES256", forged(byNobody), "signature_invalid"],
  [
    "HS256 by the CA's key as PEM",
    forged(
      bySecret((f) => f.caPem),
      { alg: "HS256" },
    ),
    "algorithm_not_allowed",
  ],
  [
    "HS256 by the CA's key as JWK",
    forged(
      bySecret((f) => json(f.caJwk)),
      { alg: "HS256" },
    ),
    "algorithm_not_allowed",
  ],
  [
    "HS256 by the CA's kid",
    forged(
      bySecret((f) => f.caJwk.kid),
      { alg: "HS256" },
    ),
    "algorithm_not_allowed",
  ],
  ["a MAC by the CA's key, called ES256", forged(bySecret((f) => f.caPem)), "signature_invalid"],
  ["a list of algorithms", forged(byStranger, { alg: ["ES256"] }), "algorithm_not_allowed"],
  ["a stranger's signature", forged(byStranger), "signature_invalid"],
  ["a signature of P-384", forged(byP384), "signature_invalid"],
  ["a signature of P-384, called so", forged(byP384, { alg: "ES384" }), "algorithm_not_allowed"],
  ["a signature of secp256k1", forged(bySecp256k1), "signature_invalid"],
  ["a signature of secp256k1, called so", forged(bySecp256k1, { alg: "ES256K" }), "algorithm_not_allowed"],
  ["r and s of zero", forged(always(0n, 0n)), "signature_invalid"],
  ["r of one and s of zero", forged(always(1n, 0n)), "signature_invalid"],
  ["r and s of the order", forged(always(P256_ORDER, P256_ORDER)), "signature_invalid"],
  ["r and s of 2^256 - 1", forged(always((1n << 256n) - 1n, (1n << 256n) - 1n)), "signature_invalid"],
  ["the CA's signature as DER", forged(byCaAs(encodeDer)), "signature_invalid"],
  ["the CA's signature and a byte", forged(byCaAs((raw) => Uint8Array.of(...raw, 0))), "signature_invalid"],
  ["the CA's signature over another content", (f) => spliced(f.genuine, raised(f)), "signature_invalid"],
];

const HEADERS: readonly Forgery[] = [
  ["a foreign typ", headed({ typ: "JWT" }), "type_not_allowed"],
  ["a list of types", headed({ typ: ["aeap-cert+jwt"] }), "type_not_allowed"],
  ["an identity document", (f) => f.document, "type_not_allowed"],
  ["a status list", (f) => f.statusList, "type_not_allowed"],
  ["a receipt", (f) => f.receipt, "type_not_allowed"],
  ["an unknown crit", headed({ crit: ["urn:x"], "urn:x": 1 }), "header_not_allowed"],
  ["an empty crit", headed({ crit: [] }), "header_not_allowed"],
  ["b64 false without crit", headed({ b64: false }), "header_not_allowed"],
  ["b64 true", headed({ b64: true, crit: ["b64"] }), "header_not_allowed"],
  ["the stranger's own key in jwk", forged(byStranger, { jwk: pickPublicPart(OTHER_JWK) }), "header_not_allowed"],
  ["jku", forged(byStranger, { jku: "https://elsewhere.example/jwks" }), "header_not_allowed"],
  ["x5u", forged(byStranger, { x5u: "https://elsewhere.example/chain" }), "header_not_allowed"],
  ["x5c", forged(byStranger, { x5c: ["MIIB"] }), "header_not_allowed"],
  ["the kid of the agent's own key", forged(byStranger, (f) => ({ kid: f.agentKid })), "key_unknown"],
  ["a kid that is a path", forged(byStranger, { kid: "../../dev/null" }), "key_unknown"],
  ["a kid that is a member of objects", forged(byStranger, { kid: "constructor" }), "key_unknown"],
  ["a kid that is a list", (f) => forged(byStranger, { kid: [f.caJwk.kid] })(f), "key_id_missing"],
  ["a kid of 10,000 characters", forged(byStranger, { kid: "k".repeat(10_000) }), "key_unknown"],
  [
    "alg twice, none at last",
    reheaded((f) => `{"alg":"ES256","typ":"aeap-cert+jwt","kid":"${f.caJwk.kid}","alg":"none"}`),
    "algorithm_not_allowed",
  ],
  [
    "alg twice, none at first",
    reheaded((f) => `{"alg":"none","typ":"aeap-cert+jwt","kid":"${f.caJwk.kid}","alg":"ES256"}`),
    "signature_invalid",
  ],
  ["a header that is a list", headed(() => "[]"), "malformed"],
  ["a header with a byte order mark", headed((f) => `\uFEFF${json(headerOf(f))}`), "malformed"],
  ["a header that is cut off", headed(() => '{"alg":"ES256"'), "malformed"],
  ["padding", (f) => f.genuine.replace(/\.([^.]+)$/, ".$1=="), "malformed"],
  ["the standard alphabet", (f) => f.genuine.replace(/\.([^.]+)$/, ".+/$1"), "malformed"],
  ["two certificates", (f) => `${f.genuine}, ${f.genuine}`, "malformed"],
  ["an encrypted form of five parts", (f) => `${f.genuine}.AAAA.AAAA`, "malformed"],
  ["JSON serialization", (f) => json({ payload: f.genuine.split(".")[1] }), "malformed"],
];

const CLAIMS: readonly Forgery[] = [
  ["a foreign issuer", claiming((claims) => ({ ...claims, iss: "https://elsewhere.example" })), "issuer_mismatch"],
  ["the issuer in capitals", claiming((claims) => ({ ...claims, iss: claims.iss.toUpperCase() })), "issuer_mismatch"],
  ["a list of issuers", claiming((claims) => ({ ...claims, iss: [claims.iss] })), "claims_malformed"],
  [
    "another subject",
    claiming((claims) => ({ ...claims, sub: `did:aeap:${crypto.randomUUID()}` })),
    "subject_mismatch",
  ],
  ["a subject in capitals", claiming((claims) => upper(claims)), "subject_mismatch"],
  ["a beginning in an hour", claiming((claims) => ({ ...claims, nbf: soon(3_600) })), "not_yet_valid"],
  ["an end an hour ago", claiming((claims) => ({ ...claims, exp: soon(-3_600) })), "expired"],
  ["an end before all time", claiming((claims) => ({ ...claims, exp: -1 })), "expired"],
  ["an end as text", claiming((claims) => ({ ...claims, exp: "9999999999" })), "claims_malformed"],
  ["an infinite end", claiming((claims) => json(claims).replace(/"exp":\d+/, '"exp":1e999')), "claims_malformed"],
  ["an nbf of null", claiming((claims) => ({ ...claims, nbf: null })), "claims_malformed"],
  ["a list of claims", claiming((claims) => [claims]), "payload_malformed"],
  ["no JSON", claiming(() => "{"), "payload_malformed"],
  ["claims of a prototype", claiming((claims) => `{"__proto__":${json(claims)}}`), "claims_malformed"],
  ["a key of P-384", cnf({ kty: "EC", crv: "P-384", ...P384 }), "agent_key_invalid"],
  ["a key of P-384, called P-256", cnf({ kty: "EC", crv: "P-256", ...P384 }), "agent_key_invalid"],
  ["a key of secp256k1", cnf({ kty: "EC", crv: "secp256k1", ...K256 }), "agent_key_invalid"],
  ["a key of secp256k1, called P-256", cnf({ kty: "EC", crv: "P-256", ...K256 }), "agent_key_invalid"],
  ["an RSA key", cnf({ kty: "RSA", n: "AQAB", e: "AQAB" }), "agent_key_invalid"],
  ["a symmetric key", cnf({ kty: "oct", k: "AAAA" }), "agent_key_private"],
  ["a private key", cnf(OTHER_JWK), "agent_key_private"],
  ["a key that is text", claiming((claims) => ({ ...claims, cnf: { jwk: "key" } })), "claims_malformed"],
  ["a thumbprint alone", claiming((claims) => ({ ...claims, cnf: { jkt: "AAAA" } })), "claims_malformed"],
  ["a place of half a bit", claiming((claims) => placed(claims, 0.5)), "claims_malformed"],
  ["a place beyond all integers", claiming((claims) => placed(claims, 2 ** 53)), "claims_malformed"],
  ["claims of another version", stating({ version: 1 }), "claims_malformed"],
  ["no agent", claiming(({ aeap: _aeap, ...claims }) => claims), "claims_malformed"],
  ["an agent that is a list", claiming((claims) => ({ ...claims, aeap: [claims.aeap] })), "claims_malformed"],
  ["an empty role", stating({ economic_role: "" }), "claims_malformed"],
  ["a tier that is a number", stating({ cert_tier: 3 }), "claims_malformed"],
  ["a principal that is an object", stating({ principal_id: {} }), "claims_malformed"],
  ["a country of null", stating({ principal_country: null }), "claims_malformed"],
  ["actions that are no texts", stating({ authorized_actions: [1] }), "claims_malformed"],
  ["capabilities that are an object", stating({ capabilities: { 0: "translation" } }), "claims_malformed"],
  ["a scope that is text", stating({ scope: "all" }), "claims_malformed"],
  ["an attestation that is a list", stating({ attestation: [] }), "claims_malformed"],
  ["a delegation that is text", stating({ delegation: "did:aeap:x" }), "claims_malformed"],
  ["a delegation without its chain", stating({ delegation: { delegated_by: "did:aeap:x" } }), "claims_malformed"],
  ["a chain of numbers", stating({ delegation: { delegated_by: "x", chain: [1] } }), "claims_malformed"],
  ["a ceiling that is a number", scoped({ max_transaction_value: 5 }), "claims_malformed"],
  ["a spending limit that is text", scoped({ spending_limit: "5" }), "claims_malformed"],
  [
    "a spending limit of a number",
    scoped({ spending_limit: { amount: 5, currency: "USDC", window_days: 1 } }),
    "claims_malformed",
  ],
  [
    "a window that is text",
    scoped({ spending_limit: { amount: "5", currency: "USDC", window_days: "1" } }),
    "claims_malformed",
  ],
  ["a floor that is text", scoped({ minimum_counterparty_ar: "0.5" }), "claims_malformed"],
  ["a dispute window that is text", scoped({ dispute_window_days: "14" }), "claims_malformed"],
];

export const FORGERIES: readonly Forgery[] = [...SIGNATURES, ...HEADERS, ...CLAIMS];

const spliced = (genuine: string, payload: unknown): string => {
  const [header, , signature] = genuine.split(".");
  return `${header}.${base64Url(json(payload))}.${signature}`;
};
const upper = (claims: CertificateClaims): Json => {
  const sub = claims.sub.toUpperCase();
  return { ...claims, sub, aeap: { ...claims.aeap, agent_id: sub } };
};
const placed = (claims: CertificateClaims, idx: number): Json => ({
  ...claims,
  status: { status_list: { ...claims.status.status_list, idx } },
});
