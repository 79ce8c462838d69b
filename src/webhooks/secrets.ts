// Secrets of endpoints at rest (EVT-23): sealed under the newest key of WEBHOOK_SEAL_KEYS, and still readable with older ones. A sealed text names
// its key, and opens only for its own endpoint.
import type { Env } from "../context.ts";
import { openSealing } from "../core/seal.ts";
import type { EndpointRow } from "../db/tables/webhooks.ts";

export const {
  check: checkSealKeys,
  newestKey: newestSealKey,
  seal: sealSecret,
  open: openSecret,
} = openSealing("WEBHOOK_SEAL_KEYS");

/** The secrets that are valid now, newest first. */
export function openSecrets(
  env: Env,
  { webhookId, secret, previousSecret, previousUntil }: EndpointRow,
  now: number,
): Promise<string[]> {
  const counts = previousSecret !== null && (previousUntil ?? 0) > now;
  const sealed = counts ? [secret, previousSecret] : [secret];
  return Promise.all(sealed.map((text) => openSecret(env, webhookId, text)));
}
