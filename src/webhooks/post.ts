// One attempt of a delivery: checks the receiver's address (EVT-21), sends the POST (EVT-25), packs the answer for the log, and computes when the next
// attempt is due (EVT-26, EVT-27).
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { Env } from "../context.ts";
import {
  ANSWER_KEPT_MAX_BYTES,
  ANSWER_READ_MAX_BYTES,
  ANSWER_STORED_MAX_BYTES,
  DELIVERY_SECONDS_MAX,
  HOUR_MS,
  MINUTE_MS,
  SECOND_MS,
} from "../core/limits.ts";
import type { Attempt, DeliveryRow, StoredAttempt } from "../db/tables/webhooks.ts";
import { signWebhook } from "../protocol/webhook-signature.ts";
import { isPublicAddress, judgeAddress } from "./address.ts";

// ---- The POST (EVT-25) ---------------------------------------------------------------------------------------------------

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

/**
 * At most 15 seconds for the whole answer, redirects not followed, 64 KiB read, 1 KiB kept. Whatever the receiver does, the result is an attempt, and
 * nothing is thrown.
 */
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

/** Drops a character that the end cuts. The stored length is bounded too: a byte that is not UTF-8 becomes three, and a control character six. */
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

// ---- The receiver's address (EVT-21) -------------------------------------------------------------------------------------

/**
 * The URL again and, if a resolver is configured, the addresses that its name has now; null if they are accepted. The runtime resolves the name once
 * more when it connects, and that result cannot be seen. @throws Error if the resolver does not answer
 */
export async function judgeReceiver(env: Env, url: string): Promise<AttemptError | null> {
  const local = isLocal(env);
  if (judgeAddress(url, { local, own: parseOwnHost(env) }) !== null) return "address_refused";
  const { hostname, protocol } = new URL(url);
  // An address on this machine needs no resolver.
  if (local && (protocol === "http:" || hostname === "localhost" || !/[a-z]/.test(hostname))) return null;
  if (env.WEBHOOK_RESOLVER === "") return null;
  const addresses = await resolveName(env.WEBHOOK_RESOLVER, hostname);
  if (addresses.length === 0) return "name_not_resolved";
  return addresses.every(isPublicAddress) ? null : "address_refused";
}

export const isLocal = ({ WEBHOOK_LOOPBACK }: Pick<Env, "WEBHOOK_LOOPBACK">): boolean => WEBHOOK_LOOPBACK === "on";

/** Empty if no address is configured: then the service knows no host of its own. */
const parseOwnHost = ({ ISSUER }: Pick<Env, "ISSUER">): string =>
  URL.canParse(ISSUER) ? new URL(ISSUER).hostname : "";

const resolveName = async (resolver: string, name: string): Promise<string[]> =>
  (await Promise.all(["A", "AAAA"].map((type) => askResolver(resolver, name, type)))).flat();

const RESOLVER_WAIT_MS = 5 * SECOND_MS;
const A = 1;
const AAAA = 28;

async function askResolver(resolver: string, name: string, type: string): Promise<string[]> {
  const url = new URL(resolver);
  url.searchParams.set("name", name);
  url.searchParams.set("type", type);
  try {
    const response = await fetch(url, {
      headers: { Accept: "application/dns-json" },
      redirect: "manual",
      signal: AbortSignal.timeout(RESOLVER_WAIT_MS),
    });
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    const { Status, Answer = [] } = (await response.json()) as ResolverAnswer;
    if (typeof Status !== "number") throw new Error("it answered without a status");
    return Answer.filter((one) => one.type === A || one.type === AAAA).map((one) => one.data);
  } catch (thrown) {
    const cause = thrown instanceof Error ? thrown.message : "unknown";
    throw new Error(`the resolver of WEBHOOK_RESOLVER fails: ${cause}`);
  }
}

type ResolverAnswer = {
  readonly Status?: number;
  readonly Answer?: readonly { readonly type: number; readonly data: string }[];
};

/** @throws Error if WEBHOOK_RESOLVER is neither empty nor a URL, or WEBHOOK_LOOPBACK is neither on nor off */
export function checkResolver({ WEBHOOK_RESOLVER, WEBHOOK_LOOPBACK }: Env): unknown {
  if (WEBHOOK_LOOPBACK !== "on" && WEBHOOK_LOOPBACK !== "off") throw new Error("WEBHOOK_LOOPBACK must be on or off");
  if (WEBHOOK_RESOLVER === "") return null;
  const url = URL.canParse(WEBHOOK_RESOLVER) ? new URL(WEBHOOK_RESOLVER) : null;
  if (url?.protocol === "https:" || (url?.protocol === "http:" && url.hostname === "127.0.0.1")) return url;
  throw new Error("WEBHOOK_RESOLVER must be empty or an https URL");
}

// ---- Stored answers ------------------------------------------------------------------------------------------------------

/** Deflates an answer if that is shorter, because answers are most of the bytes that a delivery stores; they are concatenated in a column. */
export function packAnswer({ answer, ...attempt }: Attempt): { stored: StoredAttempt; deflated: Buffer | null } {
  const deflated = answer === null ? null : deflateRawSync(answer);
  if (deflated === null || deflated.length >= Buffer.byteLength(answer ?? ""))
    return { stored: { ...attempt, answer }, deflated: null };
  return { stored: { ...attempt, deflated: deflated.length }, deflated };
}

export function unpackAnswers({ attempts, answers }: Pick<DeliveryRow, "attempts" | "answers">): Attempt[] {
  let behind = 0;
  return attempts.map((stored) => {
    if ("answer" in stored) return stored;
    if ("packed" in stored) {
      const { packed, ...attempt } = stored;
      return { ...attempt, answer: inflateRawSync(Buffer.from(packed, "base64")).toString() };
    }
    const { deflated, ...attempt } = stored;
    behind += deflated;
    return {
      ...attempt,
      answer: inflateRawSync((answers ?? Buffer.of()).subarray(behind - deflated, behind)).toString(),
    };
  });
}

// ---- The schedule (EVT-26, EVT-27) ---------------------------------------------------------------------------------------

/** The waits after the failed attempts of a delivery. One more failure ends it as `failed`. */
export const RETRY_WAITS_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  10 * HOUR_MS,
] as const;

/** The share by which a wait may be longer, so that deliveries that failed together are not retried together. */
const JITTER = 0.1;

/** The instant, in real time, after `failed` failures; null after the last one. `random`: 0 to 1. */
export function computeNextAttempt(failed: number, now: number, random: number): number | null {
  const wait = RETRY_WAITS_MS[failed - 1];
  return wait === undefined ? null : now + Math.round(wait * (1 + JITTER * random));
}

/** Deliveries sent to an endpoint at once, deliveries of one claim, and of one claim while the endpoint fails. */
export const SENT_AT_ONCE = 6;
export const CLAIM_SIZE = 18;
export const CLAIM_SIZE_WHILE_FAILING = 2;

/**
 * Claims of one invocation. An invocation may send 1,000 requests and queries, of which a full claim and its outcomes take forty; the object's alarm
 * continues in another one.
 */
export const CLAIMS_PER_INVOCATION = 20;

/** Failures in a row after which an endpoint rests between its attempts. */
const RESTS_AFTER = 20;
const REST_MIN_MS = 5 * SECOND_MS;
const REST_MAX_MS = 5 * MINUTE_MS;

/** The rest doubles with every second failure. */
export const computeRestMs = (inARow: number): number =>
  inARow < RESTS_AFTER ? 0 : Math.min(REST_MAX_MS, REST_MIN_MS * 2 ** Math.floor((inARow - RESTS_AFTER) / 2));
