// Secrets of the CA for tests.

import { decodeProtectedHeader } from "jose";
import type { PrivateJwk, PublicJwk } from "../../src/protocol/jwks.ts";
import { env, expectStatus, type Json, type World } from "../support/world.ts";
import { operate } from "../verifiers/support.ts";

export type Entry = { readonly jwk: PrivateJwk | PublicJwk; readonly use: string };

export const newPair = async (): Promise<CryptoKeyPair> =>
  (await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"])) as CryptoKeyPair;

export const newAuthorityJwk = async (): Promise<PrivateJwk> => {
  const pair = await newPair();
  const { kty, crv, x, y, d } = (await crypto.subtle.exportKey("jwk", pair.privateKey)) as unknown as PrivateJwk;
  return { kty, crv, x, y, d };
};
export const newEntry = async (use: string): Promise<{ jwk: PrivateJwk; use: string }> => ({
  jwk: await newAuthorityJwk(),
  use,
});

/** The key of the service under test, with another use. */
export function presentAuthorityKey(use: string): { jwk: PrivateJwk; use: string } {
  const [{ jwk }] = JSON.parse(env.CA_KEYS) as [{ jwk: PrivateJwk }];
  return { jwk, use };
}

/** An entry without its private half. */
export const publicOnly = ({ jwk, use }: Entry): Entry => {
  const { d: _, ...rest } = jwk as PrivateJwk;
  return { jwk: rest, use };
};

export const secretOf = (entries: readonly Entry[]): string => JSON.stringify(entries);

/** The key of the CA that signed a certificate. */
export const kidIn = (certificate: string): string | undefined => decodeProtectedHeader(certificate).kid;

/** `GET /v1/operator/ca`. */
export const shownBy = async (world: World): Promise<Json> =>
  expectStatus(await operate(world, "GET", "/v1/operator/ca"), 200);
