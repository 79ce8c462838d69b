// Store of platform accounts and of announcements to them.
import { and, asc, eq, getTableColumns, gt, notInArray, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/clock.ts";
import { DAY_MS, DOCUMENTS_PER_DAY, SUPPORTING_DOCUMENTS_MAX } from "../core/limits.ts";
import type { Move } from "../core/machine.ts";
import type { AskedRows } from "../core/page.ts";
import { foldName } from "../core/text.ts";
import type { PlatformStatus } from "../core/vocabulary.ts";
import { type Database, guard, mustChange, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { countEnded, type EndedCount, type EndingTable, selectEndedKeys } from "../db/clock.ts";
import { isOneOf } from "../db/lists.ts";
import { readNewest } from "../db/pages.ts";
import {
  type AnnouncementRow,
  announcements,
  type DocumentRow,
  type PlatformRow,
  platforms,
} from "../db/tables/accounts.ts";

export const findPlatform = (db: Database, platformId: string | SQL<string>): Read<PlatformRow | null> =>
  readOne(db.select().from(platforms).where(eq(platforms.platformId, platformId)));

/** The account that an address belongs to. The condition is literal, so that SQLite uses the partial index. */
export const hasEmail = (email: string): SQL | undefined =>
  and(eq(platforms.emailFolded, foldName(email)), sql`${platforms.closedAt} is null`);

/** The tenant principal of an account as an expression, so that it is read in the trip that reads the account. */
export const selectTenantPrincipal = (platformId: string | SQL<string>): SQL<string> =>
  sql<string>`(select tenant_principal_id from platforms where platform_id = ${platformId})`;

export const findPlatformByEmail = (db: Database, email: string): Read<PlatformRow | null> =>
  readOne(db.select().from(platforms).where(hasEmail(email)));

/** The account of an address as an expression. */
export const selectOwnerOfEmail = (email: string): SQL<string> =>
  sql<string>`(select platform_id from platforms where email_folded = ${foldName(email)} and closed_at is null)`;

/** The columns of a page: those that a platform shows. */
const {
  clockOffsetMs: _offset,
  clockMovedAt: _moved,
  clockRecordedTo: _recorded,
  volumeMarks: _volume,
  updatedAt: _updated,
  ...listed
} = getTableColumns(platforms);
export type ListedPlatform = Pick<PlatformRow, keyof typeof listed>;

/** For the operator: newest first; ids are time-ordered, so the id is the whole keyset. */
export const listPlatforms = (db: Database, status: PlatformStatus | undefined, page: AskedRows) => {
  const where = status === undefined ? undefined : eq(platforms.status, status);
  return readNewest<typeof platforms, ListedPlatform>(
    db,
    { table: platforms, shown: listed, where, id: platforms.platformId },
    page,
  );
};

/** Closed accounts that are not erased yet, earliest closing first. Without the named index, SQLite reads all closed accounts. */
export const findAccountsToErase = (db: Database, closedBy: number, after: Due, limit: number): Read<Due[]> =>
  readAll(
    db
      .select({ at: sql<number>`closed_at`.as("at"), id: sql<string>`platform_id`.as("id") })
      .from(sql`platforms indexed by platforms_to_erase`)
      .where(
        sql`status = 'CLOSED' and erased_at is null and closed_at <= ${closedBy}
          and (closed_at, platform_id) > (${after.at}, ${after.id})`,
      )
      .orderBy(sql`closed_at`, sql`platform_id`)
      .limit(limit),
  );

export type Contact = Pick<PlatformRow, "platformId" | "status" | "email" | "adminContactEmail">;

export const listContacts = (db: Database, after: SQL, limit: number): Read<Contact[]> =>
  readAll(
    db
      .select({
        platformId: platforms.platformId,
        status: platforms.status,
        email: platforms.email,
        adminContactEmail: platforms.adminContactEmail,
      })
      .from(platforms)
      .where(gt(platforms.platformId, after))
      .orderBy(asc(platforms.platformId))
      .limit(limit),
  );

/** The blockers of closing an account (ACC-27): an open dispute in either environment, or funds in a production vault. */
export type Blocking = {
  readonly disputed: string | null;
  readonly did: string | null;
  readonly network: string | null;
};

/** One statement, which finds the account once. Literal text, so that SQLite uses the partial indexes. */
export const findBlocking = (db: Database, platformId: string | SQL<string>): Read<Blocking | null> =>
  readOne(
    db
      .select({
        disputed: sql<string | null>`(select a.did from agents a
          where a.platform_id = owner.platform_id and a.disputes_open > 0 limit 1)`.as("disputed"),
        did: sql<string | null>`held.did`.as("did"),
        network: sql<string | null>`held.network`.as("network"),
      })
      .from(
        sql`platforms owner
          left join escrows held on held.platform_id = owner.platform_id and held.environment = 'production' and held.balance > 0`,
      )
      .where(sql`owner.platform_id = ${platformId}`)
      .limit(1),
  );

export const insertPlatform = (db: Database, row: PlatformRow): Statement => db.insert(platforms).values(row);

/**
 * Makes a document the current one of its type, or counts a supporting one. The statement is relative to the stored value, so that simultaneous
 * uploads all count. It is refused once the account is suspended or closed, holds enough supporting documents, or has submitted enough on this day.
 */
export function recordDocument(
  db: Database,
  { platformId, type, documentId }: Pick<DocumentRow, "platformId" | "type" | "documentId">,
  now: number,
): Statement[] {
  const counted = sql`coalesce(${platforms.documents} ->> '$.supporting', 0)`;
  const day = toUtcDay(now);
  const submitted = sql`coalesce(iif(${platforms.documents} ->> '$.day' = ${day}, ${platforms.documents} ->> '$.submitted', 0), 0)`;
  const isSupporting = type === "supporting";
  const [path, value] = isSupporting ? ["$.supporting", sql`${counted} + 1`] : [`$.${type}`, sql`${documentId}`];
  const set = sql`json_set(${platforms.documents}, ${path}, ${value}, '$.day', ${day}, '$.submitted', ${submitted} + 1)`;
  return mustChange(
    db,
    db
      .update(platforms)
      .set({ documents: set, updatedAt: sql`max(${now}, ${platforms.updatedAt} + 1)` })
      .where(
        and(
          eq(platforms.platformId, platformId),
          notInArray(platforms.status, ["SUSPENDED", "CLOSED"]),
          isSupporting ? sql`${counted} < ${SUPPORTING_DOCUMENTS_MAX}` : undefined,
          sql`${submitted} < ${DOCUMENTS_PER_DAY}`,
        ),
      ),
  );
}

/** How many documents were submitted on the day of an instant. */
export const countSubmittedOn = ({ documents }: PlatformRow, now: number): number =>
  documents.day === toUtcDay(now) ? (documents.submitted ?? 0) : 0;

const toUtcDay = (now: number): number => Math.floor(now / DAY_MS);

export type PlatformChange = Partial<Omit<PlatformRow, "platformId" | "status" | "updatedAt" | "createdAt">>;

/** Changes an account if its last change is still the one that was read; each change increases that instant. `moved` changes the status too. */
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

/** Moves an account from its status, even if other columns change meanwhile: the account's own changes must not delay an operator's decision. */
export const movePlatform = (
  db: Database,
  { platformId }: PlatformRow,
  set: PlatformChange,
  now: number,
  { from, to }: Move<PlatformStatus>,
): Statement[] =>
  mustChange(
    db,
    db
      .update(platforms)
      .set({ ...set, status: to, updatedAt: sql`max(${now}, ${platforms.updatedAt} + 1)` })
      .where(and(eq(platforms.platformId, platformId), eq(platforms.status, from))),
  );

/** Refuses a batch that was decided before its account was suspended or closed: from that commit on nothing is written for it (ACC-25). */
export const guardOpenAccount = (db: Database, platformId: string): Statement =>
  guard(
    db,
    sql`exists (select 1 from platforms where platform_id = ${platformId} and status not in ('SUSPENDED', 'CLOSED'))`,
  );

/** Holds for platforms in a statement that are neither suspended nor closed. */
export const IS_OPEN = sql`platforms.status not in ('SUSPENDED', 'CLOSED')`;

// ---- Accounts that were never verified -----------------------------------------------------------------------------------

const UNVERIFIED: EndingTable = {
  table: platforms,
  key: platforms.platformId,
  end: platforms.createdAt,
  partial: { index: "platforms_unverified", only: sql`status = 'EMAIL_PENDING'` },
};

export const countUnverified = (db: Database, by: number, most: number): Read<EndedCount> =>
  countEnded(db, UNVERIFIED, by, most);

/** The ids as an expression: it yields the same ids within a batch until the accounts themselves are deleted. */
export const selectUnverifiedIds = (by: number, slice: number): SQL => selectEndedKeys(UNVERIFIED, by, slice);

export const deletePlatforms = (db: Database, platformIds: SQL): Statement =>
  db.delete(platforms).where(sql`${platforms.platformId} in ${platformIds}`);

// ---- The clock of the sandbox (ACC-28) ------------------------------------------------------------------------------------

/** Moves the clock forward from the offset that was read. `recordedTo` counts only for the first move. */
export const moveSandboxClock = (
  db: Database,
  platformId: string,
  offset: { readonly from: number; readonly to: number },
  { movedAt, recordedTo }: { readonly movedAt: number; readonly recordedTo: number },
): Statement[] =>
  mustChange(
    db,
    db
      .update(platforms)
      .set({
        clockOffsetMs: offset.to,
        clockMovedAt: movedAt,
        clockRecordedTo: sql`coalesce(${platforms.clockRecordedTo}, ${recordedTo})`,
      })
      .where(and(eq(platforms.platformId, platformId), eq(platforms.clockOffsetMs, offset.from))),
  );

/** Records the first move of the clock, after which the sandbox's ratings are found by that clock. */
export const recordRatingsDated = (db: Database, platformId: string): Statement =>
  db.update(platforms).set({ ratingsDated: true }).where(eq(platforms.platformId, platformId));

/** Writes nothing if the clock was moved meanwhile, because calls that began before may still write rows that are due earlier. */
export const recordSandboxProgress = (
  db: Database,
  platformId: string,
  offset: number,
  recordedTo: number,
): Statement =>
  db
    .update(platforms)
    .set({ clockRecordedTo: recordedTo })
    .where(and(eq(platforms.platformId, platformId), eq(platforms.clockOffsetMs, offset)));

// ---- Announcements (ACC-15) ----------------------------------------------------------------------------------------------

export const insertAnnouncement = (db: Database, row: AnnouncementRow): Statement =>
  db.insert(announcements).values(row);

/** The last account that has its notice. */
export const selectLastNotified = (announcementId: string): SQL =>
  sql`(select after_id from walks where kind = 'announcement' and subject = ${announcementId})`;

export const findAnnouncements = (db: Database, ids: readonly string[]): Read<AnnouncementRow[]> =>
  readAll(db.select().from(announcements).where(isOneOf(announcements.announcementId, ids)));
