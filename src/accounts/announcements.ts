// Announcements of the operator to all accounts (ACC-15): stored once, and distributed to the accounts slice by slice by a job.
import type { OperatorCall } from "../call.ts";
import type { Deps } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { BEFORE_FIRST_DUE } from "../core/due.ts";
import { createId } from "../core/ids.ts";
import type { PlatformStatus } from "../core/vocabulary.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { AnnouncementRow } from "../db/tables/accounts.ts";
import type { BulkJob, SliceResult } from "../jobs/job.ts";
import { insertAnnounced } from "../journal/notice-store.ts";
import { pickAnnouncementRecipient } from "../journal/notices.ts";
import { recordOperatorEntry } from "../journal/operator-log.ts";
import { advanceAnnouncement, findOpenAnnouncement, insertAnnouncement } from "./announcement-store.ts";
import type { AnnouncementInput } from "./notice-schema.ts";
import { type Contact, listContacts } from "./store.ts";

export async function announceToAll(call: OperatorCall, { kind, subject, text }: AnnouncementInput) {
  const { db, deps, actor } = call;
  const now = deps.clock.now();
  await call.read({});
  const announcementId = createId("ann", now);
  const view = { announcement_id: announcementId, kind, subject, text, created_at: toIso(now) };
  const row = { announcementId, kind, subject, text, createdAt: now, reached: "", finishedAt: null };
  const subjectOf = { type: "announcement", id: announcementId };
  const entry = recordOperatorEntry(db, actor, now, { action: "notice.sent", subject: subjectOf, detail: { kind } });
  await call.commit([insertAnnouncement(db, row), entry], view);
  return view;
}

const SLICE = 500;
/** Accounts whose address is not verified, or that were closed. */
const UNNOTIFIED_STATUSES: ReadonlySet<PlatformStatus> = new Set(["EMAIL_PENDING", "CLOSED"]);

/** Writes the notices of the oldest open announcement. Its batch also records the last account that has one, so each account gets one notice. */
export const announceJob: BulkJob = {
  kind: "bulk",
  name: "announce",
  here: true,
  slices: 5,
  find: async (deps) => {
    const { open } = await readBatch(deps.db, { open: findOpenAnnouncement(deps.db) });
    return open && { oldestDueAt: open.createdAt, run: () => notifySlice(deps, open) };
  },
};

async function notifySlice({ db, clock }: Deps, open: AnnouncementRow): Promise<SliceResult> {
  const now = clock.now();
  const { contacts } = await readBatch(db, { contacts: listContacts(db, open.reached, SLICE) });
  const reached = contacts.filter(({ status }) => !UNNOTIFIED_STATUSES.has(status));
  const isLast = contacts.length < SLICE;
  await commit(db, [
    ...advanceAnnouncement(db, open, contacts.at(-1)?.platformId ?? open.reached, isLast ? now : null),
    ...insertAnnounced(
      db,
      { kind: `customer.${open.kind}`, data: { announcementId: open.announcementId }, now },
      reached.map((contact: Contact) => ({
        noticeId: createId("ntc", now),
        platformId: contact.platformId,
        recipient: pickAnnouncementRecipient(contact),
      })),
    ),
  ]);
  return { done: reached.length, failed: [], next: BEFORE_FIRST_DUE };
}
