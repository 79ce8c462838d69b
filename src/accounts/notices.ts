// Notices to a platform's admin contact (ACC-17). One is written in the batch of the change that it is about, and mailed by a job.
import { newId } from "../core/ids.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { PlatformRow } from "../db/tables/accounts.ts";
import { insertNotice } from "./notice-store.ts";

export type NoticeKind =
  | "customer.key_issued"
  | "customer.key_rotated"
  | "customer.account_suspended"
  | "customer.account_reinstated"
  | "customer.account_closed";

type Addressed = Pick<PlatformRow, "platformId" | "email" | "adminContactEmail">;

/** `data` is what the mail says, and nothing secret. */
export const recordNotice = (
  db: Database,
  platform: Addressed,
  now: number,
  notice: { readonly kind: NoticeKind; readonly data: Readonly<Record<string, string>> },
): Statement =>
  insertNotice(db, {
    noticeId: newId("ntc", now),
    platformId: platform.platformId,
    kind: notice.kind,
    recipient: platform.adminContactEmail ?? platform.email,
    data: notice.data,
    createdAt: now,
    dueAt: now,
  });
