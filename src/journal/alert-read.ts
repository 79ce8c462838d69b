// Lists and acknowledges alerts, for operators (JOB-10).
import { type OperatorCall, readPage } from "../call.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import type { AlertRow } from "../db/tables/journal.ts";
import type { AlertQuery } from "./alert-schema.ts";
import { findAlert, listAlerts, recordAcknowledgement } from "./alert-store.ts";
import { recordOperatorEntry } from "./operator-log.ts";
import type { AlertView } from "./responses.ts";

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
