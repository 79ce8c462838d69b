// Store of passwords, apart from all other readings of an account.
import { and, eq, type SQL, sql } from "drizzle-orm";
import type { PlatformStatus } from "../core/vocabulary.ts";
import { type Database, guard, mustChange, type Read, read, readOne, type Statement } from "../db/batch.ts";
import { passwords, platforms } from "../db/tables/accounts.ts";
import { byEmail } from "./store.ts";

/** What a log-in is judged by. */
export type LogInAccount = {
  readonly platformId: string;
  readonly status: PlatformStatus;
  readonly email: string;
  readonly hash: string;
};

export const findLogIn = (db: Database, email: string): Read<LogInAccount | null> =>
  readOne(
    db
      .select({
        platformId: platforms.platformId,
        status: platforms.status,
        email: platforms.email,
        hash: passwords.hash,
      })
      .from(platforms)
      .innerJoin(passwords, eq(passwords.platformId, platforms.platformId))
      .where(byEmail(email)),
  );

/** Of a closed account. */
export const deletePassword = (db: Database, platformId: string): Statement =>
  db.delete(passwords).where(eq(passwords.platformId, platformId));

/** The stored derivation of an account's password. */
export const findPassword = (db: Database, platformId: string | SQL<string>): Read<string | null> =>
  read(
    db.select({ hash: passwords.hash }).from(passwords).where(eq(passwords.platformId, platformId)),
    ([row]) => row?.hash ?? null,
  );

export const insertPassword = (db: Database, platformId: string, hash: string, now: number): Statement =>
  db.insert(passwords).values({ platformId, hash, changedAt: now });

type Replacement = { readonly platformId: string; readonly before: string; readonly hash: string };

/** Fails (Conflict) when another password was stored since `before` was read. */
export const replacePassword = (db: Database, { platformId, before, hash }: Replacement, now: number): Statement[] =>
  mustChange(
    db,
    db
      .update(passwords)
      .set({ hash, changedAt: now })
      .where(and(eq(passwords.platformId, platformId), eq(passwords.hash, before))),
  );

/** Fails the batch (Conflict) when the password that was judged is no longer the account's. */
export const keepsPassword = (db: Database, platformId: string, hash: string): Statement =>
  guard(db, sql`exists (select 1 from passwords where platform_id = ${platformId} and hash = ${hash})`);

export const deletePasswords = (db: Database, platformIds: SQL): Statement =>
  db.delete(passwords).where(sql`${passwords.platformId} in ${platformIds}`);
