// One effect per Idempotency-Key (IDM-1 to IDM-8). The object orders requests in flight; the outcome is written in the batch of the effect, so that
// a crash cannot execute it twice. Once-only secrets are sealed under a key that only the caller can derive.
import type { Env } from "../context.ts";
import { computeSha256Hex } from "../core/encoding.ts";
import { type FieldError, ServiceError, toFieldError } from "../core/errors.ts";
import { HOUR_MS, IDEMPOTENCY_KEY_MAX_CHARS, IDEMPOTENCY_WINDOW_HOURS } from "../core/limits.ts";
import { deriveSealingKey, seal, unseal } from "../core/seal.ts";
import type { Database, Statement } from "../db/batch.ts";
import { type IdempotencyOwner, insertOutcome, type Outcome } from "../db/outcomes.ts";
import { toCanonicalJson } from "../protocol/canonical-json.ts";
import type { Incoming } from "./incoming.ts";

export type Idempotency = {
  readonly requestKey: string;
  readonly bodyHash: string;
  readonly sealed: boolean;
  /** HKDF input: the caller's raw credential and the raw key, of which the service keeps only hashes. */
  readonly secret: string;
  readonly key: string;
};

/** Printable ASCII, bare or in double quotes, which are the same key. Null: none was sent. */
export function parseIdempotencyKey(
  header: string | undefined,
): { ok: true; value: string | null } | { ok: false; faults: FieldError[] } {
  if (header === undefined) return { ok: true, value: null };
  const key = /^".*"$/.test(header) ? header.slice(1, -1) : header;
  if (key.length <= IDEMPOTENCY_KEY_MAX_CHARS && /^[\x20-\x7e]+$/.test(key)) return { ok: true, value: key };
  const message = "Must be 1 to 255 printable ASCII characters.";
  return { ok: false, faults: [toFieldError("Idempotency-Key", "invalid_format", message)] };
}

/** `space` separates the keys of one platform: by environment, or by agent (IDM-2). */
export async function openIdempotency(
  { idempotencyKey: key, identity, route, context }: Incoming,
  { space, secret }: Pick<IdempotencyOwner, "space" | "secret">,
): Promise<Idempotency | null> {
  if (key === null) return null;
  const canonical = identity === undefined ? "" : toCanonicalJson(identity);
  // The decoded path: a DID in it is the same raw or with %3A.
  const path = JSON.stringify([route.path, context.req.param()]);
  return {
    requestKey: await computeSha256Hex([space, route.method, path, key].join("\n")),
    // The hash includes the key, which is never stored, so that a password in the body cannot be guessed from the hash.
    bodyHash: await computeSha256Hex([key, canonical].join("\n")),
    sealed: route.idempotency === "secret",
    secret,
    key,
  };
}

/** Takes the key's lock, or throws 409 while the original is in flight (IDM-5). Returns the function that releases it. */
export async function lockKey(env: Env, idempotency: Idempotency): Promise<() => Promise<void>> {
  const { secret, requestKey, bodyHash } = idempotency;
  const stub = env.IDEMPOTENCY.get(env.IDEMPOTENCY.idFromName(await computeSha256Hex(secret)));
  const begun = await stub.begin(requestKey, bodyHash);
  if (begun.state === "other_body") throw new ServiceError("idempotency_key_reused");
  if (begun.state === "processing") {
    throw new ServiceError("idempotency_key_processing", { headers: { "Retry-After": "1" } });
  }
  return () => stub.end(requestKey, begun.token);
}

export async function recordOutcome(
  db: Database,
  idempotency: Idempotency,
  platformId: string,
  { status, view }: { readonly status: number; readonly view: unknown },
  now: number,
): Promise<Statement[]> {
  const { requestKey, bodyHash, sealed } = idempotency;
  const plain = JSON.stringify(view ?? null);
  const body = sealed ? await seal(await deriveOutcomeKey(idempotency), plain, requestKey) : plain;
  const expiresAt = now + IDEMPOTENCY_WINDOW_HOURS * HOUR_MS;
  return insertOutcome(db, { platformId, requestKey, bodyHash, status, body, sealed, expiresAt }, now);
}

/** Opens the stored answer with the caller's credential; another body under the same key is refused (IDM-4). */
export async function replayOutcome(
  idempotency: Idempotency,
  outcome: Outcome,
): Promise<{ status: number; body: unknown }> {
  if (outcome.bodyHash !== idempotency.bodyHash) throw new ServiceError("idempotency_key_reused");
  const body = outcome.sealed
    ? await unseal(await deriveOutcomeKey(idempotency), outcome.body, idempotency.requestKey)
    : outcome.body;
  // Another credential of the same platform cannot open it: the answer is sealed for the credential that made the call (IDM-8).
  if (body === undefined) {
    const message = "The original call was made with another credential.";
    throw new ServiceError("idempotency_key_reused", { message, type: "other_credential" });
  }
  return { status: outcome.status, body: JSON.parse(body) as unknown };
}

const deriveOutcomeKey = ({ secret, key }: Idempotency): Promise<CryptoKey> =>
  deriveSealingKey(secret, key, "idempotent-replay/v1");
