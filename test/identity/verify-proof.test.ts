// `POST /v1/verify/proof` also checks, besides the signature, whether the certificate of the key is still valid (IDN-27).
import { beforeAll, describe, expect, it } from "vitest";
import { issueCertificate, verifyCertificate } from "../../src/protocol/certificate.ts";
import { pickPublicPart } from "../../src/protocol/jwks.ts";
import { formatProofTimestamp, signProof } from "../../src/protocol/proof.ts";
import { type Agent, createWorld, expectStatus, ISSUER, type Json, type World } from "../support/world.ts";
import { newPair } from "./authority-support.ts";

let world: World;
let callee: Agent;
beforeAll(async () => {
  world = await createWorld();
  callee = await world.consumer();
});

const open = async (path: string, body?: Json): Promise<Json> =>
  expectStatus(await world.call(body ? "POST" : "GET", path, { key: null, ...(body && { body }) }), 200);
const send = async (path: string, body: Json): Promise<Json> =>
  expectStatus(await world.call("POST", path, { body }), 200);

const bound = async ({ did, certificate, privateKey }: Agent): Promise<Json> => {
  const timestamp = formatProofTimestamp(Date.now());
  const statement = { kind: "bound", timestamp, callerDid: did, calleeDid: callee.did } as const;
  const { proof } = await signProof(statement, privateKey);
  return { proof_type: "bound_proof", certificate, proof, timestamp, callee_did: callee.did };
};
const challenged = async ({ did, certificate, privateKey }: Agent): Promise<Json> => {
  const { nonce } = await open("/v1/verify/challenge");
  const timestamp = formatProofTimestamp(Date.now());
  const { proof } = await signProof({ kind: "challenge", timestamp, nonce, agentDid: did }, privateKey);
  return { proof_type: "challenge_response", certificate, nonce, proof, timestamp };
};

describe.each([
  ["bound", bound],
  ["challenge", challenged],
] as const)("a %s proof", (_kind, prove) => {
  it("passes with a valid certificate, in one trip and three rows", async () => {
    const agent = await world.consumer();
    const answer = await prove(agent);
    world.meter.reset();
    expect(await open("/v1/verify/proof", answer)).toEqual({ verified: true, reason: null, agent_id: agent.did });
    const { trips, rowsRead, rowsWritten } = world.meter.reading;
    expect([trips, rowsWritten]).toEqual([1, 0]);
    expect(rowsRead).toBeLessThanOrEqual(3);
  });

  it.each<[string, string, (agent: Agent) => Promise<Json>]>([
    ["replaced", "a key that was rotated away", ({ did }) => send(`/v1/agents/${did}/rotate-key`, {})],
    ["revoked", "an agent that was revoked", ({ did }) => send(`/v1/agents/${did}/revoke`, { reason: "Stolen." })],
  ])("is %s with %s", async (reason, _of, act) => {
    const agent = await world.consumer();
    await act(agent);
    const refused = { verified: false, reason, agent_id: null };
    expect(await open("/v1/verify/proof", await prove(agent))).toEqual(refused);
  });

  it("is unknown with a certificate that a stolen key of the CA made for another key", async () => {
    const agent = await world.consumer();
    const { signing, verification } = await world.deps.ca();
    const checked = await verifyCertificate(agent.certificate, verification, { issuer: ISSUER, now: Date.now() });
    if (!checked.ok) throw new Error(checked.reason);
    const { publicKey, privateKey } = await newPair();
    const jwk = pickPublicPart((await crypto.subtle.exportKey("jwk", publicKey)) as never);
    const certificate = await issueCertificate({ ...checked.claims, cnf: { jwk } }, signing);
    const refused = { verified: false, reason: "unknown", agent_id: null };
    expect(await open("/v1/verify/proof", await prove({ ...agent, certificate, privateKey }))).toEqual(refused);
  });
});
