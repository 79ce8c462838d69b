// Notices to a platform's admin contact (ACC-11). One is written in the batch of the change that it is about, and mailed by a job.
import { newId } from "../core/ids.ts";
import { foldName } from "../core/text.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { PlatformRow } from "../db/tables/accounts.ts";
import type { MailData, MailKind } from "../mail/catalogue.ts";
import { type Account, insertNotice } from "./notice-store.ts";

export type NoticeKind = Extract<MailKind, `customer.${string}`>;

type Addressed = Pick<PlatformRow, "platformId" | "email" | "adminContactEmail" | "legalName"> &
  Partial<Pick<PlatformRow, "status">>;

/** What every notice says: whom it is about, and since when. */
type Told<Data> = Data extends unknown ? Omit<Data, "account" | "at"> : never;
export type Notice<K extends NoticeKind = NoticeKind> = { readonly kind: K; readonly data: Told<MailData[K]> };

/** Where notices go. */
export const contactOf = ({ adminContactEmail, email }: Pick<PlatformRow, "adminContactEmail" | "email">): string =>
  adminContactEmail ?? email;

/** What a person wrote goes to the account's own address alone, because nobody has verified a contact (MAIL-3). */
export const isOwnAddress = ({ email }: Pick<PlatformRow, "email">, recipient: string): boolean =>
  foldName(recipient) === foldName(email);

/** How the account is named. A stranger may have registered the address of one that is not verified, with any legal name. */
function nameFor(platform: Addressed, recipient: string): string {
  if (!isOwnAddress(platform, recipient)) return platform.platformId;
  return platform.status === "EMAIL_PENDING" ? platform.email : (platform.legalName ?? platform.email);
}

/** Several addresses, each once however it is written. */
export const eachOnce = (addresses: readonly string[]): string[] => [
  ...new Map(addresses.map((address) => [foldName(address), address])).values(),
];

/** The notice to an account that the same trip has looked up; none where there is no such account. */
export const noticeTo = <K extends NoticeKind>(
  db: Database,
  account: Account | null | undefined,
  now: number,
  notice: Notice<K>,
): Statement[] => (account ? [recordNotice(db, account, now, notice)] : []);

/** `data` is what the mail says beside the account and the instant, and nothing secret. */
export const recordNotice = <K extends NoticeKind>(
  db: Database,
  platform: Addressed,
  now: number,
  { kind, data }: Notice<K>,
  recipient: string = contactOf(platform),
): Statement =>
  insertNotice(db, {
    noticeId: newId("ntc", now),
    platformId: platform.platformId,
    kind,
    recipient,
    data: { ...data, account: nameFor(platform, recipient), at: now },
    createdAt: now,
    dueAt: now,
  });
