// The signed head of the directory's change feed (DIR-14), a compact JWS by the CA key: up to this record the environment's feed had this running
// hash. It never expires: with the records, or an earlier head, any reader can show that nothing before it was changed.
import type { KeySource, SigningKey } from "./jwks.ts";
import { computeNextHash } from "./running-hash.ts";
import {
  equalsOneOf,
  isCount,
  isDigest,
  isText,
  type StatementCheck,
  type StatementKind,
  signStatement,
  verifyStatement,
} from "./statement.ts";

/** The header's `typ`, exactly. */
export const DIRECTORY_HEAD_TYPE = "aeap-directory-head+jwt";

export type DirectoryHeadClaims = {
  readonly iss: string;
  /** `sandbox` or `production`. */
  readonly environment: string;
  /** The number of the last record that the hash covers, from 1. */
  readonly seq: number;
  /** The running hash (running-hash.ts): 64 lower-case hex digits. */
  readonly hash: string;
  /** Epoch seconds. */
  readonly iat: number;
};

export type DirectoryHeadCheck = StatementCheck<DirectoryHeadClaims>;

const HEAD: StatementKind<DirectoryHeadClaims> = {
  typ: DIRECTORY_HEAD_TYPE,
  name: "directory head",
  claims: {
    iss: isText,
    environment: equalsOneOf("sandbox", "production"),
    seq: (value) => isCount(value) && value !== 0,
    hash: isDigest,
    iat: isCount,
  },
};

/**
 * Signs a head.
 *
 * @returns a compact JWS with the header `{alg: "ES256", typ: "aeap-directory-head+jwt", kid}`
 * @throws TypeError naming a malformed claim
 */
export const signDirectoryHead = (claims: DirectoryHeadClaims, caKey: SigningKey): Promise<string> =>
  signStatement(HEAD, claims, caKey);

/**
 * Verifies a head offline. Never throws on the content of `jws`. The caller compares `environment`, `seq` and `hash` with the records it has read.
 *
 * @param keys the issuer's published keys
 * @param options.issuer the only `iss` accepted
 */
export const verifyDirectoryHead = (
  jws: unknown,
  keys: KeySource,
  options: { readonly issuer: string },
): Promise<DirectoryHeadCheck> => verifyStatement(HEAD, jws, keys, options);

/** A record of the feed, exactly as GET /v1/directory/changes returns it. */
export type FeedRecord = {
  readonly seq: number;
  readonly did: string;
  readonly change_type: string;
  /** ISO 8601. */
  readonly occurred_at: string;
};

/** How far a reader has followed the feed: `{seq: 0, hash: FIRST_HASH}` before the first record, or a head that it trusts. */
export type FeedPlace = { readonly seq: number; readonly hash: string };

/**
 * Follows the feed: recomputes the running hash over the records after a place. To compare with a head, stop at its `seq`.
 *
 * @param from the place after which the records begin
 * @param records in order; records up to `from.seq` are skipped
 * @returns the place after the last record, or `{missing}` with the next expected number if the records have a gap
 * @throws TypeError if `from.hash` is not a hash, or a record is not a JSON value
 */
export async function followFeed(
  from: FeedPlace,
  records: Iterable<FeedRecord>,
): Promise<FeedPlace | { readonly missing: number }> {
  let { seq, hash } = from;
  for (const { seq: number, did, change_type, occurred_at } of records) {
    if (number <= seq) continue;
    if (number !== seq + 1) return { missing: seq + 1 };
    hash = await computeNextHash(hash, { seq: number, did, change_type, occurred_at });
    seq = number;
  }
  return { seq, hash };
}
