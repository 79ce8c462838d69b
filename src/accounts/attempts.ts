// Attempts to prove a password (CRED-21), counted exactly: by client address, and by account within it, so that a stranger's failures lock
// only the stranger out. An attempt counts as a failure until it is given back.
import type { Deps } from "../context.ts";
import { clientNetwork } from "../core/client-network.ts";
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
import { type Checked, checkPassword, type Next } from "./passwords.ts";

const LIMITS = {
  windowMs: LOG_IN_WINDOW_MINUTES * MINUTE_MS,
  perAccount: LOG_IN_FAILURES_PER_ACCOUNT,
  perAddress: LOG_IN_FAILURES_PER_ADDRESS,
};

export type Attempt = { readonly giveBack: () => Promise<void> };

const guardOf = ({ env: { ATTEMPTS } }: Deps, client: string) =>
  ATTEMPTS.get(ATTEMPTS.idFromName(clientNetwork(client)));

const accountKey = (email: string): Promise<string> => sha256Hex(foldName(email));

/** @throws ServiceError `rate_limited` when too many attempts of this client have failed */
export async function beginAttempt(deps: Deps, client: string, email: string): Promise<Attempt> {
  const guard = guardOf(deps, client);
  const attempt = await guard.begin(await accountKey(email), Date.now(), LIMITS);
  if (attempt.ok) return { giveBack: async () => guard.giveBack(attempt.id) };
  const message = "Too many attempts have failed; wait before the next.";
  const seconds = Math.max(1, Math.ceil(attempt.retryAfterMs / SECOND_MS));
  throw new ServiceError("rate_limited", { message, headers: { "Retry-After": String(seconds) } });
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
  await guardOf(deps, client).forgive(await accountKey(email));
}
