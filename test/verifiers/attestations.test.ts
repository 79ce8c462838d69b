// Principals that registered Verifiers attest (PRN-9, PRN-22): in production, by disabled Verifiers, and with every proof that proves something else.
import { importJWK, SignJWT } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { encodeBase64Url, encodeUtf8 } from "../../src/core/encoding.ts";
import { dumpDatabase, failingBatches, withDatabase } from "../support/variants.ts";
import { agentBody, createWorld, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import {
  attestedBody,
  claimsOf,
  drawKey,
  faultsOf,
  patchVerifier,
  registerVerifier,
  signClaims,
  type VerifierPair,
  withProof,
} from "./support.ts";

let world: World;
let p256: VerifierPair;
let ed25519: VerifierPair;
let stranger: VerifierPair;
let verifierId: string;
let otherId: string;
let disabledId: string;
beforeAll(async () => {
  world = await createWorld();
  [p256, ed25519, stranger] = [await drawKey("ES256"), await drawKey("EdDSA"), await drawKey("ES256")];
  verifierId = (await registerVerifier(world, [p256.jwk, ed25519.jwk])).verifier_id;
  otherId = (await registerVerifier(world, [stranger.jwk])).verifier_id;
  disabledId = (await registerVerifier(world, [p256.jwk], { status: "disabled" })).verifier_id;
});

const register = (body: Json, key = world.liveKey): Promise<Reply> =>
  world.call("POST", "/v1/principals", { body, key });
const BOTH = [
  ["the sandbox", () => world.key],
  ["production", () => world.liveKey],
] as const;
const UNPROVEN = [422, "validation_failed", [["verification_attestation.proof", "invalid_value"]]];
const ID = "verification_attestation.verifier_id";

describe("a registered Verifier", () => {
  it("attests principals in production, and their agents' certificates name it", async () => {
    const body = attestedBody(verifierId, { tier: "TIER_2" });
    const principal = expectStatus(await register(body), 201);
    expect(principal).toMatchObject({
      environment: "production",
      status: "ACTIVE",
      verification_attestation: body.verification_attestation,
    });
    const path = `/v1/principals/${principal.principal_id}`;
    expect(expectStatus(await world.call("GET", path, { key: world.liveKey }), 200)).toEqual(principal);
    const draft = { ...agentBody("CONSUMER"), principal_id: principal.principal_id };
    const { did } = expectStatus(await world.call("POST", "/v1/agents", { key: world.liveKey, body: draft }), 201);
    const activated = expectStatus(await world.call("POST", `/v1/agents/${did}/activate`, { key: world.liveKey }), 200);
    const claims = JSON.parse(atob(activated.certificate.split(".")[1].replaceAll("-", "+").replaceAll("_", "/")));
    expect(claims.aeap.attestation.verifier_id).toBe(verifierId);
  });

  it.each(BOTH)("proves an attestation in %s with any of its keys, and the proof is kept", async (_name, key) => {
    for (const signer of [p256, ed25519]) {
      for (const tier of [{}, { tier: "TIER_3" }]) {
        const body = attestedBody(verifierId, tier);
        const proof = await signClaims(signer, claimsOf(body));
        const { principal_id } = expectStatus(await register(withProof(body, proof), key()), 201);
        const row = env.DB.prepare("select proof, verifier_id from attestations where principal_id = ?");
        expect(await row.bind(principal_id).first()).toEqual({ proof, verifier_id: verifierId });
      }
    }
  });

  it("may omit the platform's reference, and may state more than the service reads", async () => {
    const body = attestedBody(verifierId);
    const { subject, ...rest } = claimsOf(body);
    const { external_ref: _, ...known } = subject;
    const claims = { ...rest, subject: { ...known, registration_number: "HRB 1" }, nonce: "x" };
    expectStatus(await register(withProof(body, await signClaims(p256, claims))), 201);
  });

  it("may attest several principals with one attestation", async () => {
    const first = attestedBody(verifierId);
    const second = { ...attestedBody(verifierId), verification_attestation: first.verification_attestation };
    expectStatus(await register(first), 201);
    expectStatus(await register(second), 201);
  });

  it("is read in the first of two trips, as one row", async () => {
    const body = attestedBody(verifierId);
    world.meter.reset();
    expectStatus(await register(withProof(body, await signClaims(p256, claimsOf(body)))), 201);
    expect(world.meter.reading.trips).toBe(2);
  });
});

describe("a Verifier that is not registered", () => {
  it("attests nothing in production", async () => {
    for (const id of ["ver_none", "operator", "sandbox-placeholder", ` ${verifierId.toLowerCase()}`]) {
      expect(faultsOf(await register(attestedBody(id)))).toEqual([422, "validation_failed", [[ID, "not_found"]]]);
    }
  });

  it("is any text in the sandbox, and its proof is kept unchecked", async () => {
    const body = withProof(attestedBody("Somebody's KYC"), "no JWS at all");
    const { principal_id } = expectStatus(await register(body, world.key), 201);
    const row = env.DB.prepare("select proof from attestations where principal_id = ?").bind(principal_id);
    expect(await row.first()).toEqual({ proof: "no JWS at all" });
  });
});

describe("a disabled Verifier", () => {
  it.each(BOTH)("attests nothing new in %s, with or without a good proof", async (_name, key) => {
    const body = attestedBody(disabledId);
    const refused = [422, "validation_failed", [[ID, "invalid_value"]]];
    expect(faultsOf(await register(body, key()))).toEqual(refused);
    expect(faultsOf(await register(withProof(body, await signClaims(p256, claimsOf(body))), key()))).toEqual(refused);
  });

  it("keeps its earlier attestations, and attests again when it is enabled", async () => {
    const { verifier_id } = await registerVerifier(world, [p256.jwk]);
    const { principal_id } = expectStatus(await register(attestedBody(verifier_id)), 201);
    expectStatus(await patchVerifier(world, verifier_id, { status: "disabled" }), 200);
    const kept = await world.call("GET", `/v1/principals/${principal_id}`, { key: world.liveKey });
    expect(expectStatus(kept, 200).status).toBe("ACTIVE");
    expect((await register(attestedBody(verifier_id))).status).toBe(422);
    expectStatus(await patchVerifier(world, verifier_id, { status: "enabled" }), 200);
    expectStatus(await register(attestedBody(verifier_id)), 201);
  });

  it("counts as disabled from the commit on: a call that was decided before it writes nothing after it", async () => {
    const { verifier_id } = await registerVerifier(world, [p256.jwk]);
    // The Verifier is disabled between the reading and the writing of the registration.
    const late = withDatabase(
      world,
      failingBatches(env.DB, async (batch) => {
        if (batch === 2) expectStatus(await patchVerifier(world, verifier_id, { status: "disabled" }), 200);
        return "never" as const;
      }),
    );
    const reply = await late.call("POST", "/v1/principals", { body: attestedBody(verifier_id), key: world.liveKey });
    expect(faultsOf(reply)).toEqual([422, "validation_failed", [[ID, "invalid_value"]]]);
  });
});

// ---- Proofs ----------------------------------------------------------------------------------------------------------------

const segment = (value: unknown): string => encodeBase64Url(encodeUtf8(JSON.stringify(value)));
const TYP = "aeap-attestation+jwt";

type Forge = (body: Json, claims: Json) => Promise<string> | string;
const claiming =
  (change: (claims: Json) => unknown): Forge =>
  (_body, claims) =>
    signClaims(p256, change(claims));
const subject = (change: Json) => claiming((claims) => ({ ...claims, subject: { ...claims.subject, ...change } }));
const without = (name: string) =>
  claiming((claims) => Object.fromEntries(Object.entries(claims).filter(([claim]) => claim !== name)));
const headed =
  (header: Json): Forge =>
  (_body, claims) =>
    signClaims(p256, claims, header);

const FORGED: readonly [string, Forge][] = [
  ["another issuer", claiming((claims) => ({ ...claims, iss: otherId }))],
  ["no issuer", without("iss")],
  ["another attestation", claiming((claims) => ({ ...claims, jti: "att_other" }))],
  ["no attestation", without("jti")],
  ["another name", subject({ legal_name: "Somebody Else GmbH" })],
  [
    "the name in capitals",
    (body, claims) => subject({ legal_name: claims.subject.legal_name.toUpperCase() })(body, claims),
  ],
  ["another country", subject({ country: "FR" })],
  ["another reference", subject({ external_ref: "crm-other" })],
  ["a reference that is null", subject({ external_ref: null })],
  ["a subject without a name", claiming((claims) => ({ ...claims, subject: { country: claims.subject.country } }))],
  ["a subject without a country", subject({ country: undefined })],
  ["no subject", without("subject")],
  ["a subject that is text", claiming((claims) => ({ ...claims, subject: claims.subject.legal_name }))],
  ["a subject that is a list", claiming((claims) => ({ ...claims, subject: [claims.subject] }))],
  ["another model", claiming((claims) => ({ ...claims, model: "kyc" }))],
  ["no model", without("model")],
  ["another tier", claiming((claims) => ({ ...claims, tier: "TIER_3" }))],
  ["no tier", without("tier")],
  ["an earlier beginning", claiming((claims) => ({ ...claims, iat: claims.iat - 1 }))],
  ["a later beginning", claiming((claims) => ({ ...claims, iat: claims.iat + 1 }))],
  ["a beginning as text", claiming((claims) => ({ ...claims, iat: String(claims.iat) }))],
  ["a beginning in milliseconds", claiming((claims) => ({ ...claims, iat: claims.iat * 1_000 }))],
  ["no beginning", without("iat")],
  ["an earlier end", claiming((claims) => ({ ...claims, exp: claims.exp - 1 }))],
  ["a later end", claiming((claims) => ({ ...claims, exp: claims.exp + 1 }))],
  ["no end", without("exp")],
  ["claims that are a list", claiming((claims) => [claims])],
  ["claims that are not JSON", claiming(() => "attested")],
  ["the type of a revocation", headed({ typ: "aeap-revocation+jwt" })],
  ["the type of any JWT", headed({ typ: "JWT" })],
  ["no type", headed({ typ: undefined })],
  ["an unknown key", headed({ kid: "unknown" })],
  ["no key", headed({ kid: undefined })],
  ["the name of another key of the set", (_body, claims) => signClaims(p256, claims, { kid: ed25519.jwk.kid })],
  ["a key of its own", (_body, claims) => signClaims(stranger, claims, { kid: p256.jwk.kid, jwk: stranger.jwk })],
  ["a key of its own with the right signature", (_body, claims) => signClaims(p256, claims, { jwk: p256.jwk })],
  ["another Verifier's key", (_body, claims) => signClaims(stranger, claims)],
  ["another's signature under its key's name", (_body, claims) => signClaims(stranger, claims, { kid: p256.jwk.kid })],
  ["no signature", (_body, claims) => `${segment({ alg: "none", typ: TYP, kid: p256.jwk.kid })}.${segment(claims)}.`],
  [
    "an HMAC by the public key",
    (_body, claims) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: "HS256", typ: TYP, kid: p256.jwk.kid })
        .sign(encodeUtf8(JSON.stringify(p256.jwk))),
  ],
  ["an RSA signature", (_body, claims) => signByRsa(claims)],
  [
    "the name of the other algorithm",
    async (_body, claims) => reheaded(await signClaims(p256, claims), { alg: "EdDSA" }),
  ],
  [
    "other claims under the signature",
    async (body, claims) => repaid(await signClaims(p256, { ...claims, jti: "x" }), claimsOf(body)),
  ],
  ["a truncated signature", async (_body, claims) => (await signClaims(p256, claims)).slice(0, -4)],
  ["two segments", async (_body, claims) => (await signClaims(p256, claims)).split(".").slice(0, 2).join(".")],
  ["four segments", async (_body, claims) => `${await signClaims(p256, claims)}.x`],
  ["a text that is not a JWS", () => "attested"],
  ["a JWS in JSON", async (_body, claims) => JSON.stringify({ signatures: [await signClaims(p256, claims)] })],
];

async function signByRsa(claims: Json): Promise<string> {
  const { privateKey } = (await crypto.subtle.generateKey(
    { name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
    true,
    ["sign", "verify"],
  )) as CryptoKeyPair;
  const jwk = (await crypto.subtle.exportKey("jwk", privateKey)) as Json;
  return new SignJWT(claims)
    .setProtectedHeader({ alg: "RS256", typ: TYP, kid: p256.jwk.kid })
    .sign(await importJWK(jwk, "RS256"));
}

function reheaded(jws: string, change: Json): string {
  const [, payload, signature] = jws.split(".");
  return `${segment({ alg: "ES256", typ: TYP, kid: p256.jwk.kid, ...change })}.${payload}.${signature}`;
}

function repaid(jws: string, claims: Json): string {
  const [header, , signature] = jws.split(".");
  return `${header}.${segment(claims)}.${signature}`;
}

describe("a proof is refused, and nothing is registered, with", () => {
  it.each(FORGED)("%s", async (_name, forge) => {
    const body = attestedBody(verifierId, { tier: "TIER_2" });
    const forged = withProof(body, await forge(body, claimsOf(body)));
    const before = await dumpDatabase();
    for (const [, key] of BOTH) expect(faultsOf(await register(forged, key()))).toEqual(UNPROVEN);
    expect(await dumpDatabase()).toEqual(before);
  });

  it("a tier that the body does not state", async () => {
    const body = attestedBody(verifierId);
    const proof = await signClaims(p256, { ...claimsOf(body), tier: "TIER_2" });
    expect(faultsOf(await register(withProof(body, proof)))).toEqual(UNPROVEN);
  });

  it("whole seconds if the body's instants lie between two", async () => {
    const body = attestedBody(verifierId);
    const given = body.verification_attestation;
    const later = { ...given, expires_at: new Date(Date.parse(given.expires_at) + 500).toISOString() };
    const claims = claimsOf(body);
    for (const exp of [claims.exp, claims.exp + 0.5]) {
      const proof = await signClaims(p256, { ...claims, exp });
      expect(faultsOf(await register(withProof({ ...body, verification_attestation: later }, proof)))).toEqual(
        UNPROVEN,
      );
    }
  });

  it("a key that the Verifier no longer has", async () => {
    const { verifier_id } = await registerVerifier(world, [p256.jwk]);
    const body = attestedBody(verifier_id);
    const signed = withProof(body, await signClaims(p256, claimsOf(body)));
    expectStatus(await patchVerifier(world, verifier_id, { jwks: { keys: [ed25519.jwk] } }), 200);
    expect(faultsOf(await register(signed))).toEqual(UNPROVEN);
    expectStatus(await register(withProof(body, await signClaims(ed25519, claimsOf(body)))), 201);
  });
});

describe("all faults of one body are reported together", () => {
  it("those of a disabled Verifier, of its proof and of the values", async () => {
    const body = { ...attestedBody(disabledId), country: "KP", customer_id: "cus_nobody" };
    const proof = await signClaims(stranger, claimsOf(body));
    expect(faultsOf(await register(withProof(body, proof)))).toEqual([
      422,
      "validation_failed",
      [
        ["country", "invalid_value"],
        ["customer_id", "not_found"],
        ["verification_attestation.proof", "invalid_value"],
        [ID, "invalid_value"],
      ],
    ]);
  });

  it("even if the schema refuses other members, the proof is compared with the valid ones", async () => {
    const good = attestedBody(verifierId);
    const broken = { ...good, legal_name: 7, entity_type: "ghost" };
    const schema = [
      ["entity_type", "invalid_value"],
      ["legal_name", "invalid_type"],
    ];
    const proof = await signClaims(p256, claimsOf(good));
    expect(faultsOf(await register(withProof(broken, proof)))).toEqual([422, "validation_failed", schema]);
    const forged = await signClaims(p256, { ...claimsOf(good), model: "kyc" });
    const both = [...schema, ["verification_attestation.proof", "invalid_value"]];
    expect(faultsOf(await register(withProof(broken, forged)))).toEqual([422, "validation_failed", both]);
    const none = withProof({ ...broken, verification_attestation: { ...good.verification_attestation } }, "x");
    expect(faultsOf(await register(none))).toEqual([422, "validation_failed", both]);
  });
});
