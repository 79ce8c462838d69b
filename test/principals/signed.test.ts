// Whether an attestation is signed by its Verifier (PRN-27): the principal, the list, the document and the certificate agree.
// ATTESTATION_PROOF=required accepts nothing else in production.
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { verifyAid } from "../../src/protocol/aid.ts";
import { verifyCertificate } from "../../src/protocol/certificate.ts";
import { withVars } from "../support/variants.ts";
import {
  agentBody,
  createWorld,
  env,
  expectStatus,
  ISSUER,
  type Json,
  principalBody,
  type World,
} from "../support/world.ts";
import {
  attestationBy,
  attestedBody,
  claimsOf,
  drawKey,
  faultsOf,
  operate,
  registerVerifier,
  signClaims,
  type VerifierPair,
  withProof,
} from "../verifiers/support.ts";

let world: World;
let pair: VerifierPair;
let verifierId: string;
beforeAll(async () => {
  world = await createWorld();
  pair = await drawKey();
  verifierId = (await registerVerifier(world, [pair.jwk])).verifier_id;
});

type Place = readonly [name: string, key: () => string];
const PLACES: readonly Place[] = [
  ["the sandbox", () => world.key],
  ["production", () => world.liveKey],
];
const proven = async (body: Json = attestedBody(verifierId)): Promise<Json> =>
  withProof(body, await signClaims(pair, claimsOf(body)));
const register = (body: Json, key: string, on = world) => on.call("POST", "/v1/principals", { body, key });
const registered = async (body: Json, key: string): Promise<Json> => expectStatus(await register(body, key), 201);

/** The `signed` members of all that shows a principal, its newest attestation first. */
async function saidOf({ principal_id }: Json, key: string): Promise<unknown> {
  const read = async (path: string) => expectStatus(await world.call("GET", path, { key }), 200);
  const agent = { ...agentBody("CONSUMER"), principal_id };
  const { did } = expectStatus(await world.call("POST", "/v1/agents", { key, body: agent }), 201);
  expectStatus(await world.call("POST", `/v1/agents/${did}/activate`, { key }), 200);
  return {
    principal: (await read(`/v1/principals/${principal_id}`)).verification_attestation.signed,
    list: (await read(`/v1/principals/${principal_id}/attestations`)).data.map(({ signed }: Json) => signed),
    ...(await signedOf(did)),
  };
}

/** Verifies the document and the certificate like an offline reader. */
async function signedOf(did: string): Promise<{ aid: unknown; certificate: unknown }> {
  const keys = expectStatus(await world.call("GET", "/.well-known/aeap-ca-jwks", { key: null }), 200) as never;
  const document = expectStatus(await world.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200);
  const aid = await verifyAid(document, keys, { issuer: ISSUER });
  const { certificate } = document.identity;
  const claims = await verifyCertificate(certificate, keys, { issuer: ISSUER, now: world.now() });
  return {
    aid: aid.ok && aid.content.identity.principal.verification.signed,
    certificate: claims.ok && claims.claims.aeap.attestation.signed,
  };
}

const all = (signed: boolean) => ({ principal: signed, list: [signed], aid: signed, certificate: signed });

describe("an attestation", () => {
  it.each(PLACES)("in %s is signed if the proof of its registered Verifier verified", async (_place, key) => {
    const principal = await registered(await proven(), key());
    expect(principal.verification_attestation.signed).toBe(true);
    expect(await saidOf(principal, key())).toEqual(all(true));
  });

  it.each(PLACES)("in %s is not signed without a proof", async (_place, key) => {
    expect(await saidOf(await registered(attestedBody(verifierId), key()), key())).toEqual(all(false));
  });

  it("is not signed if it is a placeholder, or if the proof is by a Verifier that is not registered", async () => {
    for (const body of [principalBody(), withProof(attestedBody("Somebody's KYC"), await signClaims(pair, {}))])
      expect(await saidOf(await registered(body, world.key), world.key)).toEqual(all(false));
  });

  it("is not signed if the operator recorded it", async () => {
    const principalId = expectStatus(await world.call("GET", "/v1/platform"), 200).tenant_principal_id;
    const read = expectStatus(await world.call("GET", `/v1/principals/${principalId}`), 200);
    expect(read.verification_attestation).toMatchObject({ verifier_id: "operator", signed: false });
  });

  it("is judged by itself: the newest one counts, and the list keeps the value of each", async () => {
    const principal = await registered(await proven(), world.key);
    const path = `/v1/principals/${principal.principal_id}/attestations`;
    const record = async (body: Json) => expectStatus(await world.call("POST", path, { body }), 201).signed;
    expect(await record({ placeholder: true })).toBe(false);
    expect(await saidOf(principal, world.key)).toMatchObject({ principal: false, list: [false, true], aid: false });
    const body = attestationBy(verifierId);
    const proof = await signClaims(pair, claimsOf({ ...principal, verification_attestation: body }));
    expect(await record({ ...body, proof })).toBe(true);
    expect(await saidOf(principal, world.key)).toEqual({ ...all(true), list: [true, false, true] });
  });
});

describe("ATTESTATION_PROOF=required", () => {
  const required = () => withVars(world, { ATTESTATION_PROOF: "required" });
  const refused = (field: string) => [422, "validation_failed", [[field, "required"]]];

  it("refuses a registration in production without a proof", async () => {
    const reply = await register(attestedBody(verifierId), world.liveKey, required());
    expect(faultsOf(reply)).toEqual(refused("verification_attestation.proof"));
    expectStatus(await register(await proven(), world.liveKey, required()), 201);
  });

  it("refuses a further attestation in production without a proof", async () => {
    const principal = await registered(await proven(), world.liveKey);
    const path = `/v1/principals/${principal.principal_id}/attestations`;
    const record = (body: Json) => required().call("POST", path, { key: world.liveKey, body });
    const body = attestationBy(verifierId);
    expect(faultsOf(await record(body))).toEqual(refused("proof"));
    const proof = await signClaims(pair, claimsOf({ ...principal, verification_attestation: body }));
    expectStatus(await record({ ...body, proof }), 201);
  });

  it("is reported with all other faults of the body, but not with a fault of the proof itself", async () => {
    const of = (overrides: Json) => register(attestedBody(verifierId, overrides), world.liveKey, required());
    const at = "verification_attestation";
    expect(faultsOf(await of({ verifier_id: "ver_none" }))).toEqual([
      422,
      "validation_failed",
      [
        [`${at}.proof`, "required"],
        [`${at}.verifier_id`, "not_found"],
      ],
    ]);
    expect(faultsOf(await of({ verifier_id: undefined }))).toEqual([
      422,
      "validation_failed",
      [
        [`${at}.proof`, "required"],
        [`${at}.verifier_id`, "required"],
      ],
    ]);
    expect(faultsOf(await of({ proof: 1 }))).toEqual([422, "validation_failed", [[`${at}.proof`, "invalid_type"]]]);
  });

  it("changes nothing in the sandbox, and nothing for the operator's attestations", async () => {
    for (const body of [principalBody(), attestedBody(verifierId), attestedBody("Somebody's KYC")])
      expectStatus(await register(body, world.key, required()), 201);
    const renewal = `/v1/operator/platforms/${world.platformId}/attestation`;
    const renewed = expectStatus(await operate(required(), "POST", renewal, {}), 201);
    expect(renewed.verification_attestation).toMatchObject({ verifier_id: "operator", signed: false });
  });
});

it.each(["", "yes", "REQUIRED"])('"%s" is not a setting: the service refuses its first call', async (value) => {
  const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const context = createExecutionContext();
  const bindings = { ...env, ATTESTATION_PROOF: value };
  const { status } = await createApp().fetch(new Request(`${ISSUER}/healthz`), bindings, context);
  await waitOnExecutionContext(context);
  const logged = String(log.mock.calls);
  log.mockRestore();
  expect([status, logged]).toEqual([500, expect.stringContaining("ATTESTATION_PROOF must be required or optional")]);
});
