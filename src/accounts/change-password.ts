// Change of the password by a person who knows it, and reset of a forgotten one by a mailed link (CRED-22, CRED-23). Both end every other
// session and every link mailed before, so that an intruder is locked out.
import { type Precheck, type PublicCall, precheck, type SessionCall } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { computeSha256Hex } from "../core/encoding.ts";
import { type FieldError, ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import type { Actor } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { LinkRow, PlatformRow } from "../db/tables/accounts.ts";
import { recordActivity } from "../journal/activity.ts";
import { recordNotice } from "../journal/alerts.ts";
import { forgetFailures, hashNewPassword } from "./attempts.ts";
import {
  endLinks,
  findLink,
  findPassword,
  LINKS_OF_SESSIONS,
  replacePassword,
  selectOwnerOfLink,
  useLink,
} from "./credential-store.ts";
import { findRecentMailsTo, LINK_USED_UP, MAIL_ACCEPTED, mailLink } from "./links.ts";
import { findPasswordFaults, requireCurrentPassword } from "./passwords.ts";
import type { PasswordChangeInput, PasswordResetInput } from "./schema.ts";
import { deleteSessions } from "./session-store.ts";
import { findPlatform, findPlatformByEmail } from "./store.ts";

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
const endOtherAccess = (db: Database, platformId: string, now: number, staying?: string): Statement[] => [
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

// ---- Reset of a forgotten password ---------------------------------------------------------------------------------------

/** Answers the same for every address, and works after the answer, so that neither reveals whether the address has an account. */
export async function forgotPassword(call: PublicCall, { email }: { readonly email: string }) {
  const { db, deps, now } = call;
  const { platform, mailed } = await call.read({
    platform: findPlatformByEmail(db, email),
    mailed: findRecentMailsTo(db, email, "reset_password", now),
  });
  // Also for an unverified account, so that the owner of the address can take it from a stranger who registered it.
  if (platform) call.background(mailLink(deps, platform, "reset_password", mailed, now));
  return MAIL_ACCEPTED;
}

export async function resetPassword(call: PublicCall, { token, new_password }: PasswordResetInput) {
  const { db, deps, now } = call;
  const tokenHash = await computeSha256Hex(token);
  const { link, platform } = await call.read({
    link: findLink(db, tokenHash),
    platform: findPlatform(db, selectOwnerOfLink(tokenHash)),
  });
  const usable = link && platform && isUsableResetLink(link, platform, now);
  // A useless link reveals nothing, so the password is not compared with an address.
  const faults = await findPasswordFaults(
    deps.env.ASSETS,
    "new_password",
    new_password,
    usable ? platform.email : undefined,
  );
  if (!usable) throw toValidationError([LINK_USED_UP, ...faults]);
  if (faults.length > 0) throw toValidationError(faults);
  const { platformId, email } = platform;
  const hash = await hashNewPassword(deps, call.clientAddress, new_password);
  const actor: Actor = { type: "dashboard_admin", id: email };
  const view = { platform_id: platformId, changed_at: toIso(now) };
  await call.commit(
    [
      ...useLink(db, tokenHash, now),
      // Any other change of the password also ends the link, and therefore fails this batch.
      ...replacePassword(db, { platformId, hash }, now),
      ...endOtherAccess(db, platformId, now),
      recordActivity(db, { platformId, environment: "sandbox" }, now, {
        action: "account.password_reset",
        actor,
        subject: { type: "platform", id: platformId },
      }),
      recordNotice(db, platform, now, { kind: "customer.password_reset", data: {} }),
    ],
    view,
    platformId,
  );
  call.background(forgetFailures(deps, call.clientAddress, email));
  return view;
}

/** The link was mailed to the address that the account still has. */
const isUsableResetLink = (link: LinkRow, platform: PlatformRow, now: number): boolean =>
  link.kind === "reset_password" &&
  link.usedAt === null &&
  link.expiresAt > now &&
  link.email === platform.email &&
  platform.status !== "CLOSED";

/** Finds the further faults of a body that the schema refuses. */
export const precheckPasswordReset = (
  { deps }: PublicCall,
  { new_password: password }: Partial<PasswordResetInput>,
): Precheck =>
  precheck({}, () =>
    password === undefined ? [] : findPasswordFaults(deps.env.ASSETS, "new_password", password, undefined),
  );
