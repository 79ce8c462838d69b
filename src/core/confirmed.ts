// Requires a fresh proof of the person (CRED-30), so that a stolen session cannot rotate a key, promote the account, or redirect its money and
// notices.
import { ServiceError } from "./errors.ts";
import { CONFIRMATION_MINUTES } from "./limits.ts";

/**
 * A key needs no confirmation. The first trip alone is judged: until the commit a session only grows older, and an ended session writes nothing.
 * @throws ServiceError `forbidden`, which is not stored under an Idempotency-Key: after the confirmation the same call succeeds
 */
export function requireConfirmed({ isConfirmed }: { readonly isConfirmed: boolean }): void {
  if (isConfirmed) return;
  const message =
    `This call needs a log-in or a confirmation within the last ${CONFIRMATION_MINUTES} minutes: ` +
    "confirm at POST /v1/platform/sessions/current/confirm, then repeat the call.";
  throw new ServiceError("forbidden", { message, type: "confirmation_required", unkept: true });
}
