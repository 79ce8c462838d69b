// Store of alerts and of the mails about them.
import { and, asc, eq, getTableColumns, isNotNull, isNull, lte, or, type SQL, sql } from "drizzle-orm";
import type { AskedRows } from "../core/page.ts";
import type { AlertKind } from "../core/vocabulary.ts";
import { type Database, mustChange, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { eachOf, selectFields } from "../db/lists.ts";
import { readNewest } from "../db/pages.ts";
import { type AlertRow, alertMails, alerts } from "../db/tables/journal.ts";

type NewAlert = Omit<typeof alerts.$inferInsert, "seen" | "mailedAt" | "acknowledgedAt" | "acknowledgedBy">;

/** Inserts an alert, or counts the open one of the same kind and subject. Does nothing unless `condition` holds at its place in the batch. */
export function putAlert(db: Database, row: NewAlert, condition: SQL = sql`true`): Statement {
  const { alertId, kind, subject, message, raisedAt, lastSeenAt } = row;
  return db
    .insert(alerts)
    .select(
      sql`select ${alertId}, ${kind}, ${subject}, ${message}, ${raisedAt}, ${lastSeenAt}, 1, null, null, null where ${condition}`,
    )
    .onConflictDoUpdate({ ...OPEN_TARGET, set: { lastSeenAt, message, seen: sql`${alerts.seen} + 1` } });
}

const OPEN_TARGET = { target: [alerts.kind, alerts.subject], targetWhere: sql`acknowledged_at is null` };

/**
 * Puts many alerts by one statement. Each row has `tags`, which `condition` reads as `value ->> 6` and so on; a row whose condition does not hold at
 * its place in the batch is skipped.
 */
export function putAlerts(
  db: Database,
  rows: readonly (NewAlert & { readonly tags: readonly (string | number)[] })[],
  condition: SQL,
): Statement {
  const values = rows.map(({ alertId, kind, subject, message, raisedAt, lastSeenAt, tags }) => [
    ...[alertId, kind, subject, message, raisedAt, lastSeenAt],
    ...tags,
  ]);
  const set = {
    lastSeenAt: sql`excluded.last_seen_at`,
    message: sql`excluded.message`,
    seen: sql`${alerts.seen} + 1`,
  };
  return db
    .insert(alerts)
    .select(sql`select ${selectFields(6)}, 1, null, null, null from ${eachOf(values)} where ${condition}`)
    .onConflictDoUpdate({ ...OPEN_TARGET, set });
}

export const listAlerts = (db: Database, filter: { readonly open: boolean }, page: AskedRows): Read<AlertRow[]> => {
  // Literal text, so that SQLite uses the partial index; the bound makes the read a range.
  const where = filter.open ? sql`acknowledged_at is null and raised_at >= 0` : isNotNull(alerts.acknowledgedAt);
  return readNewest(db, { table: alerts, where, at: alerts.raisedAt, id: alerts.alertId }, page);
};

export const findAlert = (db: Database, alertId: string): Read<AlertRow | null> =>
  readOne(db.select().from(alerts).where(eq(alerts.alertId, alertId)));

export const recordAcknowledgement = (db: Database, alertId: string, by: string, now: number): Statement[] =>
  mustChange(
    db,
    db
      .update(alerts)
      .set({ acknowledgedAt: now, acknowledgedBy: by })
      .where(and(eq(alerts.alertId, alertId), isNull(alerts.acknowledgedAt))),
  );

// ---- Mails -----------------------------------------------------------------------------------------------------------------

/** Open alerts that no mail has named, of kinds without a mail since `sentBefore`, each with the instant of its kind's last mail. */
export const findUnmailed = (
  db: Database,
  sentBefore: number,
  limit: number,
): Read<(AlertRow & { sentAt: number | null })[]> =>
  readAll(
    db
      .select({ ...getTableColumns(alerts), sentAt: alertMails.sentAt })
      .from(alerts)
      .leftJoin(alertMails, eq(alertMails.kind, alerts.kind))
      .where(
        and(
          // Literal text, so that SQLite uses the partial index.
          sql`mailed_at is null and acknowledged_at is null`,
          or(isNull(alertMails.sentAt), lte(alertMails.sentAt, sentBefore)),
        ),
      )
      .orderBy(asc(alerts.kind), asc(alerts.raisedAt))
      .limit(limit),
  );

/** Reserves the hour of a kind before its mail is sent, so that only one of two runs sends it. */
export const reserveMailHour = (db: Database, kind: AlertKind, now: number, sentBefore: number): Statement[] =>
  mustChange(
    db,
    db
      .insert(alertMails)
      .values({ kind, sentAt: now })
      .onConflictDoUpdate({
        target: alertMails.kind,
        set: { sentAt: now },
        setWhere: lte(alertMails.sentAt, sentBefore),
      }),
  );

/** Releases the hour if the mail could not be sent. */
export const releaseMailHour = (db: Database, kind: AlertKind): Statement =>
  db.delete(alertMails).where(eq(alertMails.kind, kind));

export const recordMailed = (db: Database, alertIds: readonly string[], mailedAt: number): Statement =>
  db
    .update(alerts)
    .set({ mailedAt })
    .where(or(...alertIds.map((alertId) => eq(alerts.alertId, alertId))));
