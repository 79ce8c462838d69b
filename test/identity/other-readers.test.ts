// Libraries of other authors verify what the service signs, using only what it publishes (IDN-5, IDN-12, IDN-17): the certificate, the complete
// identity document with its rating, and the status list. None of the service's own code reads anything here.
import { createPublicKey, type JsonWebKey } from "node:crypto";
import { inflateSync } from "node:zlib";
import { getListFromStatusListJWT, getStatusListFromJWT } from "@sd-jwt/jwt-status-list";
import { extractStatusListReference, parseJWTStatusList, verifyStatusListJWT } from "@vess-id/status-list";
import canonicalize from "canonicalize";
import { createLocalJWKSet, flattenedVerify, importJWK, type JSONWebKeySet, type JWK, jwtVerify } from "jose";
import jsonwebtoken from "jsonwebtoken";
import { beforeAll, describe, expect, it } from "vitest";
import { confirm, facilitated } from "../facilitation/support.ts";
import { withEmptyCache } from "../support/variants.ts";
import { type Agent, createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";

let world: World;
let provider: Agent;
let consumer: Agent;
beforeAll(async () => {
  world = await createWorld();
  const purchase = await facilitated(world);
  ({ provider, consumer } = purchase);
  expectStatus(await confirm(world, consumer, purchase.task), 200);
});

const get = async (address: string, accept = "*/*", of = world): Promise<string> => {
  const { pathname, search } = new URL(address, "http://service.test");
  const reply = await of.call("GET", `${pathname}${search}`, { key: null, headers: { Accept: accept } });
  expect(reply.status).toBe(200);
  return reply.text;
};

/** The keys of an issuer, found by its name alone. */
const keysOf = async (issuer: string): Promise<JSONWebKeySet> =>
  JSON.parse(await get(`${issuer}/.well-known/aeap-ca-jwks`)) as JSONWebKeySet;

type Options = { readonly typ: string; readonly at?: Date };
type Reader = readonly [name: string, read: (jws: string, keys: JSONWebKeySet, options: Options) => Promise<Json>];
/** Each verifies a compact JWS and returns its payload. */
const READERS: readonly Reader[] = [
  [
    "jose",
    async (jws, keys, { typ, at }) =>
      (await jwtVerify(jws, createLocalJWKSet(keys), { algorithms: ["ES256"], typ, ...(at && { currentDate: at }) }))
        .payload,
  ],
  [
    "jsonwebtoken",
    async (jws, keys, { typ, at }) => {
      const { header } = jsonwebtoken.decode(jws, { complete: true }) ?? {};
      if (header?.typ !== typ) throw new Error(`typ ${header?.typ}`);
      const jwk = keys.keys.find(({ kid }) => kid === header.kid);
      const key = createPublicKey({ key: jwk as JsonWebKey, format: "jwk" });
      const clock = at && { clockTimestamp: at.getTime() / 1_000 };
      return jsonwebtoken.verify(jws, key, { algorithms: ["ES256"], ...clock });
    },
  ],
];

/** The issuer's key set, with a stranger's public key in it. */
async function strangersKeys(keys: JSONWebKeySet): Promise<JSONWebKeySet> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const { publicKey } = (await crypto.subtle.generateKey(algorithm, true, ["verify", "sign"])) as CryptoKeyPair;
  const { x, y } = (await crypto.subtle.exportKey("jwk", publicKey)) as JsonWebKey;
  return { keys: keys.keys.map((key) => ({ ...key, ...(x && { x }), ...(y && { y }) })) };
}
const claimsOf = (jws: string): Json => JSON.parse(Buffer.from(jws.split(".")[1] ?? "", "base64url").toString());

describe.each(READERS)("by %s", (_name, read) => {
  it("a certificate verifies until its expiry with only its issuer's keys", async () => {
    const { certificate } = provider;
    const { iss, exp } = claimsOf(certificate);
    const [keys, typ] = [await keysOf(iss), "aeap-cert+jwt"];
    const claims = await read(certificate, keys, { typ });
    expect(claims).toMatchObject({ sub: provider.did, aeap: { agent_id: provider.did, economic_role: "PROVIDER" } });
    await expect(read(certificate, keys, { typ, at: new Date(exp * 1_000 + 1_000) })).rejects.toThrow(/exp/);
    await expect(read(certificate, await strangersKeys(keys), { typ })).rejects.toThrow(/signature/);
    await expect(read(certificate, keys, { typ: "aeap-aid+jws" })).rejects.toThrow(/typ/);
  });

  it.each(["", "?revision", "?version"])(
    "the identity document%s verifies on its own, including the rating",
    async (numbered) => {
      const path = `/v1/agents/${provider.did}/aid`;
      const present = JSON.parse(await get(path));
      const name = numbered.slice(1);
      const query = numbered && `${numbered}=${present[name]}`;
      const text = await get(`${path}${query}`, "application/json");
      const document: Json = JSON.parse(text);
      const verify = async (changed: Json): Promise<Json> => {
        const { proof, live: _live, ...content } = changed;
        const [header, detached, signature] = proof.split(".");
        expect(detached).toBe("");
        const payload = Buffer.from(canonicalize(content) ?? "").toString("base64url");
        return read(`${header}.${payload}.${signature}`, await keysOf(changed.issuer), { typ: "aeap-aid+jws" });
      };
      const { proof: _proof, live: _live, ...content } = document;
      expect(await verify(document)).toEqual(content);
      if (numbered !== "?version") {
        expect(content.performance).toMatchObject({ agent_rating: 0.67, interactions: 1 });
        const better = { ...document, performance: { ...document.performance, agent_rating: 0.99 } };
        await expect(verify(better)).rejects.toThrow(/signature/);
      }
      const elsewhere = { ...document, identity: { ...document.identity, endpoint_url: "https://elsewhere.example" } };
      await expect(verify(elsewhere)).rejects.toThrow(/signature/);
      // The other form has the same text with the same signature.
      const jwt = await get(`${path}${query}`, "application/jwt");
      expect(await read(jwt, await keysOf(document.issuer), { typ: "aeap-aid+jws" })).toEqual(content);
      expect(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString()).toBe(canonicalize(content));
    },
  );

  it("the key in the document is the key in its certificate, which verifies with the same keys", async () => {
    const { issuer, identity } = JSON.parse(await get(`/v1/agents/${provider.did}/aid`));
    const { cnf, sub } = await read(identity.certificate, await keysOf(issuer), { typ: "aeap-cert+jwt" });
    expect([sub, cnf.jwk]).toEqual([identity.did, identity.public_key_jwk]);
  });

  it("a status list verifies at the address that certificates name, with its issuer's keys", async () => {
    const { uri } = getStatusListFromJWT(provider.certificate);
    const list = await get(uri);
    const { iss, exp } = claimsOf(list);
    const [keys, typ] = [await keysOf(iss), "statuslist+jwt"];
    expect(await read(list, keys, { typ })).toMatchObject({ sub: uri, ttl: 300, status_list: { bits: 2 } });
    await expect(read(list, keys, { typ, at: new Date(exp * 1_000 + 1_000) })).rejects.toThrow(/exp/);
    await expect(read(list, await strangersKeys(keys), { typ })).rejects.toThrow(/signature/);
  });
});

it("the detached proof verifies as flattened JSON (RFC 7515, appendix F)", async () => {
  const { proof, live: _live, ...content } = JSON.parse(await get(`/v1/agents/${provider.did}/aid`));
  const [header = "", , signature = ""] = proof.split(".");
  const payload = Buffer.from(canonicalize(content) ?? "").toString("base64url");
  const keys = createLocalJWKSet(await keysOf(content.issuer));
  const { protectedHeader } = await flattenedVerify({ protected: header, payload, signature }, keys);
  expect(protectedHeader?.typ).toBe("aeap-aid+jws");
});

it("a status list verifies with @vess-id, which has other authors than @sd-jwt", async () => {
  const { uri } = extractStatusListReference(provider.certificate);
  const list = await get(uri);
  const { iss, exp } = claimsOf(list);
  const [jwk] = (await keysOf(iss)).keys;
  const key = (await importJWK(jwk as JWK, "ES256")) as CryptoKey;
  const verified = (at: number, of = list) =>
    verifyStatusListJWT(of, key as never, { issuer: iss, subject: uri, currentTime: at, clockTolerance: 0 });
  const { payload } = await verified(exp - 1);
  expect(payload).toMatchObject({ ttl: 300, status_list: { bits: 2 } });
  await expect(verified(exp + 1)).rejects.toThrow(/exp/);
  const [head, body, signature = ""] = list.split(".");
  const forged = `${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`;
  await expect(verified(exp - 1, `${head}.${body}.${forged}`)).rejects.toThrow(/signature/);
});

/** Reads a list as in the IETF draft: zlib, then `bits` bits per place, the lowest bits of a byte first. */
function statusesIn({ bits, lst }: { readonly bits: number; readonly lst: string }): number[] {
  const bytes = inflateSync(Buffer.from(lst, "base64url"));
  const places = 8 / bits;
  return Array.from({ length: bytes.length * places }, (_, place) => {
    const byte = bytes[Math.floor(place / places)] ?? 0;
    return (byte >> ((place % places) * bits)) & ((1 << bits) - 1);
  });
}

describe("a status list", () => {
  it("is read correctly here: the draft's own examples pass", () => {
    expect(statusesIn({ bits: 1, lst: "eNrbuRgAAhcBXQ" })).toEqual([1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1]);
    expect(statusesIn({ bits: 2, lst: "eNo76fITAAPfAgc" })).toEqual([1, 2, 0, 3, 0, 1, 0, 1, 1, 2, 3, 3]);
  });

  it("has the same status at each place for @sd-jwt, @vess-id and zlib: valid, invalid, suspended", async () => {
    const [suspended, ended] = [await world.consumer(), await world.consumer()];
    const patch = async ({ did }: Agent, status: string) =>
      expectStatus(await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status } }), 200);
    await patch(suspended, "SUSPENDED");
    await patch(ended, "TERMINATED");
    // A list is signed at most once a minute: this forces the next one.
    await env.DB.prepare("update status_lists set signed_at = 0").run();
    const { uri } = getStatusListFromJWT(suspended.certificate);
    const text = await get(uri, "*/*", await withEmptyCache(world));
    const bySdJwt = getListFromStatusListJWT(text);
    const byDraft = statusesIn(claimsOf(text).status_list);
    expect(byDraft).toHaveLength(2 ** 16);
    expect(byDraft.map((_, place) => bySdJwt.getStatus(place))).toEqual(byDraft);
    const byVess = parseJWTStatusList(text).statusList;
    expect(byDraft.map((_, place) => byVess.getStatus(place))).toEqual(byDraft);
    const statusOf = ({ certificate }: Agent) => {
      expect(extractStatusListReference(certificate)).toEqual(getStatusListFromJWT(certificate));
      const named = getStatusListFromJWT(certificate);
      expect(named.uri).toBe(uri);
      return byDraft[named.idx];
    };
    expect([provider, ended, suspended].map(statusOf)).toEqual([0, 1, 2]);
  });
});
