// The admin contact, who gets notices in addition to the account's own address (ACC-29). A new address counts once its mailed link was opened, so
// that notices never reach an unrelated person.
import type { ManagementCaller, PublicCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { isSameText } from "../core/text.ts";
import type { Actor } from "../core/vocabulary.ts";
import { type Database, dropAbsentReads, type Statement } from "../db/batch.ts";
import type { LinkRow, PlatformRow } from "../db/tables/accounts.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { recordNotice } from "../journal/notices.ts";
import { endLinks, useLink } from "./link-store.ts";
import { createLink, findRecentMails, type MailTimes, type NewLink, refuseTooOften, replaceLink } from "./links.ts";
import { mayMailStranger } from "./mail-bounds.ts";
import type { ProfilePatch } from "./profile-schema.ts";
import { updatePlatform } from "./store.ts";

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

/** Mails another link to a pending address. The current contact and the account's own address, which are proven, need no link. */
export async function changeContact(
  db: Database,
  { actor }: ManagementCaller,
  before: PlatformRow,
  { admin_contact_email: wanted }: ProfilePatch,
  { mailed = [], mayMail = false }: { readonly mailed?: MailTimes; readonly mayMail?: boolean },
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

/** Makes the address that the link was mailed to the admin contact. */
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
