// Store of the person who owns an account: the password, and TOTP if it is set up (CRED-28). It is separate, so that other reads of an account do
// not touch it.
import { and, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import { type Database, guard, mustChange, type Read, read, readOne, type Statement } from "../db/batch.ts";
import { type PersonRow, type PlatformRow, passwords, platforms } from "../db/tables/accounts.ts";
import { hasEmail } from "./store.ts";

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

/** For the closing of an account. */
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

export const deletePasswordsOfAccounts = (db: Database, platformIds: SQL): Statement =>
  db.delete(passwords).where(sql`${passwords.platformId} in ${platformIds}`);

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
