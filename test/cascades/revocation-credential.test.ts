// A Verifier's credential to revoke an attestation (CRED-26): it is short-lived, for this service and one attestation, and good once.
import { beforeAll, describe, expect, it } from "vitest";
import { usedCredentials } from "../../src/db/tables/principals.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, expectStatus, type Json, principalBody, type World } from "../support/world.ts";
import { attestationBy, drawKey, patchVerifier, registerVerifier, type VerifierPair } from "../verifiers/support.ts";
import { operator, outcome } from "./account-support.ts";
import { claimsFor, credential, revoke, revokeAs } from "./revocation-support.ts";

let world: World;
let pair: VerifierPair;
let edwards: VerifierPair;
let stranger: VerifierPair;
let verifierId: string;
let strangersId: string;
let disabledId: string;
let attestation: Json;
beforeAll(async () => {
  world = await createWorld();
  [pair, edwards, stranger] = [await drawKey(), await drawKey("EdDSA"), await drawKey()];
  verifierId = (await registerVerifier(world, [pair.jwk, edwards.jwk])).verifier_id;
  strangersId = (await registerVerifier(world, [stranger.jwk])).verifier_id;
  disabledId = (await registerVerifier(world, [pair.jwk], { status: "disabled" })).verifier_id;
  attestation = attestationBy(verifierId);
  await register(attestation);
});

async function register(given: Json): Promise<void> {
  const body = principalBody({ verification_attestation: given });
  expectStatus(await world.call("POST", "/v1/principals", { body }), 201);
}

const seconds = (): number => Math.floor(Date.now() / 1_000);
const signed = (overrides: Json = {}, header: Json = {}, by = pair): Promise<string> =>
  credential(by, attestation, overrides, header);
const named = (): VerifierPair => ({ ...stranger, jwk: { ...stranger.jwk, kid: pair.jwk.kid } });

describe("a credential", () => {
  it.each<[string, () => Promise<string> | string]>([
    ["with another typ", () => signed({}, { typ: "aeap-attestation+jwt" })],
    ["without a typ", () => signed({}, { typ: undefined })],
    ["with another alg", () => signed({}, { alg: "ES384" }).catch(() => "eyJhbGciOiJFUzM4NCJ9.e30.AAAA")],
    [
      "with no alg",
      () =>
        `${btoa('{"alg":"none","typ":"aeap-revocation+jwt"}').replaceAll("=", "")}.${btoa(
          JSON.stringify(claimsFor(attestation)),
        )
          .replaceAll("=", "")
          .replaceAll("+", "-")
          .replaceAll("/", "_")}.`,
    ],
    ["with an unknown kid", () => signed({}, { kid: "nobody" })],
    ["by another key under its kid", () => signed({}, {}, named())],
    ["by another Verifier's key", () => signed({}, {}, stranger)],
    ["that names another Verifier", () => signed({ iss: strangersId })],
    ["that names a Verifier that is not registered", () => signed({ iss: "acme-verification" })],
    ["of a disabled Verifier", () => signed({ iss: disabledId })],
    ["for another service", () => signed({ aud: "https://other.example" })],
    ["for several services", () => signed({ aud: ["http://service.test"] })],
    ["without an audience", () => signed({ aud: undefined })],
    ["for another attestation", () => signed({ sub: "att_other" })],
    ["for none", () => signed({ sub: undefined })],
    ["that has ended", () => signed({ iat: seconds() - 60, exp: seconds() - 1 })],
    ["from the future", () => signed({ iat: seconds() + 60, exp: seconds() + 120 })],
    ["that is not valid yet", () => signed({ nbf: seconds() + 60 })],
    ["whose nbf is a word", () => signed({ nbf: "now" })],
    ["that lasts longer than five minutes", () => signed({ exp: seconds() + 302 })],
    ["that ends before it begins", () => signed({ iat: seconds() + 20, exp: seconds() + 10 })],
    ["without an end", () => signed({ exp: undefined })],
    ["without a beginning", () => signed({ iat: undefined })],
    ["without a jti", () => signed({ jti: undefined })],
    ["with a key in its header", () => signed({}, { jwk: pair.jwk })],
    ["that is not a JWS", () => "not.a.jws"],
  ])("%s is 401, and nothing is written", async (_what, draw) => {
    const before = await dumpDatabase();
    expect(outcome(await revoke(world, attestation.attestation_id, await draw()))).toEqual([
      401,
      "invalid_credentials",
    ]);
    expect(await dumpDatabase()).toEqual(before);
  });

  it("names both kinds of callers when it is refused", async () => {
    const reply = await revokeAs(world, attestation.attestation_id, {});
    expect([outcome(reply), reply.headers.get("WWW-Authenticate")]).toEqual([
      [401, "invalid_credentials"],
      'Bearer realm="verifiers", Bearer realm="operators"',
    ]);
  });

  it("counts once, even if twenty calls come at once, and another Verifier may use the same jti", async () => {
    const given = attestationBy(verifierId);
    await register(given);
    const jws = await credential(pair, given, { jti: "once" });
    const replies = await Promise.all(Array.from({ length: 20 }, () => revoke(world, given.attestation_id, jws)));
    expect(
      replies
        .map(({ status }) => status)
        .sort()
        .slice(0, 2),
    ).toEqual([200, 401]);
    const theirs = attestationBy(strangersId);
    await register(theirs);
    expectStatus(await revoke(world, theirs.attestation_id, await credential(stranger, theirs, { jti: "once" })), 200);
  });

  it("by either kind of key is accepted, and used ones are forgotten after their end", async () => {
    await world.deps.db
      .insert(usedCredentials)
      .values(Array.from({ length: 3 }, (_, i) => ({ verifierId, jti: `old-${i}`, expiresAt: Date.now() - 1_000 })));
    const given = attestationBy(verifierId);
    await register(given);
    expectStatus(await revoke(world, given.attestation_id, await credential(edwards, given)), 200);
    const left = await world.deps.db.select().from(usedCredentials);
    expect(left.filter(({ jti }) => jti.startsWith("old-"))).toEqual([]);
  });

  it("is not used up by a body that is refused or names another Verifier", async () => {
    const given = attestationBy(verifierId);
    await register(given);
    const jws = await credential(pair, given);
    const refused = async (body: Json) => (await revoke(world, given.attestation_id, jws, body)).body.field_errors;
    expect(await refused({ colour: "red" })).toMatchObject([{ field: "colour", code: "unknown_field" }]);
    expect(await refused({ verifier_id: strangersId })).toMatchObject([
      { field: "verifier_id", code: "invalid_value" },
    ]);
    expectStatus(await revoke(world, given.attestation_id, jws, { verifier_id: verifierId }), 200);
  });

  it("by a key that its Verifier has removed is refused", async () => {
    const own = await drawKey();
    const { verifier_id: id } = await registerVerifier(world, [own.jwk]);
    const given = attestationBy(id);
    await register(given);
    const jws = await credential(own, given);
    expectStatus(await patchVerifier(world, id, { jwks: { keys: [(await drawKey()).jwk] } }), 200);
    expect(outcome(await revoke(world, given.attestation_id, jws))).toEqual([401, "invalid_credentials"]);
    expectStatus(await revokeAs(world, given.attestation_id, operator(), { verifier_id: id }), 200);
  });
});
