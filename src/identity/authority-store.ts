// Store of the CA's keys that the service has seen.
import { and, eq, isNull, sql } from "drizzle-orm";
import { type Database, type Read, read, type Statement } from "../db/batch.ts";
import { type AuthorityKeyRow, authorityKeys } from "../db/tables/agents.ts";

/** One row per key that the service ever had, newest first; one or two are added a year. */
export const findAuthorityKeys = (db: Database): Read<AuthorityKeyRow[]> =>
  read(db.select().from(authorityKeys), (rows) => rows.sort((a, b) => b.publishedAt - a.publishedAt));

export const recordAuthorityKey = (db: Database, kid: string, now: number): Statement =>
  db.insert(authorityKeys).values({ kid, publishedAt: now }).onConflictDoNothing();

/** Deletes a key that never signed and is no longer in the secret: if it returns, its day of notice starts again. */
export const forgetAuthorityKey = (db: Database, kid: string): Statement =>
  db.delete(authorityKeys).where(and(eq(authorityKeys.kid, kid), isNull(authorityKeys.signsFrom)));

export const recordSigningKey = (db: Database, kid: string, now: number): Statement =>
  db
    .update(authorityKeys)
    .set({ signsFrom: sql`coalesce(${authorityKeys.signsFrom}, ${now})`, signedUntil: now })
    .where(eq(authorityKeys.kid, kid));
