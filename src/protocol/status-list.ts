// IETF Token Status List (draft-ietf-oauth-status-list): a reader finds a certificate's status in a list of many, so the service does not learn
// which certificate it looked up. Two bits per certificate (IDN-12).
import { encodeBase64Url, encodeUtf8 } from "../core/encoding.ts";
import type { SigningKey } from "./jwks.ts";
import { signJws } from "./jws.ts";

export const STATUS_LIST_TYPE = "statuslist+jwt";
export const STATUS_BITS = 2;

/** The values of the draft's registry that are used here; `invalid` covers revoked and replaced. */
export const CERTIFICATE_STATUS = { valid: 0, invalid: 1, suspended: 2 } as const;
export type CertificateStatus = keyof typeof CERTIFICATE_STATUS;

/**
 * The name of a value.
 * @throws RangeError for a value that is not in the registry above
 */
export function nameStatus(value: number): CertificateStatus {
  const found = Object.entries(CERTIFICATE_STATUS).find(([, known]) => known === value);
  if (!found) throw new RangeError(`${value} is not a status of a certificate`);
  return found[0] as CertificateStatus;
}

/**
 * The list as a signed JWT.
 *
 * @param entries index and status of every certificate that is not valid; all others are valid
 * @param options `uri`: the list's own address (`sub`); `size`: the number of indices; `now`: epoch milliseconds; `ttlSeconds`: how
 * long a reader may keep it
 * @returns a compact JWS with `typ: statuslist+jwt`; `status_list.lst` is base64url of the zlib-compressed bits, least
 * significant bits first
 * @throws RangeError if an index is outside the list
 */
export async function signStatusList(
  entries: Iterable<{ readonly idx: number; readonly status: CertificateStatus }>,
  options: {
    readonly uri: string;
    readonly issuer: string;
    readonly size: number;
    readonly now: number;
    readonly ttlSeconds: number;
  },
  caKey: SigningKey,
): Promise<string> {
  const bits = new Uint8Array(Math.ceil((options.size * STATUS_BITS) / 8));
  for (const { idx, status } of entries) {
    if (!Number.isSafeInteger(idx) || idx < 0 || idx >= options.size)
      throw new RangeError(`index ${idx} is not in the list`);
    const at = idx * STATUS_BITS;
    bits[at >> 3] = (bits[at >> 3] ?? 0) | (CERTIFICATE_STATUS[status] << (at & 7));
  }
  const issuedAt = Math.floor(options.now / 1_000);
  const claims = {
    iss: options.issuer,
    sub: options.uri,
    iat: issuedAt,
    exp: issuedAt + options.ttlSeconds * 2,
    ttl: options.ttlSeconds,
    status_list: { bits: STATUS_BITS, lst: encodeBase64Url(await deflate(bits)) },
  };
  return signJws(encodeUtf8(JSON.stringify(claims)), STATUS_LIST_TYPE, caKey);
}

async function deflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
