// Store of mailed links.
import { and, count, eq, gt, isNull, type SQL, sql } from "drizzle-orm";
import type { LinkKind } from "../core/vocabulary.ts";
import { type Database, mustChange, type Read, read, readOne, type Statement } from "../db/batch.ts";
import { accountLinks, type LinkRow } from "../db/tables/accounts.ts";

export const findLink = (db: Database, tokenHash: string): Read<LinkRow | null> =>
  readOne(db.select().from(accountLinks).where(eq(accountLinks.tokenHash, tokenHash)));

/** The account of a link as an expression. */
export const ownerOfLink = (tokenHash: string): SQL<string> =>
  sql<string>`(select platform_id from account_links where token_hash = ${tokenHash})`;

export const insertLink = (db: Database, row: LinkRow): Statement => db.insert(accountLinks).values(row);

/** Uses a link up: of two calls with one token, the second fails. */
export const useLink = (db: Database, tokenHash: string, now: number): Statement[] =>
  mustChange(
    db,
    db
      .update(accountLinks)
      .set({ usedAt: now })
      .where(and(eq(accountLinks.tokenHash, tokenHash), isNull(accountLinks.usedAt), gt(accountLinks.expiresAt, now))),
  );

/** Ends every open link of a kind, so that the last one mailed is the one that counts. */
export const endLinks = (db: Database, platformId: string, kind: LinkKind, now: number): Statement =>
  db
    .update(accountLinks)
    .set({ usedAt: now })
    .where(and(eq(accountLinks.platformId, platformId), eq(accountLinks.kind, kind), isNull(accountLinks.usedAt)));

/** How many links of a kind were mailed since an instant. */
export const countLinks = (
  db: Database,
  platformId: string | SQL<string>,
  kind: LinkKind,
  since: number,
): Read<number> =>
  read(
    db
      .select({ count: count() })
      .from(accountLinks)
      .where(
        and(eq(accountLinks.platformId, platformId), eq(accountLinks.kind, kind), gt(accountLinks.createdAt, since)),
      ),
    ([row]) => row?.count ?? 0,
  );

/** Of a closed account. */
export const deleteLinks = (db: Database, platformId: string): Statement =>
  db.delete(accountLinks).where(eq(accountLinks.platformId, platformId));
