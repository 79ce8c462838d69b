// Stored outcomes of calls with an Idempotency-Key, kept for 24 hours (IDM-2, IDM-3).
import { and, eq, gt, lte, type SQL, sql } from "drizzle-orm";
import { type Database, type Read, read, readOne, type Statement } from "./batch.ts";
import { idempotencyOutcomes } from "./tables/journal.ts";

/** The owner of Idempotency-Keys, and the secret that seals the answers under them. */
export type IdempotencyOwner = {
  readonly space: string;
  readonly secret: string;
  readonly platformId: string | SQL<string>;
};

export type Outcome = { bodyHash: string; status: number; body: string; sealed: boolean };

export const findOutcome = (
  db: Database,
  platformId: string | SQL<string>,
  requestKey: string,
  now: number,
): Read<Outcome | null> =>
  readOne(
    db
      .select({
        bodyHash: idempotencyOutcomes.bodyHash,
        status: idempotencyOutcomes.status,
        body: idempotencyOutcomes.body,
        sealed: idempotencyOutcomes.sealed,
      })
      .from(idempotencyOutcomes)
      .where(
        and(
          eq(idempotencyOutcomes.platformId, platformId),
          eq(idempotencyOutcomes.requestKey, requestKey),
          gt(idempotencyOutcomes.expiresAt, now),
        ),
      ),
  );

/** Fails the batch (Conflict) when an unexpired outcome is stored: one effect per key, also between racing calls. */
export const insertOutcome = (
  db: Database,
  row: Outcome & { platformId: string; requestKey: string; expiresAt: number },
  now: number,
): Statement[] => [
  db
    .delete(idempotencyOutcomes)
    .where(
      and(
        eq(idempotencyOutcomes.platformId, row.platformId),
        eq(idempotencyOutcomes.requestKey, row.requestKey),
        lte(idempotencyOutcomes.expiresAt, now),
      ),
    ),
  db.insert(idempotencyOutcomes).values(row),
];

/** The number of expired outcomes, counted up to `most`, and the earliest expiry; null when there are none. */
export const countOutcomes = (
  db: Database,
  now: number,
  most: number,
): Read<{ count: number; oldest: number } | null> =>
  read(
    db
      .select({
        count: sql<number>`count(*)`.as("count"),
        oldest: sql<number | null>`min(expires_at)`.as("oldest"),
      })
      .from(sql`(select expires_at from idempotency_outcomes where expires_at <= ${now} limit ${most})`),
    ([row]) => (row && row.oldest !== null ? { count: row.count, oldest: row.oldest } : null),
  );

export const pruneOutcomes = (db: Database, now: number, slice: number): Statement =>
  db.delete(idempotencyOutcomes).where(
    sql`(platform_id, request_key) in
        (select platform_id, request_key from idempotency_outcomes where expires_at <= ${now} limit ${slice})`,
  );
