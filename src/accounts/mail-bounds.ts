// Limits the mails to an address (ACC-31): by day those that no account of its own has caused, and by hour the notices of one account.
import type { Deps } from "../context.ts";
import { computeSha256Hex } from "../core/encoding.ts";
import { DAY_MS, HOUR_MS, NOTICE_MAILS_PER_HOUR, STRANGER_MAILS_PER_DAY } from "../core/limits.ts";
import { foldName } from "../core/text.ts";
import { type Database, type Read, readBatch, type Statement } from "../db/batch.ts";
import { addMailCount, addMailCounts, isBelowLimit, type MailCount } from "./mail-count-store.ts";

/** Folds an address and drops its `+` tag: both spellings reach one mailbox. */
function toMailbox(address: string): string {
  const [name = "", host] = foldName(address).split("@");
  return `${name.split("+")[0]}@${host}`;
}

const hashStranger = (address: string): Promise<string> => computeSha256Hex(`stranger ${toMailbox(address)}`);

/** Reads whether an address may still get a mail today that no account of its own has caused. */
export const mayMailStranger = async (db: Database, address: string, now: number): Promise<Read<boolean>> =>
  isBelowLimit(db, await hashStranger(address), computePeriodEnd(now, DAY_MS), STRANGER_MAILS_PER_DAY);

/** Counts such a mail in the batch that makes its link. Fails the batch (Conflict) when the day's limit is reached. */
export const countStrangerMail = async (db: Database, address: string, now: number): Promise<Statement[]> =>
  addMailCount(db, await hashStranger(address), computePeriodEnd(now, DAY_MS), STRANGER_MAILS_PER_DAY);

type Addressed = { readonly platformId: string; readonly recipient: string };

/** Counts the mails, and returns those that exceed the hour's limit. */
export async function countAndFindExcess<M extends Addressed>(deps: Deps, mails: readonly M[]): Promise<readonly M[]> {
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

/** The end of the UTC day or hour that contains the instant. */
export const computePeriodEnd = (now: number, periodMs: number): number => (Math.floor(now / periodMs) + 1) * periodMs;

async function countPeriodMails(
  { db, clock }: Deps,
  each: readonly MailCount[],
  periodMs: number,
): Promise<ReadonlyMap<string, number>> {
  const reads = addMailCounts(db, each, computePeriodEnd(clock.now(), periodMs));
  const counts = Object.values(await readBatch(db, Object.fromEntries(reads.entries()))).flat();
  return new Map(counts.map(({ subjectHash, mails }) => [subjectHash, mails]));
}
