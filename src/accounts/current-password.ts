// The current password, which a person states again before a change that only its owner may make (CRED-22). A failure counts as a failed log-in.
import type { SessionCall } from "../call.ts";
import { fieldError, ServiceError } from "../core/errors.ts";
import { beginAttempt } from "./log-in.ts";
import { checkPassword } from "./passwords.ts";

/** @throws ServiceError `current_password_invalid`, or `rate_limited` when too many attempts of this client have failed */
export async function requireCurrentPassword(
  call: SessionCall,
  stored: string | null,
  email: string,
  password: string,
): Promise<void> {
  const attempt = await beginAttempt(call.deps, call.clientAddress, email);
  const { matches } = await checkPassword(password, stored);
  if (!matches) {
    throw new ServiceError("current_password_invalid", {
      field_errors: [fieldError("current_password", "current_password_invalid")],
    });
  }
  call.background(attempt.giveBack());
}
