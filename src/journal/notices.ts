// Notices to the account's own address and its admin contact (ACC-11). Each is written in the batch of the change that it reports, and mailed by a
// job.
import { createId } from "../core/ids.ts";
import { foldName, isSameText } from "../core/text.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { PlatformRow } from "../db/tables/accounts.ts";
import type { MailData, MailKind } from "../mail/kinds.ts";
import { insertNotices, type NoticeAccount } from "./notice-store.ts";

export type NoticeKind = Extract<MailKind, `customer.${string}`>;

type Addressed = Pick<PlatformRow, "platformId" | "email" | "adminContactEmail" | "legalName"> &
  Partial<Pick<PlatformRow, "status">>;

/** Every notice also names the account and the instant, which `recordNotice` adds. */
type NoticeFacts<Data> = Data extends unknown ? Omit<Data, "account" | "at"> : never;
export type Notice<K extends NoticeKind = NoticeKind> = { readonly kind: K; readonly data: NoticeFacts<MailData[K]> };

export const listRecipients = ({ email, adminContactEmail }: Pick<PlatformRow, "email" | "adminContactEmail">) =>
  adminContactEmail === null ? [email] : [email, adminContactEmail];

export const pickAnnouncementRecipient = ({
  adminContactEmail,
  email,
}: Pick<PlatformRow, "adminContactEmail" | "email">): string => adminContactEmail ?? email;

/** How mails name the account. An account that is not verified is named by its address: a stranger may have registered it with any legal name. */
const toAccountName = ({ status, email, legalName }: Addressed): string =>
  status === "EMAIL_PENDING" ? email : (legalName ?? email);

/** Removes addresses that differ only in how they are written. */
const dedupeAddresses = (addresses: readonly string[]): string[] => [
  ...new Map(addresses.map((address) => [foldName(address), address])).values(),
];

/** These warn the owner of a takeover or a theft, so the hourly limit never holds them back (ACC-31). */
const SECURITY_KINDS: ReadonlySet<NoticeKind> = new Set([
  "customer.key_issued",
  "customer.key_rotated",
  "customer.password_changed",
  "customer.password_reset",
  "customer.totp_enabled",
  "customer.totp_disabled",
  "customer.session_opened",
  "customer.log_ins_limited",
  "customer.email_changed",
  "customer.contact_changed",
  "customer.wallet_changed",
]);
/** The notice to an account that the same trip has read; none if there is no such account. */
export const recordNoticeTo = <K extends NoticeKind>(
  db: Database,
  account: NoticeAccount | null | undefined,
  now: number,
  notice: Notice<K>,
): Statement[] => (account ? [recordNotice(db, account, now, notice)] : []);

/** `data`: what the mail says besides the account and the instant, and nothing secret. */
export const recordNotice = <K extends NoticeKind>(
  db: Database,
  platform: Addressed,
  now: number,
  { kind, data }: Notice<K>,
  recipients: readonly string[] = listRecipients(platform),
): Statement => {
  // In the sandbox, any key may change wallets as often as it likes.
  const isTestMoney = kind === "customer.wallet_changed" && "environment" in data && data.environment === "sandbox";
  const isSecurity = SECURITY_KINDS.has(kind) && !isTestMoney;
  return insertNotices(
    db,
    dedupeAddresses(recipients).map((recipient) => ({
      noticeId: createId("ntc", now),
      platformId: platform.platformId,
      kind,
      recipient,
      data: { ...data, account: toAccountName(platform), at: now },
      createdAt: now,
      dueAt: now,
      isBounded: !(isSecurity && isSameText(recipient, platform.email)),
    })),
  );
};
