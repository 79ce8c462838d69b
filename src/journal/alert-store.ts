// Store of alerts, of the mails about them, and of the notices that wait for their mail.
import { and, asc, eq, getTableColumns, isNotNull, isNull, lte, or, type SQL, sql } from "drizzle-orm";
import type { AskedRows } from "../core/page.ts";
import type { AlertKind } from "../core/vocabulary.ts";
import { type Database, mustChange, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { countEnded, type EndedCount, type EndingTable, selectEndedKeys } from "../db/clock.ts";
import { eachOf, isOneOf, selectFields } from "../db/lists.ts";
import { readNewest } from "../db/pages.ts";
import { splitIntoParts } from "../db/parts.ts";
import { type NoticeRow, notices, type PlatformRow, platforms } from "../db/tables/accounts.ts";
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

/** Does the same for many rows by one statement. `condition` reads the `tags` of a row as `value ->> 6` and so on. */
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

// ---- Mails about alerts --------------------------------------------------------------------------------------------------

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

export const releaseMailHour = (db: Database, kind: AlertKind): Statement =>
  db.delete(alertMails).where(eq(alertMails.kind, kind));

export const recordMailed = (db: Database, alertIds: readonly string[], mailedAt: number): Statement =>
  db
    .update(alerts)
    .set({ mailedAt })
    .where(or(...alertIds.map((alertId) => eq(alerts.alertId, alertId))));

// ---- Notices -------------------------------------------------------------------------------------------------------------

export const insertNotices = (db: Database, rows: readonly Omit<NoticeRow, "attempts">[]): Statement =>
  db.insert(notices).values([...rows]);

/** The columns that address a notice, and the offset of the sandbox clock, for calls that do not read the account. */
export type NoticeAccount = Pick<
  PlatformRow,
  "platformId" | "email" | "adminContactEmail" | "legalName" | "clockOffsetMs"
>;
export const findAddressee = (db: Database, platformId: string | SQL<string>): Read<NoticeAccount | null> =>
  readOne(
    db
      .select({
        platformId: platforms.platformId,
        email: platforms.email,
        adminContactEmail: platforms.adminContactEmail,
        legalName: platforms.legalName,
        clockOffsetMs: platforms.clockOffsetMs,
      })
      .from(platforms)
      .where(eq(platforms.platformId, platformId)),
  );

type Addressee = Pick<NoticeRow, "noticeId" | "platformId" | "recipient">;
type Shared = Pick<NoticeRow, "kind" | "data"> & { readonly now: number };

export const insertAnnounced = (db: Database, { kind, data, now }: Shared, each: readonly Addressee[]): Statement[] =>
  splitIntoParts(each.map(({ noticeId, platformId, recipient }) => [noticeId, platformId, recipient])).map((part) =>
    db.insert(notices).select(
      sql`select value ->> 0, value ->> 1, ${kind}, value ->> 2, ${JSON.stringify(data)}, ${now}, ${now}, 0, 0
            from ${part.rows}`,
    ),
  );

export type Digest = Pick<NoticeRow, "noticeId" | "platformId" | "recipient" | "dueAt"> & {
  readonly account: unknown;
  readonly held: readonly { readonly subject: string; readonly at: number }[];
};

/** Adds notices to their recipient's digest, of which there is one until it is taken. It names at most `most` notices, and counts the others. */
export const addToDigest = (db: Database, { account, held, ...row }: Digest, now: number, most: number): Statement => {
  const merged = sql`select value from ${eachOf(sql`notices.data -> '$.held'`)} union all select value from ${eachOf(sql`excluded.data -> '$.held'`)}`;
  const count = sql`json_array_length(notices.data, '$.held') + json_array_length(excluded.data, '$.held')`;
  return db
    .insert(notices)
    .values({
      ...row,
      kind: "customer.digest",
      data: { account, held: held.slice(0, most), more: Math.max(0, held.length - most) },
      createdAt: now,
      isBounded: false,
    })
    .onConflictDoUpdate({
      target: [notices.platformId, notices.recipient],
      targetWhere: sql`kind = 'customer.digest' and attempts = 0`,
      set: {
        data: sql`json_set(notices.data,
          '$.held', (select json_group_array(json(value)) from (${merged} limit ${most})),
          '$.more', (notices.data ->> '$.more') + (excluded.data ->> '$.more') + max(0, ${count} - ${most}))`,
      },
    });
};

const DUE: EndingTable = { table: notices, key: notices.noticeId, end: notices.dueAt };

export const countDueNotices = (db: Database, now: number, most: number): Read<EndedCount> =>
  countEnded(db, DUE, now, most);

/** Postpones each due notice by the pause after its attempt: only one of two concurrent runs takes it, and it is due again if its mail was not sent. */
export const takeDueNotices = (
  db: Database,
  now: number,
  most: number,
  pausesMs: readonly number[],
): Read<NoticeRow[]> =>
  readAll(
    db
      .update(notices)
      .set({
        dueAt: sql`${now} + coalesce(${JSON.stringify(pausesMs)} ->> ${notices.attempts}, ${pausesMs.at(-1) ?? 0})`,
        attempts: sql`${notices.attempts} + 1`,
      })
      .where(sql`${notices.noticeId} in ${selectEndedKeys(DUE, now, most)}`)
      .returning(),
  );

export const deleteNotices = (db: Database, ids: readonly string[]): Statement =>
  db.delete(notices).where(isOneOf(notices.noticeId, ids));
