// Alerts to the operator and notices to an account. An alert is raised in the batch of the finding or alone (JOB-9, JOB-10); a job mails it (JOB-11). A
// notice is written in the batch of the change that it reports, and goes to the account's own address and its admin contact (ACC-11).
import { type OperatorCall, readPage } from "../call.ts";
import type { Deps } from "../context.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { createId } from "../core/ids.ts";
import { HOUR_MS } from "../core/limits.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import { Conflict } from "../core/retry.ts";
import { foldName, isSameText } from "../core/text.ts";
import type { AlertKind } from "../core/vocabulary.ts";
import { type Condition, commit, type Database, readBatch, type Statement } from "../db/batch.ts";
import type { PlatformRow } from "../db/tables/accounts.ts";
import type { AlertRow } from "../db/tables/journal.ts";
import type { MailData, MailKind } from "../mail/kinds.ts";
import { composeMail, sendMail } from "../mail/mail.ts";
import {
  findAlert,
  findUnmailed,
  insertNotices,
  listAlerts,
  type NoticeAccount,
  putAlert,
  putAlerts,
  recordAcknowledgement,
  recordMailed,
  releaseMailHour,
  reserveMailHour,
} from "./alert-store.ts";
import { recordOperatorEntry } from "./operator-log.ts";
import type { AlertView } from "./responses.ts";
import type { AlertQuery } from "./schema.ts";

/** `subject` names the thing in a few words. Alerts of the same kind and subject count as one. */
export type Alert = { readonly kind: AlertKind; readonly subject: string; readonly message: string };

/** `now`: real time, whatever a sandbox clock says. `condition`: must hold at the alert's place in the batch. */
export const raiseAlert = (db: Database, alert: Alert, now: number = Date.now(), condition?: Condition): Statement =>
  putAlert(db, { ...alert, alertId: createId("alt", now), raisedAt: now, lastSeenAt: now }, condition);

/** Raises many alerts at once. `tags`: the values of each that `condition` reads, as `value ->> 6` and so on. */
export const raiseAlerts = (
  db: Database,
  raised: readonly (Alert & { readonly tags: readonly (string | number)[] })[],
  now: number,
  condition: Condition,
): Statement =>
  putAlerts(
    db,
    raised.map((alert) => ({ ...alert, alertId: createId("alt", now), raisedAt: now, lastSeenAt: now })),
    condition,
  );

// ---- The list of alerts (JOB-10) -----------------------------------------------------------------------------------------

export async function getAlerts(call: OperatorCall, query: AlertQuery): Promise<Page<AlertView>> {
  const page = await readPage(call, query, hashListing("alerts", [], { status: query.status }));
  const { rows } = await call.read({ rows: listAlerts(call.db, { open: query.status === "open" }, page) });
  return toPage(rows, page, ({ raisedAt, alertId }) => ({ at: raisedAt, id: alertId }), toAlertView);
}

export const findNamedAlert = ({ db }: OperatorCall, { alert_id }: { alert_id: string }) => findAlert(db, alert_id);

export async function acknowledgeAlert(call: OperatorCall<AlertRow>): Promise<AlertView> {
  const { db, now, actor } = call;
  const { object: alert } = await call.read({});
  const { alertId } = alert;
  if (alert.acknowledgedAt !== null) return toAlertView(alert);
  const view = toAlertView({ ...alert, acknowledgedAt: now, acknowledgedBy: actor.id });
  const subject = { type: "alert", id: alertId };
  const detail = { kind: alert.kind, subject: alert.subject };
  const entry = recordOperatorEntry(db, actor, now, { action: "alert.acknowledged", subject, detail });
  await call.commit([...recordAcknowledgement(db, alertId, actor.id, now), entry], view);
  return view;
}

const toAlertView = (row: AlertRow): AlertView => ({
  alert_id: row.alertId,
  kind: row.kind,
  subject: row.subject,
  message: row.message,
  raised_at: toIso(row.raisedAt),
  last_seen_at: toIso(row.lastSeenAt),
  seen: row.seen,
  acknowledged_at: toIsoOrNull(row.acknowledgedAt),
  acknowledged_by: row.acknowledgedBy,
});

// ---- Mails about alerts (JOB-11) -----------------------------------------------------------------------------------------

export type DueAlertMails = {
  readonly sentBefore: number;
  readonly oldestDueAt: number;
  readonly alerts: readonly AlertRow[];
};

const ALERTS_MAILED_AT_ONCE = 50;

/** Finds alerts that no mail has named, of kinds whose hour is over. Without an operator's address nothing is sent, and the alerts stay in their list. */
export async function findAlertMails({ db, env, clock }: Deps): Promise<DueAlertMails | null> {
  if (env.OPERATOR_ALERT_EMAIL === "") return null;
  const sentBefore = clock.now() - HOUR_MS;
  const { unmailed } = await readBatch(db, { unmailed: findUnmailed(db, sentBefore, ALERTS_MAILED_AT_ONCE) });
  if (unmailed.length === 0) return null;
  const dueAt = unmailed.map(({ raisedAt, sentAt }) => Math.max(raisedAt, (sentAt ?? 0) + HOUR_MS));
  return { sentBefore, oldestDueAt: Math.min(...dueAt), alerts: unmailed };
}

export async function sendAlertMails(deps: Deps, { sentBefore, alerts }: DueAlertMails): Promise<number> {
  let mails = 0;
  for (const [kind, each] of Map.groupBy(alerts, (alert) => alert.kind)) {
    if (await sendKind(deps, kind, each, sentBefore)) mails += 1;
  }
  return mails;
}

async function sendKind(
  { db, env, config, clock }: Deps,
  kind: AlertKind,
  alerts: readonly AlertRow[],
  sentBefore: number,
): Promise<boolean> {
  const now = clock.now();
  try {
    await commit(db, reserveMailHour(db, kind, now, sentBefore));
  } catch (thrown) {
    // Another run sends it.
    if (thrown instanceof Conflict) return false;
    throw thrown;
  }
  try {
    const from = { name: config.operatorName, email: env.MAIL_FROM };
    await sendMail(env.MAIL, from, env.OPERATOR_ALERT_EMAIL, composeMail("operator.alerts", { kind, alerts }, config));
  } catch (thrown) {
    await commit(db, [releaseMailHour(db, kind)]);
    throw thrown;
  }
  await commit(db, [
    recordMailed(
      db,
      alerts.map(({ alertId }) => alertId),
      now,
    ),
  ]);
  return true;
}

// ---- Notices (ACC-11) ----------------------------------------------------------------------------------------------------

export type NoticeKind = Extract<MailKind, `customer.${string}`>;

type Addressed = Pick<PlatformRow, "platformId" | "email" | "adminContactEmail" | "legalName"> &
  Partial<Pick<PlatformRow, "status">>;

/** Every notice also names the account and the instant, which `recordNotice` adds. */
type NoticeFacts<Data> = Data extends unknown ? Omit<Data, "account" | "at"> : never;
export type Notice<K extends NoticeKind = NoticeKind> = { readonly kind: K; readonly data: NoticeFacts<MailData[K]> };

export const listRecipients = ({ email, adminContactEmail }: Pick<PlatformRow, "email" | "adminContactEmail">) =>
  adminContactEmail === null ? [email] : [email, adminContactEmail];

export const pickAnnouncementRecipient = ({
  adminContactEmail,
  email,
}: Pick<PlatformRow, "adminContactEmail" | "email">): string => adminContactEmail ?? email;

/** The notice to an account that the same trip has read; none if there is no such account. */
export const recordNoticeTo = <K extends NoticeKind>(
  db: Database,
  account: NoticeAccount | null | undefined,
  now: number,
  notice: Notice<K>,
): Statement[] => (account ? [recordNotice(db, account, now, notice)] : []);

/** `data`: what the mail says besides the account and the instant, and nothing secret. */
export const recordNotice = <K extends NoticeKind>(
  db: Database,
  platform: Addressed,
  now: number,
  { kind, data }: Notice<K>,
  recipients: readonly string[] = listRecipients(platform),
): Statement => {
  // In the sandbox, any key may change wallets as often as it likes.
  const isTestMoney = kind === "customer.wallet_changed" && "environment" in data && data.environment === "sandbox";
  const isSecurity = SECURITY_KINDS.has(kind) && !isTestMoney;
  return insertNotices(
    db,
    dedupeAddresses(recipients).map((recipient) => ({
      noticeId: createId("ntc", now),
      platformId: platform.platformId,
      kind,
      recipient,
      data: { ...data, account: toAccountName(platform), at: now },
      createdAt: now,
      dueAt: now,
      isBounded: !(isSecurity && isSameText(recipient, platform.email)),
    })),
  );
};

/** How mails name the account. An account that is not verified is named by its address: a stranger may have registered it with any legal name. */
const toAccountName = ({ status, email, legalName }: Addressed): string =>
  status === "EMAIL_PENDING" ? email : (legalName ?? email);

const dedupeAddresses = (addresses: readonly string[]): string[] => [
  ...new Map(addresses.map((address) => [foldName(address), address])).values(),
];

/** These warn the owner of a takeover or a theft, so the hourly limit never holds them back (ACC-31). */
const SECURITY_KINDS: ReadonlySet<NoticeKind> = new Set([
  "customer.key_issued",
  "customer.key_rotated",
  "customer.password_changed",
  "customer.password_reset",
  "customer.totp_enabled",
  "customer.totp_disabled",
  "customer.session_opened",
  "customer.log_ins_limited",
  "customer.email_changed",
  "customer.contact_changed",
  "customer.wallet_changed",
]);
