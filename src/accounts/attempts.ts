// Every derivation of a password starts here and takes a place in the bucket of its client's network (CRED-20). Failed attempts are counted exactly:
// by client address and by account within it, so that an attacker locks only himself out (CRED-21), and by account over all addresses, after which
// only the account's known networks may try (CRED-31). An attempt counts as failed until `giveBack`.

import crypto, { randomBytes, timingSafeEqual } from "node:crypto";
import type { Deps, PasswordCost } from "../context.ts";
import { toClientNetwork, toClientSubnet } from "../core/client-network.ts";
import { computeSha256Hex, decodeBase64Url, encodeBase64Url } from "../core/encoding.ts";
import { ServiceError } from "../core/errors.ts";
import {
  DAY_MS,
  LOG_IN_FAILURES_A_DAY,
  LOG_IN_FAILURES_PER_ACCOUNT,
  LOG_IN_FAILURES_PER_ADDRESS,
  LOG_IN_WINDOW_MINUTES,
  MINUTE_MS,
  SECOND_MS,
} from "../core/limits.ts";
import { limitTurns } from "../core/retry.ts";
import { foldName } from "../core/text.ts";
import { commit, readBatch } from "../db/batch.ts";
import { recordNotice } from "../journal/alerts.ts";
import type { Bucket } from "../objects/guards.ts";
import { findPlatformByEmail } from "./store.ts";

const BY_CLIENT = {
  windowMs: LOG_IN_WINDOW_MINUTES * MINUTE_MS,
  perAccount: LOG_IN_FAILURES_PER_ACCOUNT,
  perAddress: LOG_IN_FAILURES_PER_ADDRESS,
};
const BY_ACCOUNT = { windowMs: DAY_MS, perAddress: Number.POSITIVE_INFINITY };
/** The two counts that an account's object keeps over all addresses: failures, and mails about them. */
const FAILURE_COUNT = "failed";
const OWNER_MAIL_COUNT = "told";

export type Attempt = {
  /** How long clients of unknown networks have to wait, in milliseconds; 0 while any client may try. */
  readonly strangersWaitMs: number;
  /** Uncounts the attempt, because it succeeded or no credential was judged. */
  readonly giveBack: () => Promise<void>;
  /** Keeps the attempt counted. The failure that closes the account to unknown networks is mailed to its owner. */
  readonly fail: () => Promise<void>;
};

const getAttemptGuard = ({ env: { ATTEMPTS } }: Deps, name: string) => ATTEMPTS.get(ATTEMPTS.idFromName(name));
const getNetworkGuard = (deps: Deps, client: string) => getAttemptGuard(deps, toClientSubnet(client));
const getAccountGuard = (deps: Deps, account: string) => getAttemptGuard(deps, `account ${account}`);

/** An account's object has no bucket: derivations are bounded by network. */
const NO_BUCKET: Bucket = { atOnce: 0, everyMs: 0 };
const toAccountGuess = (account: string) => ({ account, address: "" });

const hashAccountEmail = (email: string): Promise<string> => computeSha256Hex(foldName(email));

/** @throws ServiceError `rate_limited` when too many attempts of this client have failed, or its network derives too many passwords */
export async function beginAttempt(deps: Deps, client: string, email: string): Promise<Attempt> {
  const account = await hashAccountEmail(email);
  const [ofClient, ofAccount] = [getNetworkGuard(deps, client), getAccountGuard(deps, account)];
  const now = Date.now();
  const guess = { account, address: toClientNetwork(client) };
  const here = await ofClient.begin(guess, now, BY_CLIENT, deps.config.passwords);
  if (!here.ok) throw toTooManyAttemptsError(here.retryAfterMs);
  // In this order, because an attempt that the client's own limit refuses must not count against the account.
  const anywhere = await ofAccount.begin(
    toAccountGuess(FAILURE_COUNT),
    now,
    { ...BY_ACCOUNT, perAccount: LOG_IN_FAILURES_A_DAY },
    NO_BUCKET,
  );
  return {
    strangersWaitMs: anywhere.ok ? 0 : anywhere.retryAfterMs,
    giveBack: async () => {
      await Promise.all([ofClient.giveBack(here.id), anywhere.ok && ofAccount.giveBack(anywhere.id)]);
    },
    fail: async () => {
      if (!anywhere.ok || anywhere.left > 0) return;
      const told = await ofAccount.begin(
        toAccountGuess(OWNER_MAIL_COUNT),
        now,
        { ...BY_ACCOUNT, perAccount: 1 },
        NO_BUCKET,
      );
      if (told.ok) await notifyOwnerOfLimit(deps, email);
    },
  };
}

/** @throws ServiceError `rate_limited` when the client's network derives too many */
export async function hashNewPassword(deps: Deps, client: string, password: string): Promise<string> {
  const place = await getNetworkGuard(deps, client).derive(Date.now(), deps.config.passwords);
  if (!place.ok)
    throw toTooManyAttemptsError(place.retryAfterMs, "Too many passwords were sent at once; wait before the next.");
  return hashPassword(password, deps.passwordCost);
}

function toTooManyAttemptsError(
  waitMs: number,
  message = "Too many attempts have failed, or came at once; wait before the next.",
): ServiceError {
  const seconds = Math.max(1, Math.ceil(waitMs / SECOND_MS));
  return new ServiceError("rate_limited", { message, headers: { "Retry-After": String(seconds) } });
}

/** @throws ServiceError `rate_limited` for a client of an unknown network while the account admits only known networks */
export function refuseStrangerNetwork({ strangersWaitMs }: Attempt, isKnown: boolean): void {
  if (strangersWaitMs > 0 && !isKnown) throw toTooManyAttemptsError(strangersWaitMs);
}

/** Runs after the answer, so that the answer's time does not reveal whether the address has an account. */
async function notifyOwnerOfLimit({ db, clock }: Deps, email: string): Promise<void> {
  const { platform } = await readBatch(db, { platform: findPlatformByEmail(db, email) });
  // The address of a new account is not verified yet.
  if (!platform || platform.status === "EMAIL_PENDING") return;
  await commit(db, [recordNotice(db, platform, clock.now(), { kind: "customer.log_ins_limited", data: {} })]);
}

/** Marks a refusal as a failed attempt. Only `judgeAttempt` makes one, so its holder is within an attempt. */
export type MarkFailed = (refusal: ServiceError) => ServiceError;

/** Checks a password. `_within` proves that an attempt has taken a place for the derivation. */
export const checkPresentedPassword = (
  { passwordCost }: Deps,
  _within: MarkFailed,
  password: string,
  stored: string | null,
  next: ChooseNextPassword,
): Promise<PasswordCheck> => checkPassword(password, stored, passwordCost, next);

/**
 * Runs a judgement as an attempt. It counts as failed only if the judgement marks its refusal with `wrong`; a busy isolate's refusal does not count.
 */
export async function judgeAttempt<T>(
  attempt: Attempt,
  background: (work: Promise<unknown>) => void,
  judgement: (wrong: MarkFailed) => Promise<T>,
): Promise<T> {
  let failed = false;
  const wrong = (refusal: ServiceError) => {
    failed = true;
    return refusal;
  };
  try {
    return await judgement(wrong);
  } finally {
    background(failed ? attempt.fail() : attempt.giveBack());
  }
}

/** Forgets the account's failures, from this client and over all addresses, because its owner has just proven the address. */
export async function forgetFailures(deps: Deps, client: string, email: string): Promise<void> {
  const account = await hashAccountEmail(email);
  const guess = { account, address: toClientNetwork(client) };
  await Promise.all([getNetworkGuard(deps, client).forgive(guess), getAccountGuard(deps, account).forgiveAll()]);
}

// Passwords at rest (CRED-20): scrypt with its parameters next to the hash, so that stronger ones replace them at the next log-in. An isolate
// derives one at a time, because a derivation blocks it. Only attempts.ts imports this file, so that each derivation has a place in the bucket of
// its client's network.

const CURRENT_COST: PasswordCost = { N: 2 ** 14, r: 8, p: 5 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** By default Node refuses to derive with more than 32 MiB; the parameters need 128 · N · r bytes. */
const MEMORY_FACTOR = 256;

/** A derivation blocks the isolate: after each one it serves other requests for twice as long as the derivation took. */
const runInTurn = limitTurns(
  { atOnce: 1, inAll: 1, patienceSeconds: 10, leaseSeconds: 30, rest: 2 },
  // Measures durations, so it must not be a clock that can be set.
  { now: () => performance.now(), wait: (ms) => scheduler.wait(ms) },
);

/** `scrypt$N$r$p$salt$hash`, salt and hash in base64url. */
export const hashPassword = (password: string, cost = CURRENT_COST): Promise<string> =>
  runInTurn("scrypt", () => deriveNewHash(password, cost));

async function deriveNewHash(password: string, cost: PasswordCost): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  return formatHash(cost, salt, await deriveScrypt(password, salt, cost));
}

const formatHash = ({ N, r, p }: PasswordCost, salt: Uint8Array, hash: Uint8Array): string =>
  ["scrypt", N, r, p, encodeBase64Url(salt), encodeBase64Url(hash)].join("$");

/** An unknown address is compared with this hash, so that it costs the same as a known one. */
const buildUnknownAddressHash = (cost: PasswordCost): string =>
  formatHash(cost, new Uint8Array(SALT_BYTES), new Uint8Array(HASH_BYTES));

/** `hash`: the hash to store from now on, if any. */
export type PasswordCheck = { readonly matches: boolean; readonly hash: string | null };
/** Names the password to store once the presented one matches. `outdated`: the stored hash was made with other parameters than the current ones. */
export type ChooseNextPassword = (outdated: boolean) => string | null;

/** `stored` is null for an unknown address. Both derivations share one turn, so that a caller waits once. */
export const checkPassword = (
  password: string,
  stored: string | null,
  cost = CURRENT_COST,
  next: ChooseNextPassword = () => null,
): Promise<PasswordCheck> =>
  runInTurn("scrypt", async () => {
    const { parameters, salt, hash } = parseHash(stored ?? buildUnknownAddressHash(cost));
    const derived = await deriveScrypt(password, salt, parameters);
    if (!timingSafeEqual(derived, hash) || stored === null) return { matches: false, hash: null };
    const { N, r, p } = parameters;
    const wanted = next(N !== cost.N || r !== cost.r || p !== cost.p);
    return { matches: true, hash: wanted === null ? null : await deriveNewHash(wanted, cost) };
  });

function parseHash(stored: string) {
  const [scheme, N, r, p, salt = "", hash = ""] = stored.split("$");
  const [saltBytes, hashBytes] = [decodeBase64Url(salt), decodeBase64Url(hash)];
  if (scheme !== "scrypt" || !saltBytes || hashBytes?.length !== HASH_BYTES) throw new Error("no hash of a password");
  return { parameters: { N: Number(N), r: Number(r), p: Number(p) }, salt: saltBytes, hash: hashBytes };
}

// ---- Derivations -------------------------------------------------------------------------------------------------------

const deriveScrypt = (password: string, salt: Uint8Array, { N, r, p }: PasswordCost): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    const options = { N, r, p, maxmem: MEMORY_FACTOR * N * r };
    // Normalises the text: an accent typed as one character or as two is the same password.
    crypto.scrypt(password.normalize("NFKC"), salt, HASH_BYTES, options, (failed, hash) =>
      failed ? reject(failed) : resolve(hash),
    );
  });
