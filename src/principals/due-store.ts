// Store of the deadlines of principals: the end of an attestation (PRN-13), and the notices before it (PRN-26).
import { and, asc, lte, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/due.ts";
import { type Database, type Read, readAll } from "../db/batch.ts";
import { principals } from "../db/tables/principals.ts";

/** Finds principals whose attestation has ended, but which are still stored as ACTIVE, earliest end first. */
export const findEndedAttestations = (db: Database, now: number, after: Due, limit: number): Read<Due[]> =>
  readAll(
    db
      .select({ at: principals.attestationExpiresAt, id: principals.principalId })
      .from(principals)
      .where(
        and(
          // Literal text, so that SQLite uses the partial index.
          sql`status = 'ACTIVE'`,
          lte(principals.attestationExpiresAt, now),
          sql`(${principals.attestationExpiresAt}, ${principals.principalId}) > (${after.at}, ${after.id})`,
        ),
      )
      .orderBy(asc(principals.attestationExpiresAt), asc(principals.principalId))
      .limit(limit),
  );

/** Finds principals whose next notice is due, oldest first. */
export const findDueNotices = (db: Database, now: number, after: Due, limit: number): Read<Due[]> =>
  readAll(
    db
      .select({ at: sql<number>`${principals.expiryNoticeAt}`.as("due_at"), id: principals.principalId })
      .from(principals)
      .where(
        and(
          // Literal text, so that SQLite uses the partial index.
          sql`expiry_notice_at is not null`,
          lte(principals.expiryNoticeAt, now),
          sql`(${principals.expiryNoticeAt}, ${principals.principalId}) > (${after.at}, ${after.id})`,
        ),
      )
      .orderBy(asc(principals.expiryNoticeAt), asc(principals.principalId))
      .limit(limit),
  );

/** A principal's platform, as an expression for reads in the trip that finds the principal. */
export const selectPrincipalPlatform = (principalId: string): SQL<string> =>
  sql<string>`(select platform_id from principals where principal_id = ${principalId})`;
