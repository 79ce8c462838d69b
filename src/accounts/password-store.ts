// Store of passwords, apart from all other readings of an account.
import { eq, type SQL } from "drizzle-orm";
import type { PlatformStatus } from "../core/vocabulary.ts";
import { type Database, type Read, read, readOne, type Statement } from "../db/batch.ts";
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

/** The stored derivation of an account's password. */
export const findPassword = (db: Database, platformId: string | SQL<string>): Read<string | null> =>
  read(
    db.select({ hash: passwords.hash }).from(passwords).where(eq(passwords.platformId, platformId)),
    ([row]) => row?.hash ?? null,
  );

export const putPassword = (db: Database, platformId: string, hash: string, now: number): Statement =>
  db
    .insert(passwords)
    .values({ platformId, hash, changedAt: now })
    .onConflictDoUpdate({ target: passwords.platformId, set: { hash, changedAt: now } });

/** Of a closed account. */
export const deletePassword = (db: Database, platformId: string): Statement =>
  db.delete(passwords).where(eq(passwords.platformId, platformId));
