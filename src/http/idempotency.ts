// Contract section 9: one effect per Idempotency-Key. The object orders requests in flight; the outcome is written in the
// same batch as the effect, so a crash between the two can't execute twice. Once-only secrets are sealed under a key that
// only the caller can derive.
import type { Env } from "../context.ts";
import { ServiceError } from "../core/errors.ts";
import { HOUR_MS, IDEMPOTENCY_WINDOW_HOURS } from "../core/limits.ts";
import type { Database, Statement } from "../db/batch.ts";
import { insertOutcome, type Outcome } from "../db/outcomes.ts";
import { canonicalJson } from "../protocol/canonical-json.ts";
import type { Incoming } from "./router.ts";

export type Idempotency = {
  readonly requestKey: string;
  readonly bodyHash: string;
  readonly secret: boolean;
  /** HKDF input: the caller's raw credential and the raw key, of which the service keeps only hashes. */
  readonly credential: string;
  readonly key: string;
};

/** Thrown by the first trip when the call was answered before. */
export class Replay extends Error {
  readonly outcome: Outcome;
  constructor(outcome: Outcome) {
    super("answered before");
    this.name = "Replay";
    this.outcome = outcome;
  }
}

/**
 * The call's Idempotency-Key, or null when it has none or the route takes none. `space` is whose key it is within a
 * platform: the environment of a management key, or one agent.
 */
export async function openIdempotency(
  incoming: Incoming,
  space: string,
  credential: string,
): Promise<Idempotency | null> {
  const { idempotencyKey: key } = incoming;
  if (key === null) return null;
  const canonical = incoming.body === undefined ? "" : canonicalJson(incoming.body);
  const { method, path } = incoming.definition;
  // The path as it was read: a DID in it is the same raw or with %3A.
  const read = JSON.stringify([path, incoming.context.req.param()]);
  return {
    requestKey: await sha256([space, method, read, key].join("\n")),
    bodyHash: await sha256(canonical),
    secret: incoming.definition.idempotency === "secret",
    credential,
    key,
  };
}

/** Takes the key's turn: at once, or 409 while the original is in flight. Returns how to give it back. */
export async function beginInFlight(env: Env, idempotency: Idempotency): Promise<() => Promise<void>> {
  const { credential, requestKey, bodyHash } = idempotency;
  const stub = env.IDEMPOTENCY.get(env.IDEMPOTENCY.idFromName(await sha256(credential)));
  const begun = await stub.begin(requestKey, bodyHash);
  if (begun.state === "other_body") throw new ServiceError("idempotency_key_reused");
  if (begun.state === "processing") {
    throw new ServiceError("idempotency_key_processing", { headers: { "Retry-After": "1" } });
  }
  return () => stub.end(requestKey, begun.token);
}

export async function outcomeStatements(
  db: Database,
  idempotency: Idempotency,
  platformId: string,
  status: number,
  view: unknown,
  now: number,
): Promise<Statement[]> {
  const body = JSON.stringify(view ?? null);
  const row = {
    platformId,
    requestKey: idempotency.requestKey,
    bodyHash: idempotency.bodyHash,
    status,
    body: idempotency.secret ? await seal(idempotency, body) : body,
    sealed: idempotency.secret,
    expiresAt: now + IDEMPOTENCY_WINDOW_HOURS * HOUR_MS,
  };
  return insertOutcome(db, row, now);
}

/** The stored answer, opened with what the caller presents; another body under the same key is refused. */
export async function replayed(idempotency: Idempotency, outcome: Outcome): Promise<{ status: number; body: unknown }> {
  if (outcome.bodyHash !== idempotency.bodyHash) throw new ServiceError("idempotency_key_reused");
  const body = outcome.sealed ? await unseal(idempotency, outcome.body) : outcome.body;
  return { status: outcome.status, body: JSON.parse(body) as unknown };
}

const encoder = new TextEncoder();

async function sealingKey(idempotency: Idempotency): Promise<CryptoKey> {
  const input = await crypto.subtle.importKey("raw", encoder.encode(idempotency.credential), "HKDF", false, [
    "deriveKey",
  ]);
  return crypto.subtle.deriveKey(
    {
      name: "HKDF",
      hash: "SHA-256",
      salt: encoder.encode(idempotency.key),
      info: encoder.encode("idempotent-replay/v1"),
    },
    input,
    { name: "AES-GCM", length: 256 },
    false,
    ["encrypt", "decrypt"],
  );
}

async function seal(idempotency: Idempotency, plain: string): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const additionalData = encoder.encode(idempotency.requestKey);
  const sealed = await crypto.subtle.encrypt(
    { name: "AES-GCM", iv, additionalData },
    await sealingKey(idempotency),
    encoder.encode(plain),
  );
  return `${toBase64(iv)}.${toBase64(new Uint8Array(sealed))}`;
}

async function unseal(idempotency: Idempotency, text: string): Promise<string> {
  const [iv, sealed] = text.split(".");
  const additionalData = encoder.encode(idempotency.requestKey);
  try {
    const plain = await crypto.subtle.decrypt(
      { name: "AES-GCM", iv: fromBase64(iv ?? ""), additionalData },
      await sealingKey(idempotency),
      fromBase64(sealed ?? ""),
    );
    return new TextDecoder().decode(plain);
  } catch {
    // Another credential of the same platform: the answer was sealed for the one that made the call.
    throw new ServiceError("idempotency_key_reused", {
      message: "The original call was made with another credential.",
    });
  }
}

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", encoder.encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));
const fromBase64 = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
