// Change of the account's address (ACC-13): a person requests it with the password, and the link that the new address receives makes it. Until then
// nothing changes, and the new address belongs to no account.
import type { PublicCall, SessionCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { Conflict } from "../core/retry.ts";
import { foldName, isSameText } from "../core/text.ts";
import type { Actor } from "../core/vocabulary.ts";
import { readBatch, type Statement } from "../db/batch.ts";
import type { LinkRow, PlatformRow } from "../db/tables/accounts.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { listRecipients, recordNotice } from "../journal/notices.ts";
import { requireCurrentPassword } from "./current-password.ts";
import { endLinks, useLink } from "./link-store.ts";
import { createLink, findRecentMails, MAIL_ACCEPTED, refuseTooOften, replaceLink, sendLink } from "./links.ts";
import { mayMailStranger } from "./mail-bounds.ts";
import type { EmailChangeInput } from "./password-schema.ts";
import { findPassword, guardPassword } from "./password-store.ts";
import { findPlatform, findPlatformByEmail, updatePlatform } from "./store.ts";

export async function requestEmailChange(call: SessionCall, { new_email, current_password }: EmailChangeInput) {
  const { db, deps, tenant } = call;
  const now = deps.clock.now();
  const { caller, platform, stored, taken, mailed, mayMail } = await call.read({
    platform: findPlatform(db, tenant.platformId),
    stored: findPassword(db, tenant.platformId),
    taken: findPlatformByEmail(db, new_email),
    mailed: findRecentMails(db, tenant.platformId, "change_email", now),
    mayMail: await mayMailStranger(db, new_email, now),
  });
  if (!platform) throw new ServiceError("invalid_credentials");
  if (foldName(new_email) === platform.emailFolded) throw new ServiceError("no_changes_requested");
  const { before } = await requireCurrentPassword(call, caller, stored, current_password);
  if (taken) throw new ServiceError("email_already_in_use");
  refuseTooOften(mailed, now);
  const { platformId } = platform;
  const to = { platformId, kind: "change_email", email: new_email } as const;
  const link = await createLink(db, to, now, { isWithheld: !mayMail });
  await call.commit([guardPassword(db, platformId, before), ...replaceLink(db, to, link, mailed, now)], MAIL_ACCEPTED);
  call.background(sendLink(deps, link));
  return MAIL_ACCEPTED;
}

/** Makes the change that the link was mailed for. */
export async function moveAddress(call: PublicCall, link: LinkRow, before: PlatformRow, ofPassword: Statement) {
  const { db, now } = call;
  const { platformId, status } = before;
  if (status === "SUSPENDED") throw new ServiceError("account_suspended");
  const { email } = link;
  const set = {
    email,
    emailFolded: foldName(email),
    // Redirects the notices that went to the old address.
    ...(before.adminContactEmail !== null &&
      isSameText(before.adminContactEmail, before.email) && { adminContactEmail: email }),
  };
  const actor: Actor = { type: "dashboard_admin", id: before.email };
  const view = { platform_id: platformId, platform_status: status, email };
  const statements = [
    ofPassword,
    ...useLink(db, link.tokenHash, now),
    ...updatePlatform(db, before, set, now),
    // A reset link was mailed to the address that the account leaves.
    endLinks(db, platformId, ["reset_password"], now),
    recordActivity(db, { platformId, environment: "sandbox" }, now, {
      action: "account.email_changed",
      actor,
      subject: { type: "platform", id: platformId },
      changes: toEmailChanges(before, { ...before, ...set }),
    }),
    recordNotice(
      db,
      before,
      now,
      { kind: "customer.email_changed", data: { oldEmail: before.email, newEmail: email } },
      [...listRecipients(before), email],
    ),
  ];
  try {
    await call.commit(statements, view, platformId);
  } catch (thrown) {
    // The unique index refuses an address that was taken since the link was mailed.
    if (thrown instanceof Conflict && (await isTakenByAnother(call, email, platformId)))
      throw new ServiceError("email_already_in_use");
    throw thrown;
  }
  return view;
}

function toEmailChanges(before: PlatformRow, after: PlatformRow): Changes {
  const contact = { from: before.adminContactEmail, to: after.adminContactEmail };
  return {
    email: { from: before.email, to: after.email },
    ...(contact.from !== contact.to && { admin_contact_email: contact }),
  };
}

async function isTakenByAnother({ db }: PublicCall, email: string, platformId: string): Promise<boolean> {
  const { owner } = await readBatch(db, { owner: findPlatformByEmail(db, email) });
  return owner !== null && owner.platformId !== platformId;
}
