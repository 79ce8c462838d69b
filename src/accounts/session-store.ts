// Store of sessions.
import { and, eq, lte, type SQL, sql } from "drizzle-orm";
import { DAY_MS, HOUR_MS, SESSION_DAYS, SESSION_IDLE_HOURS } from "../core/limits.ts";
import type { InProduction } from "../core/production.ts";
import type { Tier } from "../core/vocabulary.ts";
import type { VolumeMarks } from "../core/volume.ts";
import { type Database, guard, type Read, readOne, type Statement } from "../db/batch.ts";
import { countEnded, type Ended, type Ending, isEnded } from "../db/ended.ts";
import { platforms, type SessionRow, sessions } from "../db/tables/accounts.ts";
import { IS_OPEN } from "./store.ts";

export type SessionOwner = InProduction & {
  readonly tokenHash: string;
  readonly platformId: string;
  readonly email: string;
  readonly usedAt: number;
  readonly expiresAt: number;
  readonly accreditationTier: Tier;
  readonly clockOffsetMs: number;
  readonly volumeMarks: VolumeMarks | null;
};

/** Finds the account of the presented session: a read of each of its calls. */
export const findSessionOwner = (db: Database, tokenHash: string): Read<SessionOwner | null> =>
  readOne(
    db
      .select({
        tokenHash: sessions.tokenHash,
        platformId: sessions.platformId,
        usedAt: sessions.usedAt,
        expiresAt: sessions.expiresAt,
        email: platforms.email,
        platformStatus: platforms.status,
        promotedAt: platforms.promotedAt,
        accreditationTier: platforms.accreditationTier,
        clockOffsetMs: platforms.clockOffsetMs,
        volumeMarks: platforms.volumeMarks,
      })
      .from(sessions)
      .innerJoin(platforms, eq(platforms.platformId, sessions.platformId))
      .where(eq(sessions.tokenHash, tokenHash)),
  );

/** The account of a session as an expression, so that reads can be scoped before it is known. */
export const ownerOfSession = (tokenHash: string): SQL<string> =>
  sql<string>`(select platform_id from sessions where token_hash = ${tokenHash})`;

/** As `whileKey` of a session: a change of the password, or a log-out, has ended it since. */
export const whileSession = (db: Database, tokenHash: string, now: number): Statement =>
  guard(
    db,
    sql`exists (select 1 from sessions join platforms using (platform_id)
        where token_hash = ${tokenHash} and expires_at > ${now} and ${IS_OPEN})`,
  );

export const insertSession = (
  db: Database,
  row: Pick<SessionRow, "tokenHash" | "platformId">,
  now: number,
): Statement => db.insert(sessions).values({ ...row, createdAt: now, usedAt: now, expiresAt: endAfterUse(now, now) });

/** When a session ends unless it is used again: 12 hours after its use, and not after its absolute end. */
const endAfterUse = (createdAt: number | typeof sessions.createdAt, usedAt: number): SQL<number> =>
  sql<number>`min(${createdAt} + ${SESSION_DAYS * DAY_MS}, ${usedAt + SESSION_IDLE_HOURS * HOUR_MS})`;

/** Leaves a use that another call has written meanwhile. */
export const touchSession = (db: Database, tokenHash: string, now: number, usedBefore: number): Statement =>
  db
    .update(sessions)
    .set({ usedAt: now, expiresAt: endAfterUse(sessions.createdAt, now) })
    .where(and(eq(sessions.tokenHash, tokenHash), lte(sessions.usedAt, usedBefore)));

export const deleteSession = (db: Database, tokenHash: string): Statement =>
  db.delete(sessions).where(eq(sessions.tokenHash, tokenHash));

/** Signs the account out everywhere. */
export const deleteSessions = (db: Database, platformId: string): Statement =>
  db.delete(sessions).where(eq(sessions.platformId, platformId));

const ENDED: Ending = { table: sessions, key: sessions.tokenHash, end: sessions.expiresAt };

export const countEndedSessions = (db: Database, by: number, most: number): Read<Ended> =>
  countEnded(db, ENDED, by, most);

export const deleteEndedSessions = (db: Database, by: number, slice: number): Statement =>
  db.delete(sessions).where(isEnded(ENDED, by, slice));
