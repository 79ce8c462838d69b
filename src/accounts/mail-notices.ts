// Mails the waiting notices, each minute (ACC-11). A notice is postponed before its mail is sent and deleted after, so two simultaneous runs send
// one mail. When the Worker dies in between, the mail is sent again: a notice arrives at least once.
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/due.ts";
import { createId } from "../core/ids.ts";
import { DIGEST_LINES_MAX, HOUR_MS, MINUTE_MS } from "../core/limits.ts";
import { runConcurrently } from "../core/parallel.ts";
import { commit, readBatch, type Statement } from "../db/batch.ts";
import type { AnnouncementRow, NoticeRow } from "../db/tables/accounts.ts";
import type { BulkJob, RowFailure, SliceResult } from "../jobs/job.ts";
import { addToDigest, countDueNotices, deleteNotices, takeDueNotices } from "../journal/notice-store.ts";
import type { NoticeKind } from "../journal/notices.ts";
import { addVolumes } from "../journal/volume-store.ts";
import type { MailData } from "../mail/kinds.ts";
import { composeMail } from "../mail/mail.ts";
import { findAnnouncements } from "./announcement-store.ts";
import { computePeriodEnd, countAndFindExcess } from "./mail-bounds.ts";
import { sendMailTo, toLoggedCause } from "./mails.ts";

const SLICE = 50;
/** The pauses after failed attempts. One more failure, after about two days, drops the notice and raises `job_failed`. */
export const NOTICE_PAUSES_MS = [
  MINUTE_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
] as const;

export const mailNotices: BulkJob = {
  kind: "bulk",
  name: "mail_notices",
  slices: 4,
  find: async (deps) => {
    const { due } = await readBatch(deps.db, { due: countDueNotices(deps.db, deps.clock.now(), SLICE) });
    return due.count === 0 ? null : { oldestDueAt: due.oldest, run: () => mailSlice(deps) };
  },
};

async function mailSlice(deps: Deps): Promise<SliceResult> {
  const { db, clock } = deps;
  const { taken } = await readBatch(db, { taken: takeDueNotices(db, clock.now(), SLICE, NOTICE_PAUSES_MS) });
  const announcements = await readAnnouncements(deps, taken);
  const mails = groupIntoMails(taken);
  const held = new Set(await moveToDigest(deps, mails));
  const sent: string[] = [];
  const mailed: { platformId: string; mails: 1 }[] = [];
  const failed: RowFailure[] = [];
  await runConcurrently(
    mails.filter((mail) => !held.has(mail)),
    async (notices) => {
      try {
        await sendJoined(deps, notices, announcements);
        sent.push(...notices.map(({ noticeId }) => noticeId));
        mailed.push({ platformId: notices[0].platformId, mails: 1 });
      } catch (thrown) {
        failed.push(...notices.flatMap((notice) => toMailFailure(notice, thrown) ?? []));
      }
    },
  );
  const settled = [...sent, ...failed.map(({ id }) => id)];
  if (settled.length > 0) await commit(db, [deleteNotices(db, settled), ...addVolumes(db, mailed, clock.now())]);
  return { done: sent.length, failed, next: taken.length < SLICE ? null : BEFORE_FIRST_DUE };
}

type JoinedNotices = readonly [NoticeRow, ...NoticeRow[]];

/**
 * The mails of the notices. Ends of many attestations of an account make one mail: attestations that were recorded together end together, and the
 * contact may be an unverified address.
 */
const groupIntoMails = (taken: readonly NoticeRow[]): JoinedNotices[] => {
  const mailOf = ({ kind, platformId, recipient, noticeId }: NoticeRow) =>
    kind === EXPIRY_KIND ? JSON.stringify([platformId, recipient]) : noticeId;
  return [...Map.groupBy(taken, mailOf).values()].flatMap(([first, ...others]) => (first ? [[first, ...others]] : []));
};
const EXPIRY_KIND: NoticeKind = "customer.attestation_expiring";

/** Moves the mails that exceed the hour's limit into a digest at its end (ACC-31), and returns them. */
async function moveToDigest(deps: Deps, mails: readonly JoinedNotices[]): Promise<readonly JoinedNotices[]> {
  const { db, config, clock } = deps;
  const now = clock.now();
  const bounded = mails.filter(([first]) => first.isBounded);
  const addressed = bounded.map((mail) => ({ mail, platformId: mail[0].platformId, recipient: mail[0].recipient }));
  const held = (await countAndFindExcess(deps, addressed)).map(({ mail }) => mail);
  if (held.length === 0) return [];
  const byRecipient = Map.groupBy(held, ([{ platformId, recipient }]) => JSON.stringify([platformId, recipient]));
  const digests = [...byRecipient.values()].flatMap((those): Statement[] => {
    const [first] = those[0] ?? [];
    if (!first) return [];
    const { platformId, recipient, data } = first;
    return [
      addToDigest(
        db,
        {
          noticeId: createId("ntc", now),
          platformId,
          recipient,
          dueAt: computePeriodEnd(now, HOUR_MS),
          account: "account" in data ? data.account : platformId,
          held: those.map((mail) => ({ subject: composeSubject(mail, config), at: mail[0].createdAt })),
        },
        now,
        DIGEST_LINES_MAX,
      ),
    ];
  });
  await commit(db, [
    ...digests,
    deleteNotices(
      db,
      held.flat().map(({ noticeId }) => noticeId),
    ),
  ]);
  return held;
}

/** The stored kind and data were written by recordNotice. */
const composeSubject = (mail: JoinedNotices, config: Deps["config"]): string =>
  composeMail(mail[0].kind as NoticeKind, joinData(mail) as MailData[NoticeKind], config).subject;

type Announcements = ReadonlyMap<string, AnnouncementRow>;

/** Reads the texts of announcements: a notice refers to its announcement, so that each text is stored once. */
async function readAnnouncements({ db }: Deps, taken: readonly NoticeRow[]): Promise<Announcements> {
  const ids = [
    ...new Set(taken.flatMap(({ data }) => ("announcementId" in data ? [String(data.announcementId)] : []))),
  ];
  if (ids.length === 0) return new Map();
  const { found } = await readBatch(db, { found: findAnnouncements(db, ids) });
  return new Map(found.map((row) => [row.announcementId, row]));
}

function sendJoined(deps: Deps, [first, ...others]: JoinedNotices, announcements: Announcements): Promise<void> {
  const { kind, recipient } = first;
  const data = joinData([first, ...others]);
  const told = "announcementId" in data ? announcements.get(String(data.announcementId)) : data;
  if (told === undefined) throw new Error("the announcement is missing");
  // The stored kind and data were written by recordNotice and by the job of announcements.
  return sendMailTo(deps, recipient, kind as NoticeKind, told as unknown as MailData[NoticeKind]);
}

const joinData = ([first, ...others]: JoinedNotices): object =>
  others.reduce((sum: object, { data }) => joinExpiries(sum, data), first.data);

/** Joins the data of two notices of expiring attestations. */
function joinExpiries(one: object, other: object): object {
  const endsOf = (data: object): readonly unknown[] => ("ends" in data && Array.isArray(data.ends) ? data.ends : []);
  return { ...one, ends: [...endsOf(one), ...endsOf(other)] };
}

/** Null while another attempt follows. The log and the alert name the notice, but neither the address nor the text. */
function toMailFailure({ noticeId, platformId, kind, attempts }: NoticeRow, thrown: unknown): RowFailure | null {
  const message = toLoggedCause(thrown);
  console.error(JSON.stringify({ event: "mail_failed", notice: noticeId, kind, attempts, message }));
  if (attempts <= NOTICE_PAUSES_MS.length) return null;
  const dropped = `${kind} of ${platformId} is dropped after ${attempts} attempts: ${message}`;
  return { id: noticeId, thrown: new Error(dropped) };
}
