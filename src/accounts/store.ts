// Store of platform accounts.
import { and, desc, eq, getTableColumns, lt, type SQL, sql } from "drizzle-orm";
import type { Move } from "../core/machine.ts";
import type { Position } from "../core/page.ts";
import { foldName } from "../core/text.ts";
import type { PlatformStatus } from "../core/vocabulary.ts";
import { type Database, guard, mustChange, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { type PlatformRow, platforms } from "../db/tables/accounts.ts";

export const findPlatform = (db: Database, platformId: string | SQL<string>): Read<PlatformRow | null> =>
  readOne(db.select().from(platforms).where(eq(platforms.platformId, platformId)));

/** The account that an address belongs to. The condition is literal, so that SQLite uses the partial index. */
export const byEmail = (email: string): SQL | undefined =>
  and(eq(platforms.emailFolded, foldName(email)), sql`${platforms.status} <> 'CLOSED'`);

export const findPlatformByEmail = (db: Database, email: string): Read<PlatformRow | null> =>
  readOne(db.select().from(platforms).where(byEmail(email)));

/** The account of an address as an expression. */
export const ownerOfEmail = (email: string): SQL<string> =>
  sql<string>`(select platform_id from platforms where email_folded = ${foldName(email)} and status <> 'CLOSED')`;

/** The columns of a page: those that a platform shows. */
const { clockOffsetMs: _offset, updatedAt: _updated, ...listed } = getTableColumns(platforms);
export type ListedPlatform = Pick<PlatformRow, keyof typeof listed>;

/** For the operator: newest first; ids are time-ordered, so the id is the whole keyset. */
export const listPlatforms = (
  db: Database,
  status: PlatformStatus | undefined,
  page: { limit: number; after: Position | null },
): Read<ListedPlatform[]> =>
  readAll(
    db
      .select(listed)
      .from(platforms)
      .where(
        and(
          status === undefined ? undefined : eq(platforms.status, status),
          page.after === null ? undefined : lt(platforms.platformId, page.after.id),
        ),
      )
      .orderBy(desc(platforms.platformId))
      .limit(page.limit + 1),
  );

export const insertPlatform = (db: Database, row: PlatformRow): Statement => db.insert(platforms).values(row);

export type PlatformChange = Partial<Omit<PlatformRow, "platformId" | "status" | "updatedAt" | "createdAt">>;

/**
 * Changes an account as it was read: the instant of its last change is the condition, and each change moves it on. With a move, its state
 * changes too.
 */
export const updatePlatform = (
  db: Database,
  before: PlatformRow,
  set: PlatformChange,
  now: number,
  moved?: Move<PlatformStatus>,
): Statement[] =>
  mustChange(
    db,
    db
      .update(platforms)
      .set({ ...set, updatedAt: Math.max(now, before.updatedAt + 1), ...(moved && { status: moved.to }) })
      .where(
        and(
          eq(platforms.platformId, before.platformId),
          eq(platforms.updatedAt, before.updatedAt),
          eq(platforms.status, moved?.from ?? before.status),
        ),
      ),
  );

/** Refuses a batch that was decided before its account was suspended or closed: from that commit on nothing is written for it (ACC-18). */
export const whileOpen = (db: Database, platformId: string): Statement =>
  guard(
    db,
    sql`exists (select 1 from platforms where platform_id = ${platformId} and status not in ('SUSPENDED', 'CLOSED'))`,
  );
