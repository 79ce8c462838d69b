// The CA's keys come from one secret: several are published, one signs (IDN-3).
import { describe, expect, it } from "vitest";
import { verifyCertificate } from "../../src/protocol/certificate.ts";
import { openCertificateAuthority } from "../../src/protocol/certificate-authority.ts";
import { computeJwkThumbprint, pickPublicPart } from "../../src/protocol/jwks.ts";
import { createWorld, env, ISSUER } from "../support/world.ts";
import { CA_JWK, OTHER_JWK } from "./fixtures.ts";

const entry = (jwk: unknown, use: string) => ({ jwk, use });
const open = (keys: unknown) => openCertificateAuthority(typeof keys === "string" ? keys : JSON.stringify(keys));

describe("the secret", () => {
  it("with one signing and one published key publishes both without their private parts, and signs with the signing one", async () => {
    const ca = await open([entry(CA_JWK, "signing"), entry(OTHER_JWK, "published")]);
    const kids = [await computeJwkThumbprint(CA_JWK), await computeJwkThumbprint(OTHER_JWK)];
    expect(ca.signing.kid).toBe(kids[0]);
    expect(ca.jwks.keys).toEqual([
      { ...pickPublicPart(CA_JWK), kid: kids[0], use: "sig", alg: "ES256" },
      { ...pickPublicPart(OTHER_JWK), kid: kids[1], use: "sig", alg: "ES256" },
    ]);
    expect([...ca.verification.keys()].sort()).toEqual([...kids].sort());
  });

  it.each([
    ["no JSON", "not json"],
    ["no list", { jwk: CA_JWK }],
    ["empty", []],
    ["without a signing key", [entry(CA_JWK, "published")]],
    ["with two signing keys", [entry(CA_JWK, "signing"), entry(OTHER_JWK, "signing")]],
    ["with a public key", [entry(pickPublicPart(CA_JWK), "signing")]],
    ["with another curve", [entry({ ...CA_JWK, crv: "P-384" }, "signing")]],
    ["with another use", [entry(CA_JWK, "maybe")]],
  ])("that is %s is refused, and the message contains no value of it", async (_name, secret) => {
    const thrown: unknown = await open(secret).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(Error);
    const text = `${String(thrown)} ${JSON.stringify(thrown)}`;
    for (const value of [CA_JWK.d, OTHER_JWK.d, CA_JWK.x]) expect(text).not.toContain(value);
  });
});

describe("a rotation", () => {
  it("keeps certificates of the earlier key valid while it is published, and ends them afterwards", async () => {
    const world = await createWorld();
    const { certificate } = await world.consumer();
    const [{ jwk: present }] = JSON.parse(env.CA_KEYS) as [{ jwk: unknown }];
    const verify = async (keys: unknown) => {
      const { verification } = await open(keys);
      const checked = await verifyCertificate(certificate, verification, { issuer: ISSUER, now: Date.now() });
      return checked.ok || checked.reason;
    };
    expect(await verify([entry(OTHER_JWK, "signing"), entry(present, "published")])).toBe(true);
    expect(await verify([entry(OTHER_JWK, "signing")])).toBe("key_unknown");
  });

  it("neither publishes nor verifies with a revoked key, and still lists it", async () => {
    const ca = await open([entry(CA_JWK, "signing"), entry(pickPublicPart(OTHER_JWK), "revoked")]);
    const [kid, revoked] = [await computeJwkThumbprint(CA_JWK), await computeJwkThumbprint(OTHER_JWK)];
    expect(ca.jwks.keys.map((key) => key.kid)).toEqual([kid]);
    expect([...ca.verification.keys()]).toEqual([kid]);
    expect(ca.keys).toEqual([
      { kid, use: "signing" },
      { kid: revoked, use: "revoked" },
    ]);
  });

  it("refuses a secret that names a key twice", async () => {
    const twice = [entry(CA_JWK, "signing"), entry(pickPublicPart(CA_JWK), "revoked")];
    await expect(open(twice)).rejects.toThrow("names a key twice");
  });
});
