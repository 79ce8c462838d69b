// Store of mailed links.
import { and, desc, eq, gt, gte, inArray, isNull, ne, type SQL, sql } from "drizzle-orm";
import { LINK_KINDS, type LinkKind } from "../core/vocabulary.ts";
import { type Database, guard, mustChange, type Read, read, readOne, type Statement } from "../db/batch.ts";
import { countEnded, type EndedCount, type EndingTable, isEnded } from "../db/ended.ts";
import { accountLinks, type LinkRow } from "../db/tables/accounts.ts";

export const findLink = (db: Database, tokenHash: string): Read<LinkRow | null> =>
  readOne(db.select().from(accountLinks).where(eq(accountLinks.tokenHash, tokenHash)));

/** The account of a link as an expression. */
export const selectOwnerOfLink = (tokenHash: string): SQL<string> =>
  sql<string>`(select platform_id from account_links where token_hash = ${tokenHash})`;

export const insertLink = (db: Database, row: LinkRow): Statement => db.insert(accountLinks).values(row);

/** Uses a link up. If two calls use one token, the second one fails. */
export const useLink = (db: Database, tokenHash: string, now: number): Statement[] =>
  mustChange(
    db,
    db
      .update(accountLinks)
      .set({ usedAt: now })
      .where(and(eq(accountLinks.tokenHash, tokenHash), isNull(accountLinks.usedAt), gt(accountLinks.expiresAt, now))),
  );

/** The links by which the holder of an ended session could come back: to another address, or as the contact. */
export const LINKS_OF_SESSIONS = ["change_email", "confirm_contact"] as const satisfies readonly LinkKind[];

/** Ends every open link of the kinds, except links to `butTo`. */
export const endLinks = (
  db: Database,
  platformId: string,
  kinds: readonly LinkKind[],
  now: number,
  { butTo }: { readonly butTo?: string } = {},
): Statement =>
  db
    .update(accountLinks)
    .set({ usedAt: now })
    .where(
      and(
        eq(accountLinks.platformId, platformId),
        inArray(accountLinks.kind, [...kinds]),
        isNull(accountLinks.usedAt),
        butTo === undefined ? undefined : ne(accountLinks.email, butTo),
      ),
    );

/** For the closing of an account. */
export const deleteLinks = (db: Database, platformId: string): Statement =>
  db.delete(accountLinks).where(eq(accountLinks.platformId, platformId));

const isMailedSince = (platformId: string | SQL<string>, kind: LinkKind, instant: number): SQL | undefined =>
  and(eq(accountLinks.platformId, platformId), eq(accountLinks.kind, kind), gt(accountLinks.createdAt, instant));

/** The newest times, at most `most`, at which links of a kind were mailed since an instant. */
export const findMailTimes = (
  db: Database,
  platformId: string | SQL<string>,
  kind: LinkKind,
  instant: number,
  most: number,
): Read<readonly number[]> =>
  read(
    db
      .select({ createdAt: accountLinks.createdAt })
      .from(accountLinks)
      .where(isMailedSince(platformId, kind, instant))
      .orderBy(desc(accountLinks.createdAt))
      .limit(most),
    (rows) => rows.map(({ createdAt }) => createdAt),
  );

/** The number of links of every kind that were mailed since an instant. */
export const countLinks = (db: Database, platformId: string, instant: number): Read<number> =>
  read(
    db
      .select({ count: sql<number>`count(*)`.as("count") })
      .from(accountLinks)
      .where(
        and(
          eq(accountLinks.platformId, platformId),
          inArray(accountLinks.kind, [...LINK_KINDS]),
          gte(accountLinks.createdAt, instant),
          // A link whose mail was withheld was used up when it was made.
          sql`${accountLinks.usedAt} is not ${accountLinks.createdAt}`,
        ),
      ),
    ([row]) => row?.count ?? 0,
  );

/**
 * Fails the batch (Conflict) unless exactly `times` links of a kind were mailed since an instant, so that only one of many simultaneous requests
 * succeeds.
 */
export const guardMailedCount = (
  db: Database,
  platformId: string,
  kind: LinkKind,
  instant: number,
  times: number,
): Statement =>
  guard(
    db,
    sql`(select count(*) from account_links
         where platform_id = ${platformId} and kind = ${kind} and created_at > ${instant}) = ${times}`,
  );

export const deleteLinksOfAccounts = (db: Database, platformIds: SQL): Statement =>
  db.delete(accountLinks).where(sql`${accountLinks.platformId} in ${platformIds}`);

const ENDING_LINKS: EndingTable = { table: accountLinks, key: accountLinks.tokenHash, end: accountLinks.expiresAt };

export const countEndedLinks = (db: Database, by: number, most: number): Read<EndedCount> =>
  countEnded(db, ENDING_LINKS, by, most);

export const deleteEndedLinks = (db: Database, by: number, slice: number): Statement =>
  db.delete(accountLinks).where(isEnded(ENDING_LINKS, by, slice));
