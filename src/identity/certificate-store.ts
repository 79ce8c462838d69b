// Store of certificates and of the status lists in which each has a place (IDN-10, IDN-12 to IDN-14).
import { and, desc, eq, getTableColumns, gt, isNull, lte, ne, or, type SQL, sql } from "drizzle-orm";
import { systemClock } from "../core/clock.ts";
import { DAY_MS, STATUS_LIST_SIZE } from "../core/limits.ts";
import type { AgentStatus } from "../core/vocabulary.ts";
import { type Database, type Read, read, readAll, readOne, type Statement } from "../db/batch.ts";
import { compileInsert } from "../db/compiled.ts";
import { eachOf, isOneOf, selectFields } from "../db/lists.ts";
import {
  type AgentRow,
  type CertificateRow,
  certificates,
  type StatusListRow,
  statusLists,
} from "../db/tables/agents.ts";
import { CERTIFICATE_STATUS } from "../protocol/status-list.ts";

// ---- Certificates ---------------------------------------------------------------------------------------------------

/** The claims of a certificate that its row has to confirm: with a stolen CA key, an attacker can forge all others (IDN-27). */
export type IssuedClaims = Pick<CertificateRow, "did" | "jti" | "keyId" | "caKid">;

const isRowOf = ({ did, jti, keyId, caKid }: IssuedClaims): SQL | undefined =>
  and(
    eq(certificates.did, did),
    eq(certificates.jti, jti),
    eq(certificates.keyId, keyId),
    eq(certificates.caKid, caKid),
  );

/** Finds a certificate that is still valid: current, or replaced with a grace that has not ended (IDN-10). */
export const findLiveCertificate = (db: Database, issued: IssuedClaims, now: number): Read<CertificateRow | null> =>
  readOne(
    db
      .select()
      .from(certificates)
      .where(and(isRowOf(issued), or(isNull(certificates.replacedAt), gt(certificates.replacedAt, now)))),
  );

export const findCertificate = (db: Database, issued: IssuedClaims): Read<Pick<CertificateRow, "replacedAt"> | null> =>
  readOne(db.select({ replacedAt: certificates.replacedAt }).from(certificates).where(isRowOf(issued)));

/** The agents among these whose present certificate ends before its expiry, although no other was issued (AGT-22). */
export const findCertificatesSetToEnd = (db: Database, dids: readonly string[]): Read<ReadonlySet<string>> =>
  read(
    db
      .select({ did: certificates.did })
      .from(certificates)
      .where(
        sql`(did, jti) in (select a.did, a.certificate_jti from ${eachOf(dids)} cross join agents a on a.did = value)
          and replaced_at is not null`,
      ),
    (rows) => new Set(rows.map(({ did }) => did)),
  );

/** Ends the certificates of all keys but the present one, in real time: a rotation ends the grace of an earlier one (AGT-32). */
export const endEarlierKeys = (db: Database, { did, keyId }: Pick<AgentRow, "did" | "keyId">): Statement => {
  const now = systemClock.now();
  return db
    .update(certificates)
    .set({ replacedAt: now })
    .where(
      and(
        eq(certificates.did, did),
        ne(certificates.keyId, keyId ?? ""),
        or(isNull(certificates.replacedAt), gt(certificates.replacedAt, now)),
      ),
    );
};

/** Ends all certificates of these agents at an instant, unless they end earlier (AGT-22). */
export const replaceCertificates = (db: Database, dids: readonly string[], replacedAt: number): Statement =>
  db
    .update(certificates)
    .set({ replacedAt })
    .where(and(isOneOf(sql`did`, dids), or(isNull(certificates.replacedAt), gt(certificates.replacedAt, replacedAt))));

export const insertCertificate = compileInsert((db) => db.insert(certificates));

export const insertCertificates = (db: Database, rows: readonly CertificateRow[]): Statement =>
  db.insert(certificates).select(
    sql`select ${selectFields(9)}, null
        from ${eachOf(
          rows.map((row) => [
            row.did,
            row.jti,
            row.keyId,
            row.caKid,
            row.listId,
            row.idx,
            row.listedStatus,
            row.issuedAt,
            row.expiresAt,
          ]),
        )}`,
  );

/** The status list's value for certificates of an agent in a status (IDN-12). */
const LISTED_STATUS: Readonly<Record<AgentStatus, number>> = {
  DRAFT: CERTIFICATE_STATUS.valid,
  ACTIVE: CERTIFICATE_STATUS.valid,
  FUNDING: CERTIFICATE_STATUS.suspended,
  SUSPENDED: CERTIFICATE_STATUS.suspended,
  REVOKED: CERTIFICATE_STATUS.invalid,
  TERMINATED: CERTIFICATE_STATUS.invalid,
};

export const toListedNumber = (status: AgentStatus): number => LISTED_STATUS[status];

type Certified = Pick<AgentRow, "did" | "certificateJti" | "recertified">;

/**
 * Updates the status list's values in the batch that changes an agent's status. The batch must refuse an agent that has another certificate than
 * the given one. One statement per agent, because a statement for many agents reads each row two or three times.
 */
export const listCertificates = (
  db: Database,
  { did, certificateJti, recertified }: Certified,
  status: AgentStatus,
): Statement[] =>
  certificateJti === null
    ? []
    : [
        db
          .update(certificates)
          .set({ listedStatus: LISTED_STATUS[status] })
          .where(
            and(
              eq(certificates.did, did),
              recertified ? undefined : eq(certificates.jti, certificateJti),
              ne(certificates.listedStatus, LISTED_STATUS[status]),
            ),
          ),
      ];

/** `listCertificates` for all certificates of many agents. */
export const listCertificatesOf = (db: Database, dids: readonly string[], status: AgentStatus): Statement =>
  db
    .update(certificates)
    .set({ listedStatus: LISTED_STATUS[status] })
    .where(and(isOneOf(sql`did`, dids), ne(certificates.listedStatus, LISTED_STATUS[status])));

// ---- Places and status lists ----------------------------------------------------------------------------------------

export type Place = { readonly listId: number; readonly idx: number };
/** `taken`: the number of taken places that were drawn before this one. */
export type DrawnPlace = Place & { readonly taken: number };

/** A place stays occupied this long after its certificate's end. */
const RESTS_MS = 30 * DAY_MS;
/** In real time: all sandboxes share the lists, whatever their clocks say. */
const computePlaceFreeBefore = (): number => Date.now() - RESTS_MS;
/** If the list is three quarters full, all of these are taken once in a hundred draws. */
const PLACES_DRAWN = 16;

/** Reads one row from the end of the key; `max` would read every list. */
const NEWEST = sql`(select list_id from status_lists order by list_id desc limit 1) as newest`;

/** Draws places, each at most once. */
const drawPlaces = (many: number): number[] => [
  ...new Set(Array.from(crypto.getRandomValues(new Uint32Array(many)), (value) => value % STATUS_LIST_SIZE)),
];

/** After this many taken places in one draw, the list may be full enough to open a new one. */
const CROWDED_AFTER = 2;

/**
 * Finds a free place of the newest list, drawn at random, so that it does not reveal when or for which agent a certificate was issued. Null if all
 * drawn places are taken. If another call takes the place first, the insert is refused and the call draws again.
 */
export const findListPlace = (db: Database): Read<DrawnPlace | null> =>
  readOne(
    db
      .select({
        listId: sql<number>`newest.list_id`.as("list_id"),
        idx: sql<number>`drawn.value`.as("idx"),
        taken: sql<number>`drawn.key`.as("taken"),
      })
      .from(NEWEST)
      .innerJoin(sql`${eachOf(drawPlaces(PLACES_DRAWN))} as drawn`, sql`true`)
      .where(
        sql`not exists (select 1 from certificates c where c.list_id = newest.list_id and c.idx = drawn.value
                and c.expires_at > ${computePlaceFreeBefore()})`,
      )
      .limit(1),
  );

/** How many places are drawn for each place that is needed: a list is at most three quarters full. */
const DRAWN_FOR_EACH = 5;

/** Like `findListPlace`, for many places; returns fewer if the list is crowded. `taken`: the number of places that were drawn before the last one. */
export const findPlaces = (db: Database, many: number): Read<DrawnPlace[]> =>
  readAll(
    db
      .select({
        listId: sql<number>`newest.list_id`.as("list_id"),
        idx: sql<number>`drawn.value`.as("idx"),
        taken: sql<number>`drawn.key`.as("taken"),
      })
      .from(NEWEST)
      .innerJoin(sql`${eachOf(drawPlaces(DRAWN_FOR_EACH * many + PLACES_DRAWN))} as drawn`, sql`true`)
      .where(
        sql`not exists (select 1 from certificates c where c.list_id = newest.list_id and c.idx = drawn.value
                and c.expires_at > ${computePlaceFreeBefore()})`,
      )
      .limit(many),
  );

/** `clearPlace` for many places (IDN-13). */
export const clearPlaces = (db: Database, places: readonly Place[]): Statement =>
  db
    .delete(certificates)
    .where(
      and(
        sql`(list_id, idx) in (select ${selectFields(2)} from ${eachOf(places.map(({ listId, idx }) => [listId, idx]))})`,
        lte(certificates.expiresAt, computePlaceFreeBefore()),
      ),
    );

/** Frees a place whose certificate ended long ago (IDN-13). */
export const clearPlace = (db: Database, { listId, idx }: Place): Statement =>
  db
    .delete(certificates)
    .where(
      and(
        eq(certificates.listId, listId),
        eq(certificates.idx, idx),
        lte(certificates.expiresAt, computePlaceFreeBefore()),
      ),
    );

export const isCrowded = ({ taken }: DrawnPlace): boolean => taken >= CROWDED_AFTER;

/** Counts the taken places of the newest list; it reads one row for each. */
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

export const PLACES_SAMPLED = 256;

/** Counts how many of a sample of random places of the newest list are taken. */
export const sampleNewestList = (db: Database): Read<{ listId: number; taken: number } | null> =>
  readOne(
    db
      .select({
        listId: sql<number>`newest.list_id`.as("list_id"),
        taken: sql<number>`(select count(*) from ${eachOf(drawPlaces(PLACES_SAMPLED))} as drawn
            cross join certificates c on c.list_id = newest.list_id and c.idx = drawn.value
            and c.expires_at > ${computePlaceFreeBefore()})`.as("taken"),
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

export const recordListCount = (db: Database, listId: number, countedAt: number): Statement =>
  db.update(statusLists).set({ countedAt }).where(eq(statusLists.listId, listId));

/** Opens the next list; if two callers open it, one succeeds. */
export const openList = (db: Database, listId: number, createdAt: number): Statement =>
  db.insert(statusLists).values({ listId, size: STATUS_LIST_SIZE, createdAt }).onConflictDoNothing();

export const findStatusList = (db: Database, listId: number): Read<StatusListRow | null> =>
  readOne(db.select().from(statusLists).where(eq(statusLists.listId, listId)));

export type Exception = Pick<CertificateRow, "idx" | "listedStatus" | "replacedAt">;

/**
 * Finds a list; if it was signed at `staleFrom` or before, also its entries that are not "valid", without expired certificates (IDN-14). Returns
 * one row for the list and one for each entry.
 */
export const findListToSign = (
  db: Database,
  listId: number,
  { staleFrom, now }: { readonly staleFrom: number; readonly now: number },
): Read<{ list: StatusListRow; exceptions: Exception[] } | null> => {
  const isStale = sql`${statusLists.signedAt} is null or ${statusLists.signedAt} <= ${staleFrom}`;
  const { idx, listedStatus, replacedAt } = certificates;
  return read(
    db
      .select({
        ...getTableColumns(statusLists),
        // The signed text is not repeated with each exception.
        signed: sql<string | null>`case when ${isStale} then null else ${statusLists.signed} end`.as("signed"),
        idx,
        listedStatus,
        replacedAt,
      })
      .from(statusLists)
      .leftJoin(
        certificates,
        and(
          // Null for a current list, so that no certificates are read.
          sql`${certificates.listId} = case when ${isStale} then ${statusLists.listId} end`,
          // Literal text, so that SQLite uses the partial index.
          sql`(listed_status <> 0 or replaced_at is not null)`,
          gt(certificates.expiresAt, now),
        ),
      )
      .where(eq(statusLists.listId, listId)),
    (rows) => {
      const [list] = rows;
      const exceptions = rows.flatMap((row) =>
        row.idx === null || row.listedStatus === null
          ? []
          : [{ idx: row.idx, listedStatus: row.listedStatus, replacedAt: row.replacedAt }],
      );
      return list ? { list, exceptions } : null;
    },
  );
};

/** Stores a signed list; of several readers that sign at the same time, one stores its list. */
export const storeSignedList = (
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
