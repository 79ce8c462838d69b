// Sends one POST to an endpoint (EVT-25): at most 15 seconds for the whole answer, redirects not followed, 64 KiB read, 1 KiB kept. Whatever the
// receiver does, the result is an attempt, and nothing is thrown.
import {
  ANSWER_KEPT_MAX_BYTES,
  ANSWER_READ_MAX_BYTES,
  ANSWER_STORED_MAX_BYTES,
  DELIVERY_SECONDS_MAX,
  SECOND_MS,
} from "../core/limits.ts";
import type { Attempt } from "../db/tables/webhooks.ts";
import { signWebhook } from "../protocol/webhook-signature.ts";

/** Why an attempt failed without an answer, or despite its status. */
export const ATTEMPT_ERRORS = [
  "timeout",
  "connection_failed",
  "redirected",
  "address_refused",
  "name_not_resolved",
  "event_expired",
] as const;
export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

export type PostRequest = {
  readonly url: string;
  /** Newest first. */
  readonly secrets: readonly string[];
  readonly eventId: string;
  readonly body: string;
};

const USER_AGENT = "Service-Webhooks/1";

/** Calls `act` after `ms` milliseconds, unless the returned function is called first. */
export type StartTimer = (ms: number, act: () => void) => () => void;

export const startTimer: StartTimer = (ms, act) => {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
};

export async function postDelivery(
  { url, secrets, eventId, body }: PostRequest,
  start: StartTimer = startTimer,
): Promise<Attempt> {
  const at = Date.now();
  const timestamp = Math.floor(at / SECOND_MS);
  const signature = await signWebhook(secrets, { id: eventId, timestamp, body });
  const headers = {
    "Content-Type": "application/json",
    "User-Agent": USER_AGENT,
    "Service-Event-Id": eventId,
    "Service-Timestamp": String(timestamp),
    "Service-Signature": signature,
    "webhook-id": eventId,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signature,
  };
  const ended = (status: number | null, error: AttemptError | null, answer: string | null): Attempt => ({
    at,
    status,
    ms: Date.now() - at,
    error,
    answer,
  });
  const aborting = new AbortController();
  const stopTimer = start(DELIVERY_SECONDS_MAX * SECOND_MS, () => aborting.abort());
  let status: number | null = null;
  const read = new Uint8Array(ANSWER_KEPT_MAX_BYTES);
  const kept = { bytes: read, length: 0 };
  try {
    const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal: aborting.signal });
    status = response.status;
    await readAnswer(response, kept, aborting.signal);
    const redirected = status >= 300 && status < 400;
    return ended(status, redirected ? "redirected" : null, decodeKept(kept));
  } catch {
    const error = aborting.signal.aborted ? "timeout" : "connection_failed";
    return ended(status, error, status === null ? null : decodeKept(kept));
  } finally {
    stopTimer();
    aborting.abort();
  }
}

type KeptAnswer = { readonly bytes: Uint8Array; length: number };

/** Reads to the end of the answer, or at most ANSWER_READ_MAX_BYTES. */
async function readAnswer({ body }: Response, kept: KeptAnswer, signal: AbortSignal): Promise<void> {
  if (body === null) return;
  const reader = body.getReader();
  const late = Promise.withResolvers<never>();
  late.promise.catch(() => undefined);
  const refuse = () => late.reject(new Error("timeout"));
  signal.addEventListener("abort", refuse);
  try {
    for (let read = 0; read < ANSWER_READ_MAX_BYTES; ) {
      const { done, value } = await Promise.race([reader.read(), late.promise]);
      if (done) return;
      const part = value.subarray(0, kept.bytes.length - kept.length);
      kept.bytes.set(part, kept.length);
      kept.length += part.length;
      read += value.length;
    }
  } finally {
    signal.removeEventListener("abort", refuse);
    reader.cancel().catch(() => undefined);
  }
}

/**
 * Drops a character that the end cuts. The stored length is bounded too: a byte that is not UTF-8 is stored as three, and a control character as six.
 */
function decodeKept({ bytes, length }: KeptAnswer): string {
  const text = new TextDecoder().decode(bytes.subarray(0, length), { stream: true }).replaceAll("\0", "");
  let [kept, stored] = ["", 0];
  for (const character of text) {
    stored += utf8.encode(JSON.stringify(character)).length - QUOTES;
    if (stored > ANSWER_STORED_MAX_BYTES) break;
    kept += character;
  }
  return kept;
}
const utf8 = new TextEncoder();
const QUOTES = 2;

export const isAccepted = ({ status, error }: Attempt): boolean =>
  error === null && status !== null && status >= 200 && status < 300;

export const toUnsentAttempt = (error: AttemptError): Attempt => ({
  at: Date.now(),
  status: null,
  ms: 0,
  error,
  answer: null,
});
