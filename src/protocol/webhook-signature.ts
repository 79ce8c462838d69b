// The signature of a webhook delivery (EVT-20): Standard Webhooks (github.com/standard-webhooks/standard-webhooks), symmetric `v1`. Off-the-shelf
// verifiers read `webhook-id`, `webhook-timestamp` and `webhook-signature`; `Service-Event-Id`, `Service-Timestamp` and `Service-Signature` carry
// the same values.
import { type Bytes, decodeBase64, encodeBase64, encodeUtf8 } from "../core/encoding.ts";

/** The prefix of a secret, before its base64. */
export const WEBHOOK_SECRET_PREFIX = "whsec_";
const SECRET_BYTES = 32;
/** How far the timestamp of a delivery may be from the receiver's clock, in seconds: the default of off-the-shelf verifiers. */
export const WEBHOOK_TOLERANCE_SECONDS = 300;
const VERSION = "v1";

/** A new secret: `whsec_` and base64 of 32 random bytes. */
export const drawWebhookSecret = (): string =>
  `${WEBHOOK_SECRET_PREFIX}${encodeBase64(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)))}`;

/** The signed parts of a delivery, which its headers and body carry. */
export type SignedDelivery = {
  /** The event's id: the same at every attempt, so that a receiver recognises a repeated delivery. */
  readonly id: string;
  /** The instant of the attempt, in epoch seconds. */
  readonly timestamp: number;
  /** The body exactly as sent. */
  readonly body: string;
};

/**
 * Signs a delivery with each valid secret: one, or two while one replaces the other.
 *
 * @param secrets `whsec_…`, newest first
 * @returns `v1,<base64>` of HMAC-SHA-256 over `id.timestamp.body` for each, separated by a space
 * @throws TypeError if a secret is not `whsec_` and base64 of 24 to 64 bytes
 */
export async function signWebhook(secrets: readonly string[], delivery: SignedDelivery): Promise<string> {
  const signatures = await Promise.all(secrets.map((secret) => signDelivery(secret, delivery)));
  return signatures.map((signature) => `${VERSION},${encodeBase64(signature)}`).join(" ");
}

/** Why a delivery is not accepted. `malformed`: a header is missing or malformed; `stale`: the timestamp is too far from the receiver's clock. */
export type WebhookFault = "malformed" | "stale" | "signature";

/** The three headers, under either family's names. */
export type WebhookHeaders = {
  readonly id: string | null;
  readonly timestamp: string | null;
  readonly signature: string | null;
};

/** The headers of a delivery: `Service-*` or, if absent, `webhook-*`. */
export const readWebhookHeaders = (headers: Headers): WebhookHeaders => ({
  id: headers.get("Service-Event-Id") ?? headers.get("webhook-id"),
  timestamp: headers.get("Service-Timestamp") ?? headers.get("webhook-timestamp"),
  signature: headers.get("Service-Signature") ?? headers.get("webhook-signature"),
});

/**
 * Verifies a delivery. Never throws on what was received. Any one of the signatures suffices: during a rotation there are two.
 *
 * @param secret of the endpoint, `whsec_…`
 * @param body the received bytes as text, before any parsing
 * @param options.now epoch seconds, by default the receiver's clock; `options.tolerance` in seconds, by default 300
 * @returns null if the delivery is accepted, otherwise why not
 * @throws TypeError if the secret is malformed
 */
export async function verifyWebhook(
  secret: string,
  { id, timestamp, signature }: WebhookHeaders,
  body: string,
  options: { readonly now?: number; readonly tolerance?: number } = {},
): Promise<WebhookFault | null> {
  const { now = Date.now() / 1_000, tolerance = WEBHOOK_TOLERANCE_SECONDS } = options;
  const key = await importSecret(secret, "verify");
  if (!id || !timestamp || !signature || !/^\d{1,12}$/.test(timestamp)) return "malformed";
  if (Math.abs(now - Number(timestamp)) > tolerance) return "stale";
  const signed = toSignedContent(id, timestamp, body);
  for (const each of signature.split(" ")) {
    const [version, text = ""] = each.split(",");
    const bytes = version === VERSION ? decodeBase64(text) : undefined;
    if (bytes && (await crypto.subtle.verify("HMAC", key, bytes, signed))) return null;
  }
  return "signature";
}

const toSignedContent = (id: string, timestamp: string | number, body: string): Bytes =>
  encodeUtf8(`${id}.${timestamp}.${body}`);

const signDelivery = async (secret: string, { id, timestamp, body }: SignedDelivery): Promise<Bytes> =>
  new Uint8Array(
    await crypto.subtle.sign("HMAC", await importSecret(secret, "sign"), toSignedContent(id, timestamp, body)),
  );

function importSecret(secret: string, use: "sign" | "verify"): Promise<CryptoKey> {
  const bytes = secret.startsWith(WEBHOOK_SECRET_PREFIX)
    ? decodeBase64(secret.slice(WEBHOOK_SECRET_PREFIX.length))
    : undefined;
  // The bounds of Standard Webhooks.
  if (!bytes || bytes.length < 24 || bytes.length > 64)
    throw new TypeError("a webhook secret is whsec_ and base64 of 24 to 64 bytes");
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, [use]);
}
