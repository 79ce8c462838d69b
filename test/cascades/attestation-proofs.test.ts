// The proof of an attestation that is recorded for a principal (PRN-22): the Verifier's claims are compared with the principal and the body.
import { beforeAll, describe, expect, it } from "vitest";
import { createWorld, expectStatus, type Json, principalBody, type Reply, type World } from "../support/world.ts";
import {
  attestationBy,
  claimsOf,
  drawKey,
  faultsOf,
  registerVerifier,
  signClaims,
  type VerifierPair,
} from "../verifiers/support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const path = (principalId: string): string => `/v1/principals/${principalId}/attestations`;
const record = (principalId: string, body: unknown): Promise<Reply> => world.call("POST", path(principalId), { body });
const list = async (principalId: string): Promise<Json> =>
  expectStatus(await world.call("GET", path(principalId)), 200);
const read = async (principalId: string): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/principals/${principalId}`), 200);

describe("the proof of a registered Verifier", () => {
  let pair: VerifierPair;
  let stranger: VerifierPair;
  let verifierId: string;
  beforeAll(async () => {
    [pair, stranger] = [await drawKey(), await drawKey()];
    verifierId = (await registerVerifier(world, [pair.jwk])).verifier_id;
  });

  /** The Verifier's claims about a principal and the attestation of a body. */
  async function claims(principalId: string, body: Json): Promise<Json> {
    return claimsOf({ ...(await read(principalId)), verification_attestation: body });
  }

  it("is checked against the principal and the body, and kept", async () => {
    const principalId = await world.principal();
    const body = attestationBy(verifierId);
    const proof = await signClaims(pair, await claims(principalId, body));
    expect(expectStatus(await record(principalId, { ...body, proof }), 201).proof).toBe(proof);
    expect((await list(principalId)).data[0].proof).toBe(proof);
  });

  it.each<[string, (stated: Json) => Json]>([
    ["iss", (stated) => ({ ...stated, iss: "ver_other" })],
    ["jti", (stated) => ({ ...stated, jti: "att_other" })],
    ["legal_name", (stated) => ({ ...stated, subject: { ...stated.subject, legal_name: "Other" } })],
    ["country", (stated) => ({ ...stated, subject: { ...stated.subject, country: "FR" } })],
    ["external_ref", (stated) => ({ ...stated, subject: { ...stated.subject, external_ref: "other" } })],
    ["model", (stated) => ({ ...stated, model: "kyc" })],
    ["tier", (stated) => ({ ...stated, tier: "TIER_3" })],
    ["iat", (stated) => ({ ...stated, iat: stated.iat - 1 })],
    ["exp", (stated) => ({ ...stated, exp: stated.exp + 1 })],
  ])("is refused if it states another %s", async (_claim, wrong) => {
    const principalId = await world.principal();
    const body = attestationBy(verifierId);
    const proof = await signClaims(pair, wrong(await claims(principalId, body)));
    expect(faultsOf(await record(principalId, { ...body, proof }))).toEqual([
      422,
      "validation_failed",
      [["proof", "invalid_value"]],
    ]);
  });

  it("is refused if it is not valid yet, and accepted if it is", async () => {
    const principalId = await world.principal();
    const body = attestationBy(verifierId);
    const stated = await claims(principalId, body);
    const seconds = Math.floor(world.now() / 1_000);
    for (const nbf of [seconds + 60, "now"]) {
      const proof = await signClaims(pair, { ...stated, nbf });
      expect(faultsOf(await record(principalId, { ...body, proof }))).toEqual([
        422,
        "validation_failed",
        [["proof", "invalid_value"]],
      ]);
    }
    const proof = await signClaims(pair, { ...stated, nbf: seconds - 1 });
    expectStatus(await record(principalId, { ...body, proof }), 201);
  });

  it("is refused with another's key or another type, and a disabled Verifier is refused too", async () => {
    const principalId = await world.principal();
    const body = attestationBy(verifierId);
    const stated = await claims(principalId, body);
    const named = { ...stranger, jwk: { ...stranger.jwk, kid: pair.jwk.kid } };
    for (const proof of [await signClaims(named, stated), await signClaims(pair, stated, { typ: "JWT" })]) {
      expect(faultsOf(await record(principalId, { ...body, proof }))).toEqual([
        422,
        "validation_failed",
        [["proof", "invalid_value"]],
      ]);
    }
    const { verifier_id: disabled } = await registerVerifier(world, [pair.jwk], { status: "disabled" });
    expect(faultsOf(await record(principalId, attestationBy(disabled)))).toEqual([
      422,
      "validation_failed",
      [["verifier_id", "invalid_value"]],
    ]);
  });
});

it("production accepts the attestation of a Verifier, but no placeholder", async () => {
  const key = world.liveKey;
  const { verifier_id: verifierId } = await registerVerifier(world, [(await drawKey()).jwk]);
  const body = principalBody({ verification_attestation: attestationBy(verifierId) });
  const { principal_id: principalId } = expectStatus(await world.call("POST", "/v1/principals", { body, key }), 201);
  const record = (body: Json) => world.call("POST", path(principalId), { body, key });
  expect(faultsOf(await record({ placeholder: true }))).toEqual([
    422,
    "validation_failed",
    [["placeholder", "invalid_value"]],
  ]);
  expect(faultsOf(await record(attestationBy("acme-verification")))).toEqual([
    422,
    "validation_failed",
    [["verifier_id", "not_found"]],
  ]);
  expectStatus(await record(attestationBy(verifierId)), 201);
});
