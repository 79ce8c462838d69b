// Store of the credentials of an account: the person's password and TOTP (CRED-28), which are separate so that other reads of an account do not
// touch them, the mailed links, and the counts of mails (ACC-31).
import { and, desc, eq, getTableColumns, gt, gte, inArray, isNull, ne, type SQL, sql } from "drizzle-orm";
import { LINK_KINDS, type LinkKind } from "../core/vocabulary.ts";
import { type Database, guard, mustChange, type Read, read, readAll, readOne, type Statement } from "../db/batch.ts";
import { countEnded, type EndedCount, type EndingTable, isEnded } from "../db/clock.ts";
import { splitIntoParts } from "../db/parts.ts";
import {
  accountLinks,
  type LinkRow,
  mailCounts,
  type PersonRow,
  type PlatformRow,
  passwords,
  platforms,
} from "../db/tables/accounts.ts";
import { deleteEntries } from "../journal/activity-store.ts";
import { deleteChains, deleteVolumes } from "../journal/volume-store.ts";
import { deletePlatforms, hasEmail } from "./store.ts";

/** The person of an account, with the columns of the account that a log-in needs. */
export type LogInAccount = PersonRow & Pick<PlatformRow, "status" | "email" | "adminContactEmail" | "legalName">;

export const findLogIn = (db: Database, email: string): Read<LogInAccount | null> =>
  readOne(
    db
      .select({
        ...getTableColumns(passwords),
        status: platforms.status,
        email: platforms.email,
        adminContactEmail: platforms.adminContactEmail,
        legalName: platforms.legalName,
      })
      .from(platforms)
      .innerJoin(passwords, eq(passwords.platformId, platforms.platformId))
      .where(hasEmail(email)),
  );

export const findPerson = (db: Database, platformId: string | SQL<string>): Read<PersonRow | null> =>
  readOne(db.select().from(passwords).where(eq(passwords.platformId, platformId)));

export const deletePassword = (db: Database, platformId: string): Statement =>
  db.delete(passwords).where(eq(passwords.platformId, platformId));

export const findPassword = (db: Database, platformId: string | SQL<string>): Read<string | null> =>
  read(
    db.select({ hash: passwords.hash }).from(passwords).where(eq(passwords.platformId, platformId)),
    ([row]) => row?.hash ?? null,
  );

export const insertPassword = (db: Database, platformId: string, hash: string, now: number): Statement =>
  db.insert(passwords).values({ platformId, hash, changedAt: now });

type Replacement = { readonly platformId: string; readonly before?: string; readonly hash: string };

/** Fails (Conflict) when another password than `before`, if it is given, is stored. */
export const replacePassword = (db: Database, { platformId, before, hash }: Replacement, now: number): Statement[] =>
  mustChange(
    db,
    db
      .update(passwords)
      .set({ hash, changedAt: now })
      .where(and(eq(passwords.platformId, platformId), before === undefined ? undefined : eq(passwords.hash, before))),
  );

/** Fails the batch (Conflict) when the judged password is no longer the account's. */
export const guardPassword = (db: Database, platformId: string, hash: string): Statement =>
  guard(db, sql`exists (select 1 from passwords where platform_id = ${platformId} and hash = ${hash})`);

// ---- The whole row -------------------------------------------------------------------------------------------------------

type PersonChange = Partial<Omit<PersonRow, "platformId">>;

/**
 * Changes a person, if `set` names any change. Fails the batch (Conflict) unless the password, the second factor and its used codes are as they were
 * read.
 */
export const updatePerson = (db: Database, before: PersonRow, set: PersonChange): Statement[] =>
  Object.keys(set).length === 0
    ? [guard(db, sql`exists (select 1 from passwords where ${isUnchangedPerson(before)})`)]
    : mustChange(db, db.update(passwords).set(set).where(isUnchangedPerson(before)));

/** A new set-up has other recovery codes than the one before, and its confirmation uses up a step. */
const isUnchangedPerson = ({ platformId, hash, totpStep, recoveryCodes }: PersonRow): SQL =>
  sql`platform_id = ${platformId} and hash = ${hash} and totp_step = ${totpStep}
    and recovery_codes is ${recoveryCodes === null ? null : JSON.stringify(recoveryCodes)}`;

/** Finds secrets that are sealed under an older key, after an id, by two ranges of the index. */
export const findSealedByOlderKey = (db: Database, newest: string, after: string, limit: number): Read<string[]> => {
  const range = (other: SQL) =>
    sql`select platform_id from (select platform_id from passwords
      where totp_seal_key is not null and totp_seal_key ${other} and platform_id > ${after} limit ${limit})`;
  return read(
    db
      .select({ platformId: passwords.platformId })
      .from(passwords)
      .where(sql`platform_id in (${range(sql`< ${newest}`)} union all ${range(sql`> ${newest}`)})`)
      .orderBy(passwords.platformId)
      .limit(limit),
    (rows) => rows.map(({ platformId }) => platformId),
  );
};

// ---- Mailed links --------------------------------------------------------------------------------------------------------

export const findLink = (db: Database, tokenHash: string): Read<LinkRow | null> =>
  readOne(db.select().from(accountLinks).where(eq(accountLinks.tokenHash, tokenHash)));

/** The account of a link as an expression. */
export const selectOwnerOfLink = (tokenHash: string): SQL<string> =>
  sql<string>`(select platform_id from account_links where token_hash = ${tokenHash})`;

export const insertLink = (db: Database, row: LinkRow): Statement => db.insert(accountLinks).values(row);

/** Uses a link up. If two calls use one token, the second one fails. */
export const useLink = (db: Database, tokenHash: string, now: number): Statement[] =>
  mustChange(
    db,
    db
      .update(accountLinks)
      .set({ usedAt: now })
      .where(and(eq(accountLinks.tokenHash, tokenHash), isNull(accountLinks.usedAt), gt(accountLinks.expiresAt, now))),
  );

/** The links by which the holder of an ended session could come back: to another address, or as the contact. */
export const LINKS_OF_SESSIONS = ["change_email", "confirm_contact"] as const satisfies readonly LinkKind[];

/** Ends every open link of the kinds, except links to `butTo`. */
export const endLinks = (
  db: Database,
  platformId: string,
  kinds: readonly LinkKind[],
  now: number,
  { butTo }: { readonly butTo?: string } = {},
): Statement =>
  db
    .update(accountLinks)
    .set({ usedAt: now })
    .where(
      and(
        eq(accountLinks.platformId, platformId),
        inArray(accountLinks.kind, [...kinds]),
        isNull(accountLinks.usedAt),
        butTo === undefined ? undefined : ne(accountLinks.email, butTo),
      ),
    );

export const deleteLinks = (db: Database, platformId: string): Statement =>
  db.delete(accountLinks).where(eq(accountLinks.platformId, platformId));

const isMailedSince = (platformId: string | SQL<string>, kind: LinkKind, instant: number): SQL | undefined =>
  and(eq(accountLinks.platformId, platformId), eq(accountLinks.kind, kind), gt(accountLinks.createdAt, instant));

/** The newest times, at most `most`, at which links of a kind were mailed since an instant. */
export const findMailTimes = (
  db: Database,
  platformId: string | SQL<string>,
  kind: LinkKind,
  instant: number,
  most: number,
): Read<readonly number[]> =>
  read(
    db
      .select({ createdAt: accountLinks.createdAt })
      .from(accountLinks)
      .where(isMailedSince(platformId, kind, instant))
      .orderBy(desc(accountLinks.createdAt))
      .limit(most),
    (rows) => rows.map(({ createdAt }) => createdAt),
  );

/** The number of links of every kind that were mailed since an instant. */
export const countLinks = (db: Database, platformId: string, instant: number): Read<number> =>
  read(
    db
      .select({ count: sql<number>`count(*)`.as("count") })
      .from(accountLinks)
      .where(
        and(
          eq(accountLinks.platformId, platformId),
          inArray(accountLinks.kind, [...LINK_KINDS]),
          gte(accountLinks.createdAt, instant),
          // A link whose mail was withheld was used up when it was made.
          sql`${accountLinks.usedAt} is not ${accountLinks.createdAt}`,
        ),
      ),
    ([row]) => row?.count ?? 0,
  );

/**
 * Fails the batch (Conflict) unless exactly `times` links of a kind were mailed since an instant, so that only one of many simultaneous requests
 * succeeds.
 */
export const guardMailedCount = (
  db: Database,
  platformId: string,
  kind: LinkKind,
  instant: number,
  times: number,
): Statement =>
  guard(
    db,
    sql`(select count(*) from account_links
         where platform_id = ${platformId} and kind = ${kind} and created_at > ${instant}) = ${times}`,
  );

const ENDING_LINKS: EndingTable = { table: accountLinks, key: accountLinks.tokenHash, end: accountLinks.expiresAt };

export const countEndedLinks = (db: Database, by: number, most: number): Read<EndedCount> =>
  countEnded(db, ENDING_LINKS, by, most);

export const deleteEndedLinks = (db: Database, by: number, slice: number): Statement =>
  db.delete(accountLinks).where(isEnded(ENDING_LINKS, by, slice));

// ---- Mails to an address in a period (ACC-31) ----------------------------------------------------------------------------

export type MailCount = { readonly subjectHash: string; readonly mails: number };

/** Adds mails to the counts of the day or hour that ends at an instant, once for each subject, and answers the new counts. */
export const addMailCounts = (db: Database, each: readonly MailCount[], endsAt: number): Read<readonly MailCount[]>[] =>
  splitIntoParts(each.map(({ subjectHash, mails }) => [subjectHash, mails])).map((part) =>
    readAll(
      db
        .insert(mailCounts)
        .select(sql`select value ->> 0, value ->> 1, ${endsAt} from ${part.rows} where true`)
        .onConflictDoUpdate({
          target: [mailCounts.endsAt, mailCounts.subjectHash],
          set: { mails: sql`${mailCounts.mails} + excluded.mails` },
        })
        .returning({ subjectHash: mailCounts.subjectHash, mails: mailCounts.mails }),
    ),
  );

const selectMailCount = (subjectHash: string, endsAt: number): SQL<number> =>
  sql<number>`coalesce((select mails from mail_counts where ends_at = ${endsAt} and subject_hash = ${subjectHash}), 0)`;

export const isBelowLimit = (db: Database, subjectHash: string, endsAt: number, most: number): Read<boolean> =>
  read(
    db.select({ mails: selectMailCount(subjectHash, endsAt).as("mails") }).from(sql`(select 1)`),
    ([row]) => (row?.mails ?? 0) < most,
  );

/** Counts one mail more cheaply than `addMailCounts`. Fails the batch (Conflict) if the count then exceeds `most`. */
export const addMailCount = (db: Database, subjectHash: string, endsAt: number, most: number): Statement[] => [
  db
    .insert(mailCounts)
    .values({ subjectHash, endsAt, mails: 1 })
    .onConflictDoUpdate({
      target: [mailCounts.endsAt, mailCounts.subjectHash],
      set: { mails: sql`${mailCounts.mails} + 1` },
    }),
  guard(db, sql`${selectMailCount(subjectHash, endsAt)} <= ${most}`),
];

const ENDING_COUNTS: EndingTable = {
  table: mailCounts,
  key: [mailCounts.endsAt, mailCounts.subjectHash],
  end: mailCounts.endsAt,
};

export const countEndedCounts = (db: Database, by: number, most: number): Read<EndedCount> =>
  countEnded(db, ENDING_COUNTS, by, most);

export const deleteEndedCounts = (db: Database, by: number, slice: number): Statement =>
  db.delete(mailCounts).where(isEnded(ENDING_COUNTS, by, slice));

// ---- Accounts that never began (ACC-10, ACC-12) --------------------------------------------------------------------------

/** Deletes all their rows. The accounts themselves go last, because the other rows are found through them. */
export const deleteUnverified = (db: Database, those: SQL): Statement[] => [
  db.delete(passwords).where(sql`${passwords.platformId} in ${those}`),
  db.delete(accountLinks).where(sql`${accountLinks.platformId} in ${those}`),
  deleteEntries(db, those),
  ...deleteChains(db, those),
  deleteVolumes(db, those),
  deletePlatforms(db, those),
];

/** Deletes one account if it still waits for its verification. */
export const deleteIfUnverified = (db: Database, platformId: string): Statement[] =>
  deleteUnverified(
    db,
    sql`(select platform_id from platforms where platform_id = ${platformId} and status = 'EMAIL_PENDING')`,
  );
