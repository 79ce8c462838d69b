// The signed head of a platform's activity log (EVT-13), a compact JWS by the CA key: up to this entry the log had this running hash. It never
// expires: it states what was, and whoever kept it can show that nothing before it was changed.
import { encodeUtf8 } from "../core/encoding.ts";
import type { KeySource, SigningKey } from "./jwks.ts";
import { type JsonObject, type JwsFault, signJws, verifyJws } from "./jws.ts";

/** The header's `typ`, exactly. */
export const ACTIVITY_HEAD_TYPE = "aeap-activity-head+jwt";

export type ActivityHeadClaims = {
  readonly iss: string;
  /** The platform_id. */
  readonly sub: string;
  /** The number of the last entry that the hash covers, from 1. */
  readonly seq: number;
  /** The running hash (running-hash.ts): 64 lower-case hex digits. */
  readonly hash: string;
  /** Epoch seconds. */
  readonly iat: number;
};

/** Why a head is not accepted. */
export type ActivityHeadFault = JwsFault | "claims_malformed" | "issuer_mismatch";

export type ActivityHeadCheck =
  | { readonly ok: true; readonly claims: ActivityHeadClaims }
  | { readonly ok: false; readonly reason: ActivityHeadFault };

/**
 * Signs a head.
 *
 * @returns a compact JWS with the header `{alg: "ES256", typ: "aeap-activity-head+jwt", kid}`
 * @throws TypeError if a claim is malformed
 */
export async function signActivityHead(claims: ActivityHeadClaims, caKey: SigningKey): Promise<string> {
  if (!areClaims(claims)) throw new TypeError("the claims of an activity head are malformed");
  return signJws(encodeUtf8(JSON.stringify(claims)), ACTIVITY_HEAD_TYPE, caKey);
}

/**
 * Verifies a head offline. Never throws on what `jws` holds. The caller compares `sub`, `seq` and `hash` with the log that it has.
 *
 * @param keys the issuer's published keys
 * @param options.issuer the only `iss` accepted
 */
export async function verifyActivityHead(
  jws: unknown,
  keys: KeySource,
  options: { readonly issuer: string },
): Promise<ActivityHeadCheck> {
  const checked = await verifyJws(jws, ACTIVITY_HEAD_TYPE, keys);
  if (!checked.ok) return checked;
  const { payload } = checked;
  if (!areClaims(payload)) return { ok: false, reason: "claims_malformed" };
  const claims = payload as unknown as ActivityHeadClaims;
  return claims.iss === options.issuer ? { ok: true, claims } : { ok: false, reason: "issuer_mismatch" };
}

const isText = (value: unknown): boolean => typeof value === "string" && value !== "";
const isCount = (value: unknown, least: number): boolean => Number.isSafeInteger(value) && (value as number) >= least;

const areClaims = ({ iss, sub, seq, hash, iat }: JsonObject): boolean =>
  isText(iss) &&
  isText(sub) &&
  isCount(seq, 1) &&
  isCount(iat, 0) &&
  typeof hash === "string" &&
  /^[0-9a-f]{64}$/.test(hash);
