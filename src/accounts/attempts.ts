// The one way to a derivation (CRED-20): each has a place in the bucket of its client's network. Attempts to prove a password (CRED-21) are
// counted beside it, by client address, and by account within it, so that a stranger's failures lock only the stranger out. An attempt counts
// as a failure until it is given back.
import type { Deps } from "../context.ts";
import { clientNetwork, providerNetwork } from "../core/client-network.ts";
import { sha256Hex } from "../core/encoding.ts";
import { ServiceError } from "../core/errors.ts";
import {
  LOG_IN_FAILURES_PER_ACCOUNT,
  LOG_IN_FAILURES_PER_ADDRESS,
  LOG_IN_WINDOW_MINUTES,
  MINUTE_MS,
  SECOND_MS,
} from "../core/limits.ts";
import { foldName } from "../core/text.ts";
import { type Checked, checkPassword, hashPassword, type Next } from "./derivations.ts";

const LIMITS = {
  windowMs: LOG_IN_WINDOW_MINUTES * MINUTE_MS,
  perAccount: LOG_IN_FAILURES_PER_ACCOUNT,
  perAddress: LOG_IN_FAILURES_PER_ADDRESS,
};

export type Attempt = { readonly giveBack: () => Promise<void> };

const guardOf = ({ env: { ATTEMPTS } }: Deps, client: string) =>
  ATTEMPTS.get(ATTEMPTS.idFromName(providerNetwork(client)));

const guessOf = async (client: string, email: string) => ({
  account: await sha256Hex(foldName(email)),
  address: clientNetwork(client),
});

/** @throws ServiceError `rate_limited` when too many attempts of this client have failed, or its network derives too many passwords */
export async function beginAttempt(deps: Deps, client: string, email: string): Promise<Attempt> {
  const guard = guardOf(deps, client);
  const { passwords } = deps.config;
  const attempt = await guard.begin(await guessOf(client, email), Date.now(), LIMITS, passwords);
  if (attempt.ok) return { giveBack: async () => guard.giveBack(attempt.id) };
  throw tooMany(attempt, "Too many attempts have failed, or came at once; wait before the next.");
}

/**
 * Derives the hash of a new password.
 * @throws ServiceError `rate_limited` when the client's network derives too many
 */
export async function hashNewPassword(deps: Deps, client: string, password: string): Promise<string> {
  const place = await guardOf(deps, client).derive(Date.now(), deps.config.passwords);
  if (!place.ok) throw tooMany(place, "Too many passwords were sent at once; wait before the next.");
  return hashPassword(password, deps.passwordCost);
}

function tooMany({ retryAfterMs }: { readonly retryAfterMs: number }, message: string): ServiceError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / SECOND_MS));
  return new ServiceError("rate_limited", { message, headers: { "Retry-After": String(seconds) } });
}

/** As `checkPassword`. An attempt whose password was not judged, because the isolate is busy, was none. */
export async function judgeAttempt(
  deps: Deps,
  attempt: Attempt,
  password: string,
  stored: string | null,
  next?: Next,
): Promise<Checked> {
  try {
    return await checkPassword(password, stored, deps.passwordCost, next);
  } catch (thrown) {
    await attempt.giveBack().catch(() => undefined);
    throw thrown;
  }
}

/** The account's failures from this client are forgotten: its owner has just proven the address. */
export async function forgiveAttempts(deps: Deps, client: string, email: string): Promise<void> {
  await guardOf(deps, client).forgive(await guessOf(client, email));
}
