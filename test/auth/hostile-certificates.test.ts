// No forged certificate is accepted (IDN-5 to IDN-9, PRF-11, PRF-12): even with an honest proof, each is refused at the routes of agents with one
// code and nothing else, and with its reason where certificates are checked. No row is written.
import { exportSPKI } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { ERRORS } from "../../src/core/errors.ts";
import { type CertificateClaims, issueCertificate, verifyCertificate } from "../../src/protocol/certificate.ts";
import { computeJwkThumbprint } from "../../src/protocol/jwks.ts";
import { formatProofTimestamp, signProof } from "../../src/protocol/proof.ts";
import { freshClient } from "../accounts/support.ts";
import { facilitated } from "../facilitation/support.ts";
import { isWhole } from "../support/scale.ts";
import { dumpDatabase, dumpObjects } from "../support/variants.ts";
import { type Agent, createWorld, env, expectStatus, ISSUER, type Json, type World } from "../support/world.ts";
import { FORGERIES, type Forge } from "./forged-certificates.ts";

let world: World;
let agent: Agent;
let other: Agent;
let forge: Forge;
let before: unknown;
beforeAll(async () => {
  world = await createWorld();
  const { consumer, provider, fac } = await facilitated(world);
  [agent, other] = [consumer, provider];
  const { verification, jwks, signing: ca } = await world.deps.ca();
  const [[, key] = []] = verification;
  const [caJwk] = jwks.keys;
  const checked = await verifyCertificate(agent.certificate, verification, { issuer: ISSUER, now: Date.now() });
  if (!checked.ok || !key || !caJwk) throw new Error("nothing to forge");
  const { claims } = checked;
  const open = async (path: string, headers = {}) => (await world.call("GET", path, { key: null, headers })).text;
  forge = {
    genuine: agent.certificate,
    claims,
    caJwk,
    caPem: await exportSPKI(key),
    ca,
    agentKid: await computeJwkThumbprint(claims.cnf.jwk),
    document: await open(`/v1/agents/${agent.did}/aid`, { Accept: "application/jwt" }),
    statusList: await open("/.well-known/aeap-status-lists/1"),
    receipt: fac.receipt,
  };
  before = await written();
});

const written = async () => [await dumpDatabase(), await dumpObjects(env.REPLAY), await dumpObjects(env.IDEMPOTENCY)];

const orders = (): [string, string, Json][] => [
  ["GET", "/v1/payment-intents/pin_none", undefined],
  [
    "POST",
    "/v1/payment-intents",
    { consumer_did: agent.did, provider_did: other.did, amount: "1.00", currency: "USDC" },
  ],
  ["POST", "/v1/facilitate", { intent_id: "pin_none", payment_tx: `0x${"1".repeat(64)}` }],
  ["POST", "/v1/tasks/tsk_none/confirm", { outcome: "confirmed" }],
];

/** Checks that routes of agents refuse the certificate, with a proof by the signer, in the one sentence that reveals no reason. */
async function refuseAll(certificate: string, signer = agent, on = orders()): Promise<void> {
  for (const [method, path, body] of on) {
    const headers = { ...freshClient(), "AEAP-Certificate": certificate, "Idempotency-Key": crypto.randomUUID() };
    const reply = await world.as(signer, method, path, body, headers);
    const code = "aeap_verification_failed";
    const { message } = ERRORS[code];
    const told = { code, message, status: 401, request_id: reply.headers.get("request-id"), error: code };
    expect([path, reply.status, reply.body]).toEqual([path, 401, told]);
    expect(reply.headers.get("www-authenticate")).toBe('AEAP-Certificate realm="agents"');
  }
}

const check = (path: string, body: Json) => world.call("POST", path, { key: null, headers: freshClient(), body });
async function proofChecked(certificate: string, signer = agent): Promise<Json> {
  const timestamp = formatProofTimestamp(Date.now());
  const statement = { kind: "bound", timestamp, callerDid: signer.did, calleeDid: other.did } as const;
  const { proof } = await signProof(statement, signer.privateKey);
  const body = { proof_type: "bound_proof", certificate, proof, timestamp, callee_did: other.did };
  return expectStatus(await check("/v1/verify/proof", body), 200);
}
const NOTHING = { agent_id: null, cert_tier: null, economic_role: null, claims: null };

describe("a certificate with", () => {
  it("no fault is accepted, so that each refusal below is for its one fault", async () => {
    const body = expectStatus(await check("/v1/verify/certificate", { certificate: forge.genuine }), 200);
    expect(body).toMatchObject({ valid: true, agent_id: agent.did });
    expect(await proofChecked(forge.genuine)).toMatchObject({ verified: true });
  });

  it.each(FORGERIES)("%s is refused", async (name, make, reason) => {
    const certificate = await make(forge);
    expect(certificate).not.toBe(forge.genuine);
    // One router judges the certificates of all routes: each forgery goes to one route, in turn.
    const at = FORGERIES.findIndex(([one]) => one === name) % orders().length;
    await refuseAll(certificate, agent, isWhole() ? orders() : orders().slice(at, at + 1));
    const checked = expectStatus(await check("/v1/verify/certificate", { certificate }), 200);
    expect(checked).toEqual({ valid: false, reason, ...NOTHING });
    expect(await proofChecked(certificate)).toEqual({ verified: false, reason, agent_id: null });
  });

  it("a fault leaves no row, no proof in the memory and no Idempotency-Key", async () => {
    expect(await written()).toEqual(before);
  });
});

describe("a certificate that the CA has signed", () => {
  const signed = (change: (claims: CertificateClaims) => CertificateClaims) =>
    issueCertificate(change(forge.claims), forge.ca);
  const jtiOf = async (of: Agent): Promise<string> => {
    const row = await env.DB.prepare("select jti from certificates where did = ?")
      .bind(of.did)
      .first<{ jti: string }>();
    return row?.jti ?? "";
  };
  /** Checks that the certificate verifies offline, and that the sandbox reports to its holder why it does not count. */
  const refused = async (certificate: string, reason: string): Promise<void> => {
    for (const [method, path, body] of orders()) {
      const reply = await world.as(agent, method, path, body, { "AEAP-Certificate": certificate });
      expect([path, reply.status, reply.body.code]).toEqual([path, 401, "aeap_verification_failed"]);
      expect(reply.body.detail.reason, path).toBe(reason);
    }
    const checked = expectStatus(await check("/v1/verify/certificate", { certificate }), 200);
    expect(checked).toEqual({ valid: false, reason: "unknown", ...NOTHING });
  };

  it("under an id that was never issued does not count", async () => {
    await refused(await signed((claims) => ({ ...claims, jti: "crt_never" })), "certificate_ended");
  });

  it("under the id of another agent's certificate does not count", async () => {
    const jti = await jtiOf(other);
    await refused(await signed((claims) => ({ ...claims, jti })), "certificate_ended");
  });

  it("under another principal and never issued does not count", async () => {
    const principal = { principal_id: other.principalId, principal_name: "Another GmbH" };
    const certificate = await signed((claims) => ({
      ...claims,
      jti: "crt_transferred",
      aeap: { ...claims.aeap, ...principal },
    }));
    await refused(certificate, "certificate_ended");
  });

  it("for another agent's key verifies no proof of this agent, nor the other way round", async () => {
    for (const [certificate, signer] of [
      [other.certificate, agent],
      [agent.certificate, other],
    ] as const) {
      expect(await proofChecked(certificate, signer)).toEqual({
        verified: false,
        reason: "signature_mismatch",
        agent_id: null,
      });
    }
  });
});

describe("a header that is longer than any credential", () => {
  it.each([20_001, 262_145, 1_000_000])("with a certificate of %i characters is malformed", async (length) => {
    await refuseAll(`${forge.genuine}${"A".repeat(length - forge.genuine.length)}`.slice(0, length));
  });

  it("is refused by a check above 40,000 characters", async () => {
    const certificate = "A".repeat(40_001);
    const tooLong = { field: "certificate", code: "too_long" };
    const proof = { proof_type: "bound_proof", proof: "AA", timestamp: "1", callee_did: other.did };
    for (const [path, body] of [
      ["/v1/verify/certificate", { certificate }],
      ["/v1/verify/proof", { certificate, ...proof }],
    ] as const) {
      const reply = await check(path, body);
      expect([reply.status, reply.body.code, reply.body.field_errors.length]).toEqual([422, "validation_failed", 1]);
      expect(reply.body.field_errors[0]).toMatchObject(tooLong);
    }
  });
});
