// Status lists as stored, and the places of certificates in them. A list costs what its exceptions cost, not its certificates.
import { and, desc, eq, lt, ne, or, sql } from "drizzle-orm";
import { DAY_MS, STATUS_LIST_SIZE } from "../core/limits.ts";
import type { AgentStatus } from "../core/vocabulary.ts";
import { type Database, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { certificates, statusLists } from "../db/tables/agents.ts";
import { CERTIFICATE_STATUS } from "../protocol/status-list.ts";

export type Place = { readonly listId: number; readonly idx: number };
/** `taken`: how many places were drawn before it that are not free. */
export type DrawnPlace = Place & { readonly taken: number };

/** How long after its end a certificate's place stays its own. */
const RESTS_MS = 30 * DAY_MS;
/** A list is at most three quarters full when a new one begins: that all of these are taken happens once in a hundred draws. */
const PLACES_DRAWN = 16;

/** From the end of the key: `max` in its place would read every list. */
const NEWEST = sql`(select list_id from status_lists order by list_id desc limit 1) as newest`;

const drawPlaces = (): string =>
  JSON.stringify(
    Array.from(crypto.getRandomValues(new Uint32Array(PLACES_DRAWN)), (value) => value % STATUS_LIST_SIZE),
  );

/** After so many draws of a place that is taken, the list may be full enough for another one to begin. */
const CROWDED_AFTER = 2;

/**
 * A free place of the newest list, drawn at random, so that it tells nothing of when or for whom a certificate was issued. Null when
 * every place that was drawn is taken. Somebody else may be faster: the insert is refused then, and drawn again.
 */
export const findPlace = (db: Database, now: number): Read<DrawnPlace | null> =>
  readOne(
    db
      .select({
        listId: sql<number>`newest.list_id`.as("list_id"),
        idx: sql<number>`drawn.value`.as("idx"),
        taken: sql<number>`drawn.key`.as("taken"),
      })
      .from(NEWEST)
      .innerJoin(sql`json_each(${drawPlaces()}) as drawn`, sql`true`)
      .where(
        sql`not exists (select 1 from certificates c where c.list_id = newest.list_id and c.idx = drawn.value
                and c.expires_at > ${now - RESTS_MS})`,
      )
      .limit(1),
  );

/** Makes a place free whose certificate ended long ago. */
export const clearPlace = (db: Database, { listId, idx }: Place, now: number): Statement =>
  db
    .delete(certificates)
    .where(
      and(eq(certificates.listId, listId), eq(certificates.idx, idx), lt(certificates.expiresAt, now - RESTS_MS + 1)),
    );

export const isCrowded = ({ taken }: DrawnPlace): boolean => taken >= CROWDED_AFTER;

/** The newest list, and how many of its places are taken: as many rows as that. */
export const countNewestList = (db: Database, now: number): Read<{ listId: number; taken: number } | null> =>
  readOne(
    db
      .select({
        listId: sql<number>`newest.list_id`.as("list_id"),
        taken: sql<number>`(select count(*) from certificates c where c.list_id = newest.list_id
            and c.expires_at > ${now - RESTS_MS})`.as("taken"),
      })
      .from(NEWEST),
  );

export const findNewestList = (db: Database) =>
  readOne(
    db
      .select({ listId: statusLists.listId, countedAt: statusLists.countedAt })
      .from(statusLists)
      .orderBy(desc(statusLists.listId))
      .limit(1),
  );

export const noteCount = (db: Database, listId: number, countedAt: number): Statement =>
  db.update(statusLists).set({ countedAt }).where(eq(statusLists.listId, listId));

/** The list after the newest one, once: of two that open it, one is kept. */
export const openList = (db: Database, listId: number, createdAt: number): Statement =>
  db.insert(statusLists).values({ listId, size: STATUS_LIST_SIZE, createdAt }).onConflictDoNothing();

export const findStatusList = (db: Database, listId: number) =>
  readOne(db.select().from(statusLists).where(eq(statusLists.listId, listId)));

/** What the lists say of the certificates of agents in a status. FUNDING is a provider that may not sell yet. */
const LISTED: Readonly<Record<AgentStatus, number>> = {
  DRAFT: CERTIFICATE_STATUS.valid,
  ACTIVE: CERTIFICATE_STATUS.valid,
  FUNDING: CERTIFICATE_STATUS.suspended,
  SUSPENDED: CERTIFICATE_STATUS.suspended,
  REVOKED: CERTIFICATE_STATUS.invalid,
  TERMINATED: CERTIFICATE_STATUS.invalid,
};

/** What the lists say of the certificate of an agent in a status. */
export const listedStatusOf = (status: AgentStatus): number => LISTED[status];

/** With a change of their agents' status, in its batch. */
export const listCertificates = (db: Database, dids: readonly string[], status: AgentStatus): Statement =>
  db
    .update(certificates)
    .set({ listedStatus: LISTED[status] })
    .where(
      and(
        dids.length === 1
          ? eq(certificates.did, dids[0] ?? "")
          : sql`did in (select value from json_each(${JSON.stringify(dids)}))`,
        ne(certificates.listedStatus, LISTED[status]),
      ),
    );

/** What a list says beside "valid": expired certificates are left out. */
export const findExceptions = (
  db: Database,
  listId: number,
  now: number,
): Read<{ idx: number; listedStatus: number; replacedAt: number | null }[]> =>
  readAll(
    db
      .select({ idx: certificates.idx, listedStatus: certificates.listedStatus, replacedAt: certificates.replacedAt })
      .from(certificates)
      .where(
        and(
          eq(certificates.listId, listId),
          // Literal, as the partial index says it.
          sql`(listed_status <> 0 or replaced_at is not null)`,
          sql`${certificates.expiresAt} > ${now}`,
        ),
      ),
  );

/** Kept for a minute: of several readers that sign at once, one is kept. */
export const keepSigned = (
  db: Database,
  listId: number,
  before: number | null,
  signed: { signedAt: number; signed: string },
): Statement =>
  db
    .update(statusLists)
    .set(signed)
    .where(
      and(
        eq(statusLists.listId, listId),
        or(sql`${statusLists.signedAt} is null`, sql`${statusLists.signedAt} <= ${before ?? 0}`),
      ),
    );
