// Every reason for which a certificate or a proof is refused, as far as a call can provoke it, and its answer: one sentence in production, and the
// reason in the sandbox when the certificate verifies (PRF-12). A new reason does not compile without a row.
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { ProofRefusal } from "../../src/auth/proof-refusals.ts";
import { ERRORS } from "../../src/core/errors.ts";
import { type CertificateClaims, verifyCertificate } from "../../src/protocol/certificate.ts";
import { OFF_CURVE_JWK, OTHER_JWK, signAs } from "../protocol/fixtures.ts";
import { type Agent, createWorld, env, expectStatus, ISSUER, type World } from "../support/world.ts";
import { stopRealTime } from "./support.ts";

const log = vi.spyOn(console, "info").mockImplementation(() => undefined);
const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);

let world: World;
let agent: Agent;
let ended: Agent;
let provider: Agent;
let claims: CertificateClaims;
beforeAll(async () => {
  world = await createWorld();
  [agent, ended, provider] = [await world.consumer(), await world.consumer(), await world.agent("PROVIDER")];
  const stop = { body: { status: "TERMINATED" } };
  expectStatus(await world.call("PATCH", `/v1/agents/${ended.did}/status`, stop), 200);
  const { verification } = await world.deps.ca();
  const checked = await verifyCertificate(agent.certificate, verification, { issuer: ISSUER, now: Date.now() });
  if (!checked.ok) throw new Error(checked.reason);
  claims = checked.claims;
});

stopRealTime();

type Headers = Record<string, string>;
type Attempt = { method?: string; path?: string; body?: unknown; headers: Headers };
type Row = {
  readonly request: () => Promise<Attempt>;
  /** True when the certificate verifies: then the sandbox answers the reason. */
  readonly certified: boolean;
  readonly type?: string;
};
type Unreachable = { readonly unreachable: string };

const newDid = () => `did:aeap:${crypto.randomUUID()}`;
const PATH = "/v1/payment-intents/pin_none";
const now = () => Math.floor(Date.now() / 1_000);
const proven = (changed: Headers = {}, of = agent): Promise<Attempt> =>
  world.prove(of, "GET", PATH).then((headers) => ({ headers: { ...headers, ...changed } }));

/** A certificate by the CA itself, with another header or other claims. */
async function certificate(header: Record<string, unknown>, change: Record<string, unknown> = {}): Promise<string> {
  const { signing } = await world.deps.ca();
  const whole = { alg: "ES256", typ: "aeap-cert+jwt", kid: signing.kid, ...header };
  return signAs(whole, { ...claims, ...change }, signing);
}
const badCertificate = (header: Record<string, unknown>, change: Record<string, unknown> = {}): Row => ({
  request: async () => proven({ "AEAP-Certificate": await certificate(header, change) }),
  certified: false,
});
const badProof = (changed: () => Headers): Row => ({ request: () => proven(changed()), certified: true });
const timestamp = (text: () => string) => badProof(() => ({ "AEAP-Timestamp": text() }));
const zeroes = () => btoa(String.fromCharCode(...new Uint8Array(64)));

const REASONS: Readonly<Record<ProofRefusal, Row | Unreachable>> = {
  proof_missing: {
    request: async () => ({ headers: { "AEAP-Certificate": agent.certificate, "AEAP-Timestamp": String(now()) } }),
    certified: true,
  },
  timestamp_missing: {
    request: async () => ({ headers: { "AEAP-Certificate": agent.certificate, "AEAP-Proof": "x" } }),
    certified: true,
  },
  replay: {
    request: async () => {
      const asked = await proven();
      expectStatus(await world.call("GET", PATH, { key: null, headers: asked.headers }), 404);
      return asked;
    },
    certified: true,
    type: "replay",
  },
  malformed: { request: () => proven({ "AEAP-Certificate": "e30.e30" }), certified: false },
  algorithm_not_allowed: badCertificate({ alg: "ES384" }),
  type_not_allowed: badCertificate({ typ: "JWT" }),
  header_not_allowed: badCertificate({ jku: "https://elsewhere.example/jwks" }),
  key_id_missing: badCertificate({ kid: undefined }),
  key_unknown: badCertificate({ kid: "another" }),
  signature_invalid: {
    request: () => proven({ "AEAP-Certificate": `${agent.certificate.slice(0, -8)}AAAAAAAA` }),
    certified: false,
  },
  payload_malformed: {
    request: async () => {
      const { signing } = await world.deps.ca();
      const header = { alg: "ES256", typ: "aeap-cert+jwt", kid: signing.kid };
      return proven({ "AEAP-Certificate": await signAs(header, ["none"], signing) });
    },
    certified: false,
  },
  claims_malformed: badCertificate({}, { jti: 7 }),
  issuer_mismatch: badCertificate({}, { iss: "https://elsewhere.example" }),
  subject_mismatch: badCertificate({}, { sub: newDid() }),
  agent_key_private: badCertificate({}, { cnf: { jwk: OTHER_JWK } }),
  agent_key_invalid: badCertificate({}, { cnf: { jwk: OFF_CURVE_JWK } }),
  not_yet_valid: badCertificate({}, { nbf: now() + 60 }),
  expired: badCertificate({}, { exp: now() - 1 }),
  agent_unknown: {
    request: async () => {
      const did = newDid();
      const unknown = {
        ...agent,
        did,
        certificate: await certificate({}, { sub: did, aeap: { ...claims.aeap, agent_id: did } }),
      };
      return proven({}, unknown);
    },
    // An unknown agent belongs to no sandbox.
    certified: false,
  },
  certificate_ended: {
    request: async () => proven({ "AEAP-Certificate": await certificate({}, { jti: "crt_another" }) }),
    certified: true,
  },
  agent_ended: { request: () => proven({}, ended), certified: true },
  other_agent_named: {
    request: async () => {
      const body = {
        provider_did: ended.did,
        consumer_did: agent.did,
        tx_hash: "1".repeat(64),
        network: "base-sepolia",
      };
      const headers = await world.prove(provider, "POST", "/v1/facilitate", JSON.stringify(body));
      return { method: "POST", path: "/v1/facilitate", body, headers };
    },
    certified: true,
  },
  timestamp_malformed: timestamp(() => "yesterday"),
  timestamp_too_old: timestamp(() => String(now() - 32)),
  timestamp_in_future: timestamp(() => String(now() + 32)),
  query_ambiguous: {
    request: async () => ({ ...(await proven()), path: `${PATH}?a%3Db=c` }),
    certified: true,
  },
  signature_encoding: badProof(() => ({ "AEAP-Proof": "not base64!" })),
  signature_form: badProof(() => ({ "AEAP-Proof": "AAAA" })),
  signature_range: badProof(() => ({ "AEAP-Proof": zeroes() })),
  signature_mismatch: timestamp(() => String(now() - 1)),
  did_malformed: { unreachable: "a certificate's subject is a DID" },
  nonce_malformed: { unreachable: "no call is signed over a nonce" },
  method_malformed: { unreachable: "the method is one that was routed" },
  path_malformed: { unreachable: "the path is one that was routed" },
  digest_malformed: { unreachable: "the service computes the digest itself" },
  key_invalid: { unreachable: "a certificate's key is a point of the curve" },
};

const rows = Object.entries(REASONS).flatMap(([reason, row]) => ("unreachable" in row ? [] : [[reason, row] as const]));
const ONE_SENTENCE = ERRORS.aeap_verification_failed.message;
const send = ({ method = "GET", path = PATH, body, headers }: Attempt) =>
  world.call(method, path, { key: null, headers, ...(body !== undefined && { body }) });
const setEnvironment = (environment: string) =>
  env.DB.prepare("update agents set environment = ? where did in (?, ?, ?)")
    .bind(environment, agent.did, ended.did, provider.did)
    .run();

describe("in production", () => {
  it.each(rows)(
    "%s is answered with one sentence, and its reason is only logged",
    async (reason, { request, type }) => {
      await setEnvironment("production");
      const attempt = await request();
      log.mockClear();
      errors.mockClear();
      const { status, body } = await send(attempt);
      await setEnvironment("sandbox");
      expect(status).toBe(401);
      const code = "aeap_verification_failed";
      const envelope = { code, message: ONE_SENTENCE, status: 401, request_id: body.request_id, error: code };
      expect(body).toEqual({ ...envelope, ...(type && { type }) });
      expect(log.mock.calls.flat().join()).toContain(`"reason":"${reason}"`);
      expect(errors.mock.calls).toEqual([]);
    },
  );
});

describe("in the sandbox", () => {
  it.each(rows)("%s is answered with its reason if the certificate verifies", async (reason, row) => {
    const attempt = await row.request();
    const { status, body } = await send(attempt);
    expect([status, body.code]).toEqual([401, "aeap_verification_failed"]);
    expect(body.message).toBe(ONE_SENTENCE);
    if (!row.certified) return expect(body.detail).toBeUndefined();
    expect(body.detail.reason).toBe(reason);
    expect(body.detail.service_time).toBe(new Date().toISOString());
    const unspoken = ["timestamp_missing", "timestamp_malformed", "query_ambiguous"].includes(reason);
    if (unspoken) expect(body.detail.signed_text).toBeNull();
    else expect(body.detail.signed_text).toContain(attempt.headers["AEAP-Timestamp"]);
  });
});
