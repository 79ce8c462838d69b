// One signed record that any counterparty can verify with only the published keys (IDN-15 to IDN-20).
import { beforeAll, describe, expect, it } from "vitest";
import {
  AID_TYPE,
  type AidDocument,
  type SignedAid,
  signAid,
  toAidJwt,
  toCanonicalAid,
  verifyAid,
} from "../../src/protocol/aid.ts";
import { toCanonicalJson } from "../../src/protocol/canonical-json.ts";
import { importJwks, toPublishedJwks } from "../../src/protocol/jwks.ts";
import { aidContent, bytesChanged, CA_JWK, CONSUMER, caKey, ISSUER, otherKey, signPayload } from "./fixtures.ts";

const OPTIONS = { issuer: ISSUER };
const live = { status: "ACTIVE", environment: "sandbox", as_of: "2026-07-21T12:00:00Z" };
let keys: Awaited<ReturnType<typeof importJwks>>;
let signed: SignedAid;
let document: AidDocument;

beforeAll(async () => {
  keys = await importJwks(await toPublishedJwks([CA_JWK]));
  signed = await signAid(aidContent(), await caKey());
  document = { ...aidContent(), proof: signed.proof, live };
});

const verify = (aid: unknown) => verifyAid(aid, keys, OPTIONS);
const reasonFor = async (aid: unknown) => {
  const result = await verify(aid);
  return result.ok ? "accepted" : result.reason;
};

describe("a signed document", () => {
  it("states whether the attestation was signed, or has an earlier version without this statement", async () => {
    const { identity } = aidContent();
    const { principal } = identity;
    for (const stated of [{}, { signed: true }, { signed: false }]) {
      const verification = { ...principal.verification, ...stated };
      const content = { ...aidContent(), identity: { ...identity, principal: { ...principal, verification } } };
      const { proof } = await signAid(content, await caKey());
      const result = await verify({ ...content, proof, live });
      expect(result.ok && result.content.identity.principal.verification).toEqual(verification);
    }
  });

  it("has a detached JWS over its RFC 8785 text", async () => {
    expect(signed.proof).toMatch(/^[A-Za-z0-9_-]+\.\.[A-Za-z0-9_-]{86}$/);
    expect(JSON.parse(atob(signed.proof.split(".")[0] ?? ""))).toEqual({
      alg: "ES256",
      typ: "aeap-aid+jws",
      kid: (await caKey()).kid,
    });
    expect(signed.canonical).toBe(toCanonicalJson(aidContent()));
  });

  it("verifies as JSON and as a compact JWS, both with the same content", async () => {
    for (const form of [document, JSON.parse(JSON.stringify(document)), toAidJwt(document), toAidJwt(signed)]) {
      expect(await verify(form)).toEqual({ ok: true, content: aidContent(), kid: (await caKey()).kid });
    }
  });

  it("has one signature for both forms", () => {
    const [header, , signature] = toAidJwt(document).split(".");
    expect(`${header}..${signature}`).toBe(signed.proof);
    expect(toAidJwt(signed)).toBe(toAidJwt(document));
  });

  it("verifies in whatever order its members arrive", async () => {
    const reversed = Object.fromEntries(Object.entries(document).reverse());
    expect((await verify(reversed)).ok).toBe(true);
  });

  it("keeps members that a later version adds, and signs them", async () => {
    const later = { ...aidContent(), later: { added: [1] } };
    const { proof } = await signAid(later, await caKey());
    expect((await verify({ ...later, proof })).ok).toBe(true);
    expect(await reasonFor({ ...later, later: { added: [2] }, proof })).toBe("signature_invalid");
  });

  it("may have no escrow, like a consumer's", async () => {
    const consumer = { ...aidContent(), escrow: null };
    const { proof } = await signAid(consumer, await caKey());
    expect((await verify({ ...consumer, proof })).ok).toBe(true);
  });
});

describe("the status is not signed", () => {
  it("live, status and proof do not change the signed text, and are not part of the verified content", async () => {
    const changed = { ...document, live: { ...live, status: "SUSPENDED" }, status: "DRAFT" };
    expect(toCanonicalAid(changed)).toBe(signed.canonical);
    expect(await verify(changed)).toEqual({ ok: true, content: aidContent(), kid: (await caKey()).kid });
  });

  it("members of these names inside a pillar are signed like all others", async () => {
    const inside = { ...document, governance: { ...document.governance, status: "ACTIVE" } };
    expect(await reasonFor(inside)).toBe("signature_invalid");
  });

  it("a compact JWS that contains them is refused", async () => {
    const jws = await signPayload(JSON.parse(toCanonicalJson({ ...aidContent(), live })), AID_TYPE);
    expect(await reasonFor(jws)).toBe("not_canonical");
  });
});

describe("a document with any byte changed fails verification", () => {
  it("as JSON", async () => {
    const text = toCanonicalJson({ ...aidContent(), proof: signed.proof });
    for (const changed of bytesChanged(text)) {
      const parsed = parse(changed);
      if (parsed !== undefined) expect((await verify(parsed)).ok, changed).toBe(false);
    }
  });

  it("as a compact JWS", async () => {
    for (const changed of bytesChanged(toAidJwt(signed))) expect((await verify(changed)).ok, changed).toBe(false);
  });

  it("and with any member changed, added or left out", async () => {
    for (const name of Object.keys(aidContent())) {
      const { [name]: _left, ...rest } = document as unknown as Record<string, unknown>;
      expect((await verify(rest)).ok, `without ${name}`).toBe(false);
      expect((await verify({ ...rest, [name]: "changed" })).ok, `other ${name}`).toBe(false);
    }
    expect(await reasonFor({ ...document, added: 1 })).toBe("signature_invalid");
    expect(await reasonFor({ ...document, performance: { ...document.performance, agent_rating: 0.88 } })).toBe(
      "signature_invalid",
    );
  });
});

describe("a document is refused", () => {
  it.each<[string, (document: AidDocument) => unknown, string]>([
    ["that is undefined", () => undefined, "document_malformed"],
    ["that is a list", () => [], "document_malformed"],
    ["that contains a value outside JSON", (aid) => ({ ...aid, at: undefined }), "document_malformed"],
    ["that is a draft with a null proof", (aid) => ({ ...aid, proof: null }), "proof_missing"],
    ["without proof", ({ proof: _, ...rest }) => rest, "proof_missing"],
    ["whose proof is an object", (aid) => ({ ...aid, proof: {} }), "malformed"],
    ["whose proof is a whole JWS", (aid) => ({ ...aid, proof: toAidJwt(aid) }), "malformed"],
    ["whose proof is a word", (aid) => ({ ...aid, proof: "proof" }), "malformed"],
    ["given as JSON text", (aid) => JSON.stringify(aid), "malformed"],
  ])("%s", async (_name, change, reason) => {
    expect(await reasonFor(change(document))).toBe(reason);
  });

  it("that was signed by a stranger", async () => {
    const { proof } = await signAid(aidContent(), await otherKey());
    expect(await reasonFor({ ...document, proof })).toBe("key_unknown");
  });

  it("that was signed as another type", async () => {
    const jws = await signPayload(JSON.parse(signed.canonical), "aeap-cert+jwt");
    expect(await reasonFor(jws)).toBe("type_not_allowed");
  });

  it("that has another issuer", async () => {
    expect(await verifyAid(document, keys, { issuer: "https://other.example" })).toEqual({
      ok: false,
      reason: "issuer_mismatch",
    });
  });

  it.each<[string, object, string]>([
    ["without a version", { version: null }, "document_malformed"],
    ["without a pillar", { disputes: null }, "document_malformed"],
    ["whose escrow is a text", { escrow: "none" }, "document_malformed"],
    ["whose DID is not its identity's", { did: CONSUMER }, "subject_mismatch"],
    ["whose DID is no DID", { did: "agent" }, "subject_mismatch"],
  ])("%s, although it is signed; and signAid does not sign it", async (_name, change, reason) => {
    const content = JSON.parse(toCanonicalJson({ ...aidContent(), ...change }));
    const jws = await signPayload(sorted(content), AID_TYPE);
    expect(await reasonFor(jws)).toBe(reason);
    await expect(signAid(content, await caKey())).rejects.toThrow(TypeError);
  });
});

it("a draft has no compact form", () => {
  expect(() => toAidJwt({ ...document, proof: null })).toThrow(TypeError);
});

// JSON.parse keeps the order of the canonical text, and JSON.stringify writes it in that order.
const sorted = (value: unknown): unknown => JSON.parse(toCanonicalJson(value));

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
