// Every derivation of a password starts here and takes a place in the bucket of its client's network (CRED-20). Failed attempts are counted
// exactly: by client address and by account within it, so that an attacker locks only himself out (CRED-21), and by account over all addresses,
// after which only the account's known networks may try (CRED-31).
import type { Deps } from "../context.ts";
import { toClientNetwork, toClientSubnet } from "../core/client-network.ts";
import { computeSha256Hex } from "../core/encoding.ts";
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
import { foldName } from "../core/text.ts";
import { commit, readBatch } from "../db/batch.ts";
import { recordNotice } from "../journal/alerts.ts";
import type { Bucket } from "../objects/guards.ts";
import { type ChooseNextPassword, checkPassword, hashPassword, type PasswordCheck } from "./derivations.ts";
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
  /** An attempt counts as failed until this uncounts it, because it succeeded or no credential was judged. */
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

/** Runs after the answer, so that the answer's time does not reveal whether the address has an account. */
async function notifyOwnerOfLimit({ db, clock }: Deps, email: string): Promise<void> {
  const { platform } = await readBatch(db, { platform: findPlatformByEmail(db, email) });
  // The address of a new account is not verified yet.
  if (!platform || platform.status === "EMAIL_PENDING") return;
  await commit(db, [recordNotice(db, platform, clock.now(), { kind: "customer.log_ins_limited", data: {} })]);
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

/** Marks a refusal as a failed attempt. Only `judgeAttempt` makes one, so its holder is within an attempt. */
export type MarkFailed = (refusal: ServiceError) => ServiceError;

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

// ---- Derivations within a place ------------------------------------------------------------------------------------------

/** @throws ServiceError `rate_limited` when the client's network derives too many */
export async function hashNewPassword(deps: Deps, client: string, password: string): Promise<string> {
  const place = await getNetworkGuard(deps, client).derive(Date.now(), deps.config.passwords);
  if (!place.ok)
    throw toTooManyAttemptsError(place.retryAfterMs, "Too many passwords were sent at once; wait before the next.");
  return hashPassword(password, deps.passwordCost);
}

/** Checks a password. `_within` proves that an attempt has taken a place for the derivation. */
export const checkPresentedPassword = (
  { passwordCost }: Deps,
  _within: MarkFailed,
  password: string,
  stored: string | null,
  next: ChooseNextPassword,
): Promise<PasswordCheck> => checkPassword(password, stored, passwordCost, next);
