// Reset of a forgotten password by a mailed link (CRED-22, CRED-23). A request does not reveal whether an address has an account.
import { type Precheck, type PublicCall, precheck } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { computeSha256Hex } from "../core/encoding.ts";
import { toValidationError } from "../core/errors.ts";
import type { Actor } from "../core/vocabulary.ts";
import type { LinkRow, PlatformRow } from "../db/tables/accounts.ts";
import { recordActivity } from "../journal/activity.ts";
import { recordNotice } from "../journal/notices.ts";
import { forgetFailures, hashNewPassword } from "./attempts.ts";
import { endOtherAccess } from "./change-password.ts";
import { findLink, selectOwnerOfLink, useLink } from "./link-store.ts";
import { findRecentMailsTo, MAIL_ACCEPTED, mailLink } from "./links.ts";
import type { PasswordResetInput } from "./password-schema.ts";
import { replacePassword } from "./password-store.ts";
import { findPasswordFaults } from "./passwords.ts";
import { findPlatform, findPlatformByEmail } from "./store.ts";
import { LINK_USED_UP } from "./verify-email.ts";

/** Answers the same for every address, and works after the answer, so that its time reveals nothing either. */
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
