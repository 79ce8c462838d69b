// The one judge of the current password, where a call of a session asks for it again (CRED-25), or a mailed link is opened (ACC-10): neither is
// enough alone to take an account over. Its failures count as those of log-ins.
import type { PublicCall, SessionCall } from "../call.ts";
import { fieldError, ServiceError } from "../core/errors.ts";
import { beginAttempt, judgeAttempt } from "./attempts.ts";

/** `before`: the stored hash, for the commit, which guards on it (`keepsPassword`). `hash`: of the next password, where there is one. */
type Proven = { readonly before: string; readonly hash: string | null };

/**
 * `stored`: the hash as it was read, null for an account without a password. `field`: what the body calls the password.
 * @throws ServiceError `current_password_invalid`, or `rate_limited` after too many failures
 */
export async function requireCurrentPassword(
  { deps, clientAddress, background }: Pick<SessionCall | PublicCall, "deps" | "clientAddress" | "background">,
  stored: string | null,
  email: string,
  password: string,
  { field = "current_password", next }: { readonly field?: string; readonly next?: string } = {},
): Promise<Proven> {
  const attempt = await beginAttempt(deps, clientAddress, email);
  const { matches, hash } = await judgeAttempt(deps, attempt, password, stored, () => next ?? null);
  if (!matches || stored === null) {
    const fault = fieldError(field, "current_password_invalid", "Is not the account's password.");
    throw new ServiceError("current_password_invalid", { field_errors: [fault] });
  }
  background(attempt.giveBack());
  return { before: stored, hash };
}
