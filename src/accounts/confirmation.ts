// A fresh proof of the person (CRED-30): whoever has stolen a session must not rotate a key with it, promote the account, or change where its
// money and its notices go.
import type { ManagementCaller, SessionCall } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { fieldError, ServiceError } from "../core/errors.ts";
import { CONFIRMATION_MINUTES, MINUTE_MS } from "../core/limits.ts";
import type { PersonRow } from "../db/tables/accounts.ts";
import { judgePassword, judgePerson } from "./current-password.ts";
import { findPerson, updatePerson } from "./password-store.ts";
import type { ConfirmationInput } from "./session-schema.ts";
import { confirmSession } from "./session-store.ts";
import { codeInvalid, hasTotp, useCode } from "./totp.ts";

/**
 * A key is not asked. Judged on the first trip alone: until the commit a session only grows older, and one that has ended writes nothing.
 * @throws ServiceError `forbidden`, which no Idempotency-Key keeps: after the confirmation the same call succeeds
 */
export function requireConfirmed({ isConfirmed }: ManagementCaller): void {
  if (isConfirmed) return;
  const message =
    `This needs a log-in or a confirmation within the last ${CONFIRMATION_MINUTES} minutes: ` +
    "POST /v1/platform/sessions/current/confirm, then repeat the call.";
  throw new ServiceError("forbidden", { message, type: "confirmation_required", unkept: true });
}

export async function confirmPerson(call: SessionCall, input: ConfirmationInput) {
  const { db, deps, session, tenant } = call;
  const now = deps.clock.now();
  const { caller, person } = await call.read({ person: findPerson(db, tenant.platformId) });
  if (!person) throw new ServiceError("invalid_credentials");
  refuseOtherFactor(person, input);
  const { current_password = "", totp } = input;
  const used = await judgePerson(call, caller, async (wrong) => {
    if (totp !== undefined) return useCode(deps.env, person, totp, now, () => wrong(codeInvalid("totp")));
    await judgePassword(call, wrong, person.hash, current_password, PASSWORD);
    return {};
  });
  const view = { confirmed_until: toIso(now + CONFIRMATION_MINUTES * MINUTE_MS) };
  await call.commit([...updatePerson(db, person, used), confirmSession(db, session.tokenHash, now)], view);
  return view;
}

const PASSWORD = "current_password";

/** With TOTP the password alone proves nobody, and without it there is no code. */
function refuseOtherFactor(person: PersonRow, { totp }: ConfirmationInput): void {
  if (hasTotp(person) === (totp !== undefined)) return;
  const [field, type] = totp === undefined ? ["totp", "totp_required"] : [PASSWORD, undefined];
  throw new ServiceError("validation_failed", {
    field_errors: [fieldError(field, "required")],
    ...(type !== undefined && { type }),
  });
}
