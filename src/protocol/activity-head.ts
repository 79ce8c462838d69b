// The signed head of a platform's activity log (EVT-13), a compact JWS by the CA key: up to this entry the log had this running hash. It never
// expires: it states a fact, and with a kept head anyone can show that nothing before it was changed.
import type { KeySource, SigningKey } from "./jwks.ts";
import {
  isCount,
  isDigest,
  isText,
  type StatementCheck,
  type StatementKind,
  signStatement,
  verifyStatement,
} from "./statement.ts";

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

export type ActivityHeadCheck = StatementCheck<ActivityHeadClaims>;

const HEAD: StatementKind<ActivityHeadClaims> = {
  typ: ACTIVITY_HEAD_TYPE,
  name: "activity head",
  claims: { iss: isText, sub: isText, seq: (value) => isCount(value) && value !== 0, hash: isDigest, iat: isCount },
};

/**
 * Signs a head.
 *
 * @returns a compact JWS with the header `{alg: "ES256", typ: "aeap-activity-head+jwt", kid}`
 * @throws TypeError naming a malformed claim
 */
export const signActivityHead = (claims: ActivityHeadClaims, caKey: SigningKey): Promise<string> =>
  signStatement(HEAD, claims, caKey);

/**
 * Verifies a head offline. Never throws on the content of `jws`. The caller compares `sub`, `seq` and `hash` with its copy of the log.
 *
 * @param keys the issuer's published keys
 * @param options.issuer the only `iss` accepted
 */
export const verifyActivityHead = (
  jws: unknown,
  keys: KeySource,
  options: { readonly issuer: string },
): Promise<ActivityHeadCheck> => verifyStatement(HEAD, jws, keys, options);
