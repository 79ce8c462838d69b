// Store of sessions, and of the devices that were seen (CRED-13, CRED-27, CRED-29).
import { and, eq, getTableColumns, gt, lte, ne, type SQL, sql } from "drizzle-orm";
import { DAY_MS, HOUR_MS, KNOWN_DEVICE_DAYS, SESSION_DAYS, SESSION_IDLE_HOURS } from "../core/limits.ts";
import type { AskedRows } from "../core/page.ts";
import type { ProductionFacts } from "../core/roles.ts";
import type { Tier } from "../core/vocabulary.ts";
import type { VolumeMarks } from "../core/volume.ts";
import { type Database, guard, mustChange, type Read, read, readOne, type Statement } from "../db/batch.ts";
import { countEnded, type EndedCount, type EndingTable, isEnded } from "../db/clock.ts";
import { readNewest } from "../db/pages.ts";
import { platforms, type SessionRow, seenDevices, sessions } from "../db/tables/accounts.ts";
import { IS_OPEN } from "./store.ts";

export type SessionOwner = ProductionFacts & {
  readonly tokenHash: string;
  readonly sessionId: string;
  readonly platformId: string;
  readonly email: string;
  readonly network: string;
  readonly usedAt: number;
  readonly confirmedAt: number;
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
        sessionId: sessions.sessionId,
        platformId: sessions.platformId,
        network: sessions.network,
        usedAt: sessions.usedAt,
        confirmedAt: sessions.confirmedAt,
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
export const selectOwnerOfSession = (tokenHash: string): SQL<string> =>
  sql<string>`(select platform_id from sessions where token_hash = ${tokenHash})`;

/** Like `guardKey`, for a session that a change of the password or a log-out may have ended. */
export const guardSession = (db: Database, tokenHash: string, now: number): Statement =>
  guard(
    db,
    sql`exists (select 1 from sessions join platforms using (platform_id)
        where token_hash = ${tokenHash} and expires_at > ${now} and ${IS_OPEN})`,
  );

export const insertSession = (
  db: Database,
  row: Pick<SessionRow, "tokenHash" | "sessionId" | "platformId" | "device" | "network">,
  now: number,
): Statement =>
  db
    .insert(sessions)
    .values({ ...row, createdAt: now, confirmedAt: now, usedAt: now, expiresAt: computeSessionEnd(now, now) });

/** The end of a session that is not used again: 12 hours after its use, but not after its absolute end. */
const computeSessionEnd = (createdAt: number | typeof sessions.createdAt, usedAt: number): SQL<number> =>
  sql<number>`min(${createdAt} + ${SESSION_DAYS * DAY_MS}, ${usedAt + SESSION_IDLE_HOURS * HOUR_MS})`;

/** Keeps a use that another call has written meanwhile. */
export const touchSession = (db: Database, tokenHash: string, now: number, usedBefore: number): Statement =>
  db
    .update(sessions)
    .set({ usedAt: now, expiresAt: computeSessionEnd(sessions.createdAt, now) })
    .where(and(eq(sessions.tokenHash, tokenHash), lte(sessions.usedAt, usedBefore)));

export const confirmSession = (db: Database, tokenHash: string, now: number): Statement =>
  db.update(sessions).set({ confirmedAt: now }).where(eq(sessions.tokenHash, tokenHash));

// ---- The sessions of an account -------------------------------------------------------------------------------------------

const { platformId: _platform, confirmedAt: _confirmed, expiresAt: _end, ...listed } = getTableColumns(sessions);
type ListedSession = Pick<SessionRow, keyof typeof listed>;

/** The running sessions, latest log-in first. */
export const listSessions = (db: Database, platformId: string | SQL<string>, now: number, page: AskedRows) =>
  readNewest<typeof sessions, ListedSession>(
    db,
    {
      table: sessions,
      shown: listed,
      where: and(eq(sessions.platformId, platformId), gt(sessions.expiresAt, now)),
      id: sessions.sessionId,
    },
    page,
  );

/** The token hash of one of the account's sessions. */
export const findSession = (
  db: Database,
  platformId: string | SQL<string>,
  sessionId: string,
  now: number,
): Read<string | null> =>
  read(
    db
      .select({ tokenHash: sessions.tokenHash })
      .from(sessions)
      .where(and(eq(sessions.platformId, platformId), eq(sessions.sessionId, sessionId), gt(sessions.expiresAt, now))),
    ([row]) => row?.tokenHash ?? null,
  );

/** How many other sessions the account has, including expired ones. */
export const countOtherSessions = (db: Database, platformId: string | SQL<string>, staying: string): Read<number> =>
  read(
    db
      .select({ others: sql<number>`count(*)`.as("others") })
      .from(sessions)
      .where(and(eq(sessions.platformId, platformId), ne(sessions.tokenHash, staying))),
    ([row]) => row?.others ?? 0,
  );

/** Fails the batch (Conflict) when another call has ended the session. */
export const deleteSession = (db: Database, tokenHash: string): Statement[] =>
  mustChange(db, db.delete(sessions).where(eq(sessions.tokenHash, tokenHash)));

/** Signs the account out everywhere, or everywhere but in `staying`. */
export const deleteSessions = (db: Database, platformId: string, staying?: string): Statement =>
  db
    .delete(sessions)
    .where(
      and(eq(sessions.platformId, platformId), staying === undefined ? undefined : ne(sessions.tokenHash, staying)),
    );

const ENDING_SESSIONS: EndingTable = { table: sessions, key: sessions.tokenHash, end: sessions.expiresAt };

export const countEndedSessions = (db: Database, by: number, most: number): Read<EndedCount> =>
  countEnded(db, ENDING_SESSIONS, by, most);

export const deleteEndedSessions = (db: Database, by: number, slice: number): Statement =>
  db.delete(sessions).where(isEnded(ENDING_SESSIONS, by, slice));

// ---- The devices that were seen ---------------------------------------------------------------------------------------------

type Place = { readonly device: string; readonly network: string };
export type KnownPlace = { readonly network: boolean; readonly device: boolean };

/** Whether the account was logged in to from the network, and from the device there, within 90 days. */
export const findKnownPlace = (
  db: Database,
  platformId: string | SQL<string>,
  { device, network }: Place,
  now: number,
): Read<KnownPlace> => {
  const inNetwork = sql`select 1 from seen_devices
    where platform_id = ${platformId} and network = ${network} and seen_at > ${now - KNOWN_DEVICE_DAYS * DAY_MS}`;
  return read(
    db
      .select({
        network: sql<number>`exists (${inNetwork})`.as("in_network"),
        device: sql<number>`exists (${inNetwork} and device = ${device})`.as("on_device"),
      })
      .from(sql`(select 1)`),
    ([row]) => ({ network: row?.network === 1, device: row?.device === 1 }),
  );
};

export const recordDevice = (db: Database, platformId: string, { device, network }: Place, now: number): Statement =>
  db
    .insert(seenDevices)
    .values({ platformId, device, network, seenAt: now })
    .onConflictDoUpdate({
      target: [seenDevices.platformId, seenDevices.network, seenDevices.device],
      set: { seenAt: now },
    });

export const deleteDevices = (db: Database, platformId: string): Statement =>
  db.delete(seenDevices).where(eq(seenDevices.platformId, platformId));

const ENDING_DEVICES: EndingTable = {
  table: seenDevices,
  key: [seenDevices.platformId, seenDevices.network, seenDevices.device],
  end: seenDevices.seenAt,
};

export const countForgottenDevices = (db: Database, by: number, most: number): Read<EndedCount> =>
  countEnded(db, ENDING_DEVICES, by, most);

export const deleteForgottenDevices = (db: Database, by: number, slice: number): Statement =>
  db.delete(seenDevices).where(isEnded(ENDING_DEVICES, by, slice));
