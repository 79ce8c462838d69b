// The limits of a stolen key of the CA: the certificate's row names the keys (IDN-27), and a revoked key of the CA verifies nothing (IDN-38).
import { beforeAll, describe, expect, it } from "vitest";
import { alerts } from "../../src/db/tables/journal.ts";
import { noteAuthorityKeys } from "../../src/identity/authority.ts";
import { type CertificateClaims, issueCertificate, verifyCertificate } from "../../src/protocol/certificate.ts";
import { importSigningKey, pickPublicPart } from "../../src/protocol/jwks.ts";
import { type Agent, createWorld, expectStatus, ISSUER, type Json, type World } from "../support/world.ts";
import {
  kidIn,
  newAuthorityJwk,
  newEntry,
  newPair,
  presentAuthorityKey,
  publicOnly,
  secretOf,
  shownBy,
} from "./authority-support.ts";

let world: World;
let victim: Agent;
let provider: Agent;
let claims: CertificateClaims;
beforeAll(async () => {
  world = await createWorld();
  victim = await world.consumer();
  provider = await world.provider();
  const { verification } = await world.deps.ca();
  const checked = await verifyCertificate(victim.certificate, verification, { issuer: ISSUER, now: Date.now() });
  if (!checked.ok) throw new Error(checked.reason);
  claims = checked.claims;
});

const open = (on: World, as: Agent) =>
  on.as(as, "POST", "/v1/payment-intents", {
    consumer_did: victim.did,
    provider_did: provider.did,
    amount: "10.00",
    currency: "USDC",
  });
const checkOf = async (on: World, certificate: string): Promise<Json> =>
  expectStatus(await on.call("POST", "/v1/verify/certificate", { key: null, body: { certificate } }), 200);

describe("a thief of the CA's signing key", () => {
  it("cannot call as an agent with a certificate over another key, although DID and jti are the agent's", async () => {
    const { publicKey, privateKey } = await newPair();
    const jwk = pickPublicPart((await crypto.subtle.exportKey("jwk", publicKey)) as never);
    const certificate = await issueCertificate({ ...claims, cnf: { jwk } }, (await world.deps.ca()).signing);
    const refused = await open(world, { ...victim, certificate, privateKey });
    expect([refused.status, refused.body.code]).toEqual([401, "aeap_verification_failed"]);
    expect(refused.body.detail.reason).toBe("certificate_ended");
    expect(await checkOf(world, certificate)).toMatchObject({ valid: false, reason: "unknown" });
    expect((await open(world, victim)).status).toBe(201);
  });

  it("with a key that only verifies cannot make a valid certificate in place of one by the signing key", async () => {
    const earlier = await newAuthorityJwk();
    const rotated = await createWorld({
      CA_KEYS: secretOf([presentAuthorityKey("signing"), { jwk: earlier, use: "published" }]),
    });
    const certificate = await issueCertificate(claims, await importSigningKey(earlier));
    const refused = await open(rotated, { ...victim, certificate });
    expect([refused.status, refused.body.detail.reason]).toEqual([401, "certificate_ended"]);
    expect(await checkOf(rotated, certificate)).toMatchObject({ valid: false, reason: "unknown" });
  });
});

describe("a stolen key that the secret names as revoked", () => {
  let after: World;
  beforeAll(async () => {
    await world.run(noteAuthorityKeys);
    const keys = [await newEntry("signing"), publicOnly(presentAuthorityKey("revoked"))];
    after = await createWorld({ CA_KEYS: secretOf(keys) });
  });

  it("is no longer published, and causes no fault or alert", async () => {
    const { kid } = (await world.deps.ca()).signing;
    const { keys } = expectStatus(await after.call("GET", "/.well-known/aeap-ca-jwks", { key: null }), 200);
    expect(keys.map((key: Json) => key.kid)).toEqual([(await after.deps.ca()).signing.kid]);
    const noted = async () =>
      (await after.deps.db.select().from(alerts)).filter((alert) => alert.kind === "authority_key");
    await after.run(noteAuthorityKeys);
    expect(await noted()).toEqual([]);
    const { keys: shown, faults } = await shownBy(after);
    expect(faults).toEqual([]);
    expect(shown.find((key: Json) => key.kid === kid)).toMatchObject({
      use: "revoked",
      droppable_from: expect.any(String),
    });
  });

  it("verifies nothing, and every agent continues with a certificate that its platform has reissued", async () => {
    const refused = await open(after, victim);
    expect([refused.status, refused.body.code]).toEqual([401, "aeap_verification_failed"]);
    expect(await checkOf(after, victim.certificate)).toMatchObject({ valid: false, reason: "key_unknown" });
    for (const agent of [victim, provider]) {
      const aid = async () => expectStatus(await after.call("GET", `/v1/agents/${agent.did}/aid`, { key: null }), 200);
      const checked = async () =>
        expectStatus(await after.call("POST", "/v1/verify/aid", { key: null, body: { aid: await aid() } }), 200);
      expect(await checked()).toMatchObject({ valid: false, reason: "key_unknown" });
      const path = `/v1/agents/${agent.did}/certificate`;
      const { certificate } = expectStatus(await after.call("POST", path, { key: world.key }), 200);
      expect(kidIn(certificate)).toBe((await after.deps.ca()).signing.kid);
      expect(await checkOf(after, certificate)).toMatchObject({ valid: true });
      expect(await checked()).toMatchObject({ valid: true });
      agent.certificate = certificate;
    }
    expect((await open(after, victim)).status).toBe(201);
  });
});
