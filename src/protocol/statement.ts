// Signed statements: a compact JWS by the CA key over facts, such as a receipt or an award. They never expire, because they grant nothing.
import { encodeUtf8 } from "../core/encoding.ts";
import type { KeySource, SigningKey } from "./jwks.ts";
import { type JsonObject, type JwsFault, signJws, verifyJws } from "./jws.ts";

/** Whether a claim has the right form. */
export type Judge = (value: unknown) => boolean;

/** A kind of statement: the header's exact `typ`, its name in errors, and the form of each claim. */
export type StatementKind<Claims> = {
  readonly typ: string;
  readonly name: string;
  readonly claims: { readonly [claim in keyof Claims]: Judge };
};

/** Why a statement is not accepted. */
export type StatementFault = JwsFault | "claims_malformed" | "issuer_mismatch";

export type StatementCheck<Claims> =
  | { readonly ok: true; readonly claims: Claims; readonly kid: string }
  | {
      readonly ok: false;
      readonly reason: StatementFault;
      /** For `claims_malformed`: the faulty claim. */
      readonly claim?: string;
    };

/**
 * Signs a statement.
 *
 * @returns a compact JWS with the header `{alg: "ES256", typ, kid}`
 * @throws TypeError naming a malformed claim
 */
export async function signStatement<Claims extends JsonObject>(
  kind: StatementKind<Claims>,
  claims: Claims,
  caKey: SigningKey,
): Promise<string> {
  const claim = findMalformedClaim(kind, claims);
  if (claim !== undefined) throw new TypeError(`${kind.name} claim ${claim} is malformed`);
  return signJws(encodeUtf8(JSON.stringify(claims)), kind.typ, caKey);
}

/**
 * Verifies a statement offline. Never throws on the content of `jws`.
 *
 * @param keys the issuer's published keys
 * @param options.issuer the only `iss` accepted
 */
export async function verifyStatement<Claims extends { readonly iss: string }>(
  kind: StatementKind<Claims>,
  jws: unknown,
  keys: KeySource,
  options: { readonly issuer: string },
): Promise<StatementCheck<Claims>> {
  const checked = await verifyJws(jws, kind.typ, keys);
  if (!checked.ok) return checked;
  const claim = findMalformedClaim(kind, checked.payload);
  if (claim !== undefined) return { ok: false, reason: "claims_malformed", claim };
  // Safe, because each claim was checked.
  const claims = checked.payload as unknown as Claims;
  if (claims.iss !== options.issuer) return { ok: false, reason: "issuer_mismatch" };
  return { ok: true, claims, kid: checked.kid };
}

function findMalformedClaim<Claims>({ claims: judges }: StatementKind<Claims>, claims: JsonObject): string | undefined {
  return Object.entries<Judge>(judges).find(([claim, judge]) => !judge(claims[claim]))?.[0];
}

// ---- Forms of claims ---------------------------------------------------------------------------------------------------

export const matches =
  (pattern: RegExp): Judge =>
  (value) =>
    typeof value === "string" && pattern.test(value);
export const equalsOneOf =
  (...words: string[]): Judge =>
  (value) =>
    words.includes(value as string);
export const isText = matches(/^.+$/s);
export const isAmount = matches(/^(?:0|[1-9]\d*)(?:\.\d+)?$/);
export const isAddressText = matches(/^0x[0-9a-fA-F]{40}$/);
/** 32 bytes in the form of the chain. */
export const isChainHash = matches(/^0x[0-9a-f]{64}$/);
/** A SHA-256 digest, lower-case hex. */
export const isDigest = matches(/^[0-9a-f]{64}$/);
export const isCaip2 = matches(/^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/);
export const isInstant = matches(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/);
export const isCount: Judge = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
