// Announcements of the operator to all accounts (ACC-15): stored once, and a walk writes the notice of each account.
import type { OperatorCall } from "../call.ts";
import { BEFORE_FIRST_DUE, toIso } from "../core/clock.ts";
import { createId } from "../core/ids.ts";
import type { PlatformStatus } from "../core/vocabulary.ts";
import { readBatch } from "../db/batch.ts";
import type { BulkJob } from "../jobs/job.ts";
import { runNextSlice, type WalkDefinition } from "../jobs/walk.ts";
import { beginWalk, findWalk, findWalks } from "../jobs/walk-store.ts";
import { insertAnnounced } from "../journal/alert-store.ts";
import { pickAnnouncementRecipient } from "../journal/alerts.ts";
import { recordOperatorEntry } from "../journal/operator-log.ts";
import type { AnnouncementInput } from "./schema.ts";
import { type Contact, insertAnnouncement, listContacts, selectLastNotified } from "./store.ts";

export async function announceToAll(call: OperatorCall, { kind, subject, text }: AnnouncementInput) {
  const { db, deps, actor } = call;
  const now = deps.clock.now();
  await call.read({});
  const announcementId = createId("ann", now);
  const view = { announcement_id: announcementId, kind, subject, text, created_at: toIso(now) };
  const row = { announcementId, kind, subject, text, createdAt: now };
  const subjectOf = { type: "announcement", id: announcementId };
  const entry = recordOperatorEntry(db, actor, now, { action: "notice.sent", subject: subjectOf, detail: { kind } });
  const walk = beginWalk(db, "announcement", announcementId, { startedAt: now, payload: { kind } });
  await call.commit([insertAnnouncement(db, row), walk, entry], view);
  return view;
}

const ACCOUNTS_PER_SLICE = 500;
/** Accounts whose address is not verified, or that were closed. */
const UNNOTIFIED_STATUSES: ReadonlySet<PlatformStatus> = new Set(["EMAIL_PENDING", "CLOSED"]);

const announcing: WalkDefinition<"announcement", { readonly contacts: readonly Contact[] }> = {
  kind: "announcement",
  job: "announce",
  slices: 5,
  readSlice: ({ db }, announcementId) =>
    readBatch(db, {
      walk: findWalk(db, "announcement", announcementId),
      contacts: listContacts(db, selectLastNotified(announcementId), ACCOUNTS_PER_SLICE),
    }),
  buildSlice: ({ db, clock }, { subject, payload: { kind } }, { contacts }) => {
    const now = clock.now();
    const notified = contacts.filter(({ status }) => !UNNOTIFIED_STATUSES.has(status));
    const last = contacts.length < ACCOUNTS_PER_SLICE ? undefined : contacts.at(-1);
    return {
      statements: insertAnnounced(
        db,
        { kind: `customer.${kind}`, data: { announcementId: subject }, now },
        notified.map((contact) => ({
          noticeId: createId("ntc", now),
          platformId: contact.platformId,
          recipient: pickAnnouncementRecipient(contact),
        })),
      ),
      done: notified.length,
      next: last ? { at: 0, id: last.platformId } : null,
    };
  },
};

/** Writes the notices of the oldest announcement that has not reached every account. */
export const announceJob: BulkJob = {
  kind: "bulk",
  name: announcing.job,
  here: true,
  slices: announcing.slices,
  find: async (deps) => {
    const { open } = await readBatch(deps.db, { open: findWalks(deps.db, "announcement", BEFORE_FIRST_DUE, 1) });
    const [oldest] = open;
    if (!oldest) return null;
    const run = async () => {
      const slice = await runNextSlice(deps, announcing, oldest.id);
      return { done: slice?.done ?? 0, failed: [], next: BEFORE_FIRST_DUE };
    };
    return { oldestDueAt: oldest.at, run };
  },
};
