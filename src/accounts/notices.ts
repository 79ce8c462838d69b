// Mails to the addresses of an account: any mail of the catalogue (MAIL-5), its waiting notices (ACC-11), the notices before an attestation ends
// (PRN-26), and the limits of an address (ACC-31).
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/clock.ts";
import { computeSha256Hex } from "../core/encoding.ts";
import { createId } from "../core/ids.ts";
import {
  DAY_MS,
  DIGEST_LINES_MAX,
  HOUR_MS,
  MINUTE_MS,
  NOTICE_MAILS_PER_HOUR,
  STRANGER_MAILS_PER_DAY,
} from "../core/limits.ts";
import { runConcurrently } from "../core/retry.ts";
import { foldName } from "../core/text.ts";
import { commit, type Database, type Read, readBatch, type Statement } from "../db/batch.ts";
import type { AnnouncementRow, NoticeRow, PlatformRow } from "../db/tables/accounts.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import type { BulkJob, EachJob, RowFailure, SliceResult } from "../jobs/job.ts";
import { addToDigest, countDueNotices, deleteNotices, takeDueNotices } from "../journal/alert-store.ts";
import { type NoticeKind, recordNotice } from "../journal/alerts.ts";
import { recordEvent } from "../journal/events.ts";
import { addVolumes } from "../journal/volume-store.ts";
import type { MailData, MailKind } from "../mail/kinds.ts";
import { composeMail, sendMail } from "../mail/mail.ts";
import { toEffectivePrincipalStatus } from "../principals/effective-status.ts";
import { findDueNotices, selectPrincipalPlatform } from "../principals/find-store.ts";
import { computeNextNotice, type NoticeDays, pickDueNotice, toPrincipalView } from "../principals/read.ts";
import { findPrincipalById, moveNotice } from "../principals/store.ts";
import { addMailCount, addMailCounts, isBelowLimit, type MailCount } from "./credential-store.ts";
import { findAnnouncements, findPlatform } from "./store.ts";

/** @throws what the binding throws: the mail is then not sent */
export const sendMailTo = <K extends MailKind>(
  { env, config }: Deps,
  to: string,
  kind: K,
  data: MailData[K],
): Promise<void> =>
  sendMail(env.MAIL, { name: config.operatorName, email: env.MAIL_FROM }, to, composeMail(kind, data, config));

/** The cause for the log, without the address and the text of the mail. */
export const toLoggedCause = (thrown: unknown): string => (thrown instanceof Error ? thrown.name : "unknown");

// ---- Waiting notices (ACC-11) --------------------------------------------------------------------------------------------

const NOTICES_SLICE = 50;
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

/**
 * Each minute. A notice is postponed before its mail is sent and deleted after, so two simultaneous runs send one mail. When the Worker dies in
 * between, the mail is sent again: a notice arrives at least once.
 */
export const mailNotices: BulkJob = {
  kind: "bulk",
  name: "mail_notices",
  slices: 4,
  find: async (deps) => {
    const { due } = await readBatch(deps.db, { due: countDueNotices(deps.db, deps.clock.now(), NOTICES_SLICE) });
    return due.count === 0 ? null : { oldestDueAt: due.oldest, run: () => mailSlice(deps) };
  },
};

async function mailSlice(deps: Deps): Promise<SliceResult> {
  const { db, clock } = deps;
  const { taken } = await readBatch(db, { taken: takeDueNotices(db, clock.now(), NOTICES_SLICE, NOTICE_PAUSES_MS) });
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
  return { done: sent.length, failed, next: taken.length < NOTICES_SLICE ? null : BEFORE_FIRST_DUE };
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

const composeSubject = (mail: JoinedNotices, config: Deps["config"]): string =>
  composeMail(mail[0].kind as NoticeKind, joinData(mail) as MailData[NoticeKind], config).subject;

type Announcements = ReadonlyMap<string, AnnouncementRow>;

/** A notice refers to its announcement, so that each text is stored once. */
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

// ---- Notices before an attestation ends (PRN-26) -------------------------------------------------------------------------

/**
 * An event and a notice to the account, 30, 7 and 1 days before. The notice and the instant of the next one are one guarded batch, so that each is
 * given once, also by two simultaneous runs.
 */
export const notifyExpiring: EachJob = {
  kind: "each",
  name: "notify_expiring",
  find: async ({ db, clock }, after, limit) => {
    const { due } = await readBatch(db, { due: findDueNotices(db, clock.now(), after ?? BEFORE_FIRST_DUE, limit) });
    return due;
  },
  record: notifyPrincipal,
};

/** Returns false when the notice was given before, or another one is due later. */
async function notifyPrincipal(deps: Deps, principalId: string): Promise<boolean> {
  const { db } = deps;
  const { principal, platform } = await readBatch(db, {
    principal: findPrincipalById(db, principalId),
    platform: findPlatform(db, selectPrincipalPlatform(principalId)),
  });
  if (!principal || !platform || principal.expiryNoticeAt === null) return false;
  // By the clock that rules its attestation (ACC-9).
  const now = deps.clock.now() + (principal.environment === "sandbox" ? platform.clockOffsetMs : 0);
  if (principal.expiryNoticeAt > now) return false;
  const { attestationExpiresAt } = principal;
  const ahead = hasEndAhead(principal, now);
  const days = ahead ? pickDueNotice(attestationExpiresAt, now) : null;
  await commitAll(deps, [
    ...moveNotice(db, principal, ahead ? computeNextNotice(attestationExpiresAt, now) : null),
    ...(days === null ? [] : recordExpiryNotice(deps, principal, platform, days, now)),
  ]);
  return true;
}

/** A closed principal gets no notice, and neither does a revoked attestation. */
const hasEndAhead = (principal: PrincipalRow, now: number): boolean =>
  principal.attestationStop === null && toEffectivePrincipalStatus(principal, now) !== "CLOSED";

function recordExpiryNotice(
  { db }: Deps,
  principal: PrincipalRow,
  platform: PlatformRow,
  days: NoticeDays,
  now: number,
): Statement[] {
  const { principalId, legalName, attestationExpiresAt: expiresAt } = principal;
  const object = { ...toPrincipalView(principal, now), notice_days: days };
  return [
    recordEvent(db, principal, now, { type: "principal.attestation_expiring", object }),
    recordNotice(db, platform, now, {
      kind: "customer.attestation_expiring",
      data: { ends: [{ principalId, principalName: legalName, expiresAt, days }] },
    }),
  ];
}

// ---- Limits of an address (ACC-31) ---------------------------------------------------------------------------------------

/** Reads whether an address may still get a mail today that no account of its own has caused. */
export const mayMailStranger = async (db: Database, address: string, now: number): Promise<Read<boolean>> =>
  isBelowLimit(db, await hashStranger(address), computePeriodEnd(now, DAY_MS), STRANGER_MAILS_PER_DAY);

/** Counts such a mail in the batch that makes its link. Fails the batch (Conflict) when the day's limit is reached. */
export const countStrangerMail = async (db: Database, address: string, now: number): Promise<Statement[]> =>
  addMailCount(db, await hashStranger(address), computePeriodEnd(now, DAY_MS), STRANGER_MAILS_PER_DAY);

type Addressed = { readonly platformId: string; readonly recipient: string };

async function countAndFindExcess<M extends Addressed>(deps: Deps, mails: readonly M[]): Promise<readonly M[]> {
  if (mails.length === 0) return [];
  const subjects = await Promise.all(
    mails.map(({ platformId, recipient }) => computeSha256Hex(`notices ${platformId} ${toMailbox(recipient)}`)),
  );
  const bySubject = Map.groupBy(mails, (_mail, at) => subjects[at] ?? "");
  const each = [...bySubject].map(([subjectHash, { length }]) => ({ subjectHash, mails: length }));
  const counts = await countPeriodMails(deps, each, HOUR_MS);
  return [...bySubject].flatMap(([subjectHash, those]) => {
    const before = (counts.get(subjectHash) ?? those.length) - those.length;
    return those.slice(Math.max(0, NOTICE_MAILS_PER_HOUR - before));
  });
}

/** Folds an address and drops its `+` tag: both spellings reach one mailbox. */
function toMailbox(address: string): string {
  const [name = "", host] = foldName(address).split("@");
  return `${name.split("+")[0]}@${host}`;
}

const hashStranger = (address: string): Promise<string> => computeSha256Hex(`stranger ${toMailbox(address)}`);

/** The end of the UTC day or hour that contains the instant. */
const computePeriodEnd = (now: number, periodMs: number): number => (Math.floor(now / periodMs) + 1) * periodMs;

async function countPeriodMails(
  { db, clock }: Deps,
  each: readonly MailCount[],
  periodMs: number,
): Promise<ReadonlyMap<string, number>> {
  const reads = addMailCounts(db, each, computePeriodEnd(clock.now(), periodMs));
  const counts = Object.values(await readBatch(db, Object.fromEntries(reads.entries()))).flat();
  return new Map(counts.map(({ subjectHash, mails }) => [subjectHash, mails]));
}
