// Change of the password by a person who knows it (CRED-23). It ends every other session and every link mailed before, so that an intruder is locked
// out.
import { type Precheck, precheck, type SessionCall } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { type FieldError, ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import type { Database, Statement } from "../db/batch.ts";
import { recordActivity } from "../journal/activity.ts";
import { recordNotice } from "../journal/notices.ts";
import { requireCurrentPassword } from "./current-password.ts";
import { endLinks, LINKS_OF_SESSIONS } from "./link-store.ts";
import type { PasswordChangeInput } from "./password-schema.ts";
import { findPassword, replacePassword } from "./password-store.ts";
import { findPasswordFaults } from "./passwords.ts";
import { deleteSessions } from "./session-store.ts";
import { findPlatform } from "./store.ts";

export async function changePassword(call: SessionCall, input: PasswordChangeInput) {
  const { db, deps, tenant } = call;
  const now = deps.clock.now();
  const { caller, platform, stored } = await call.read({
    platform: findPlatform(db, tenant.platformId),
    stored: findPassword(db, tenant.platformId),
  });
  if (!platform) throw new ServiceError("invalid_credentials");
  const faults = await findNewPasswordFaults(call, input, platform.email);
  if (faults.length > 0) throw toValidationError(faults);
  const { platformId } = platform;
  const next = input.new_password;
  const { before, hash } = await requireCurrentPassword(call, caller, stored, input.current_password, next);
  if (hash === null) throw new Error("unreachable: the next password");
  const view = { platform_id: platformId, changed_at: toIso(now) };
  await call.commit(
    [
      ...replacePassword(db, { platformId, before, hash }, now),
      ...endOtherAccess(db, platformId, now, call.session.tokenHash),
      recordActivity(db, { platformId, environment: call.environment }, now, {
        action: "account.password_changed",
        actor: caller.actor,
        subject: { type: "platform", id: platformId },
      }),
      recordNotice(db, platform, now, { kind: "customer.password_changed", data: {} }),
    ],
    view,
  );
  return view;
}

/** Ends every session except `staying`, and every mailed link by which an intruder could come back. */
export const endOtherAccess = (db: Database, platformId: string, now: number, staying?: string): Statement[] => [
  deleteSessions(db, platformId, staying),
  endLinks(db, platformId, ["reset_password", ...LINKS_OF_SESSIONS], now),
];

/** Finds the further faults of a body that the schema refuses. */
export const precheckPasswordChange = (call: SessionCall, input: Partial<PasswordChangeInput>): Precheck =>
  precheck({ platform: findPlatform(call.db, call.tenant.platformId) }, ({ platform }) =>
    findNewPasswordFaults(call, input, platform?.email),
  );

async function findNewPasswordFaults(
  { deps }: SessionCall,
  { current_password, new_password }: Partial<PasswordChangeInput>,
  email: string | undefined,
): Promise<FieldError[]> {
  if (new_password === undefined) return [];
  const faults = await findPasswordFaults(deps.env.ASSETS, "new_password", new_password, email);
  const isSame =
    current_password !== undefined && new_password.normalize("NFKC") === current_password.normalize("NFKC");
  return isSame
    ? [...faults, toFieldError("new_password", "invalid_value", "Must differ from the current one.")]
    : faults;
}
