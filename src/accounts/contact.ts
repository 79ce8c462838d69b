// The addresses of an account: its admin contact, who gets notices in addition to the account's own address (ACC-29), and its own address
// (ACC-13). A new address counts once its mailed link was opened, so that notices never reach an unrelated person.
import type { PublicCall, SessionCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { Conflict } from "../core/retry.ts";
import { foldName, isSameText } from "../core/text.ts";
import type { Actor } from "../core/vocabulary.ts";
import { type Database, dropAbsentReads, readBatch, type Statement } from "../db/batch.ts";
import type { LinkRow, PlatformRow } from "../db/tables/accounts.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { listRecipients, recordNotice } from "../journal/alerts.ts";
import { endLinks, findPassword, guardPassword, useLink } from "./credential-store.ts";
import {
  createLink,
  findRecentMails,
  MAIL_ACCEPTED,
  type MailTimes,
  type NewLink,
  refuseTooOften,
  replaceLink,
  sendLink,
} from "./links.ts";
import { mayMailStranger } from "./notices.ts";
import { requireCurrentPassword } from "./passwords.ts";
import type { EmailChangeInput, ProfilePatch } from "./schema.ts";
import { findPlatform, findPlatformByEmail, updatePlatform } from "./store.ts";

/** If the patch names a contact: when links were mailed to a contact, and whether another link may be mailed. */
export const buildContactReads = async (
  db: Database,
  platformId: Parameters<typeof findRecentMails>[1],
  { admin_contact_email: wanted }: ProfilePatch,
  now: number,
) =>
  dropAbsentReads({
    mailed: wanted === undefined ? null : findRecentMails(db, platformId, "confirm_contact", now),
    mayMail: wanted === undefined ? null : await mayMailStranger(db, wanted, now),
  });

type ContactChange = {
  readonly set: Partial<Pick<PlatformRow, "adminContactEmail" | "pendingContactEmail">>;
  readonly changes: Changes;
  readonly statements: Statement[];
  /** The call requests a mail, even if the address has already had enough mails. */
  readonly asksForMail: boolean;
  /** Mailed after the commit. */
  readonly link: NewLink | null;
};
const UNCHANGED_CONTACT: ContactChange = { set: {}, changes: {}, statements: [], asksForMail: false, link: null };

type ContactFacts = { readonly actor: Actor; readonly mailed?: MailTimes; readonly mayMail?: boolean };

/** Mails another link to a pending address. The current contact and the account's own address, which are proven, need no link. */
export async function changeContact(
  db: Database,
  before: PlatformRow,
  { admin_contact_email: wanted }: ProfilePatch,
  { actor, mailed = [], mayMail = false }: ContactFacts,
  now: number,
): Promise<ContactChange> {
  const { platformId, adminContactEmail: current, pendingContactEmail: pending, email } = before;
  // A key may name the present contact, which changes nothing.
  if (wanted === undefined || actor.type === "management_api") return UNCHANGED_CONTACT;
  if (current !== null && isSameText(wanted, current))
    return pending === null ? UNCHANGED_CONTACT : withdrawPendingContact(db, before, now);
  if (isSameText(wanted, email)) {
    const { set, changes, statements } = pending === null ? UNCHANGED_CONTACT : withdrawPendingContact(db, before, now);
    return {
      set: { ...set, adminContactEmail: wanted },
      changes: { ...changes, admin_contact_email: { from: current, to: wanted } },
      statements: [...statements, recordContactNotice(db, before, wanted, now)],
      asksForMail: false,
      link: null,
    };
  }
  refuseTooOften(mailed, now);
  const to = { platformId, kind: "confirm_contact", email: wanted } as const;
  const link = await createLink(db, to, now, { isWithheld: !mayMail });
  return {
    set: { pendingContactEmail: wanted },
    changes: wanted === pending ? {} : { pending_admin_contact_email: { from: pending, to: wanted } },
    statements: replaceLink(db, to, link, mailed, now),
    asksForMail: true,
    link,
  };
}

const withdrawPendingContact = (
  db: Database,
  { platformId, pendingContactEmail }: PlatformRow,
  now: number,
): ContactChange => ({
  set: { pendingContactEmail: null },
  changes: { pending_admin_contact_email: { from: pendingContactEmail, to: null } },
  statements: [endLinks(db, platformId, ["confirm_contact"], now)],
  asksForMail: false,
  link: null,
});

/** Goes to the account's own address, to the old contact and to the new one. */
const recordContactNotice = (db: Database, before: PlatformRow, newContact: string, now: number): Statement => {
  const oldContact = before.adminContactEmail ?? before.email;
  const notice = { kind: "customer.contact_changed", data: { oldContact, newContact } } as const;
  return recordNotice(db, before, now, notice, [before.email, oldContact, newContact]);
};

const LINK_ACTOR: Actor = { type: "system", id: "mailed_link" };

export async function confirmContact(call: PublicCall, link: LinkRow, before: PlatformRow) {
  const { db, now } = call;
  const { platformId, status, adminContactEmail, pendingContactEmail } = before;
  if (status === "SUSPENDED") throw new ServiceError("account_suspended");
  const { email } = link;
  const view = { platform_id: platformId, platform_status: status, email };
  await call.commit(
    [
      ...useLink(db, link.tokenHash, now),
      ...updatePlatform(db, before, { adminContactEmail: email, pendingContactEmail: null }, now),
      recordActivity(db, { platformId, environment: "sandbox" }, now, {
        action: "account.contact_confirmed",
        actor: LINK_ACTOR,
        subject: { type: "platform", id: platformId },
        changes: {
          admin_contact_email: { from: adminContactEmail, to: email },
          pending_admin_contact_email: { from: pendingContactEmail, to: null },
        },
      }),
      recordContactNotice(db, before, email, now),
    ],
    view,
    platformId,
  );
  return view;
}

// ---- The account's own address (ACC-13) ----------------------------------------------------------------------------------

/** Changes nothing before the link that the new address receives is opened: until then the address belongs to no account. */
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
