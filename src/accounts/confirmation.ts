// Confirms a session with the password or a code (CRED-30).
import type { SessionCall } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError, toFieldError } from "../core/errors.ts";
import { CONFIRMATION_MINUTES, MINUTE_MS } from "../core/limits.ts";
import type { PersonRow } from "../db/tables/accounts.ts";
import { judgePassword, judgePerson } from "./current-password.ts";
import { findPerson, updatePerson } from "./password-store.ts";
import type { ConfirmationInput } from "./session-schema.ts";
import { confirmSession } from "./session-store.ts";
import { hasTotp, toInvalidCodeError, useCode } from "./totp.ts";

export async function confirmPerson(call: SessionCall, input: ConfirmationInput) {
  const { db, deps, session, tenant } = call;
  const now = deps.clock.now();
  const { caller, person } = await call.read({ person: findPerson(db, tenant.platformId) });
  if (!person) throw new ServiceError("invalid_credentials");
  refuseOtherFactor(person, input);
  const { current_password = "", totp } = input;
  const used = await judgePerson(call, caller, async (wrong) => {
    if (totp !== undefined) return useCode(deps.env, person, totp, now, () => wrong(toInvalidCodeError("totp")));
    await judgePassword(call, wrong, person.hash, { password: current_password, field: PASSWORD });
    return {};
  });
  const view = { confirmed_until: toIso(now + CONFIRMATION_MINUTES * MINUTE_MS) };
  await call.commit([...updatePerson(db, person, used), confirmSession(db, session.tokenHash, now)], view);
  return view;
}

const PASSWORD = "current_password";

/** With TOTP only a code counts; without it there is only the password. */
function refuseOtherFactor(person: PersonRow, { totp }: ConfirmationInput): void {
  if (hasTotp(person) === (totp !== undefined)) return;
  const [field, type] = totp === undefined ? ["totp", "totp_required"] : [PASSWORD, undefined];
  throw new ServiceError("validation_failed", {
    field_errors: [toFieldError(field, "required")],
    ...(type !== undefined && { type }),
  });
}
