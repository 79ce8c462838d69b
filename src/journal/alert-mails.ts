// Mails about alerts to the operator's address (JOB-11).
import type { Deps } from "../context.ts";
import { HOUR_MS } from "../core/limits.ts";
import { Conflict } from "../core/retry.ts";
import type { AlertKind } from "../core/vocabulary.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { AlertRow } from "../db/tables/journal.ts";
import { composeMail, sendMail } from "../mail/mail.ts";
import { findUnmailed, recordMailed, releaseMailHour, reserveMailHour } from "./alert-store.ts";

const AT_ONCE = 50;

/** Alerts that no mail has named, of kinds whose hour is over. */
export type DueAlertMails = {
  readonly sentBefore: number;
  readonly oldestDueAt: number;
  readonly alerts: readonly AlertRow[];
};

/** Returns null if no mail is due. Without an operator's address nothing is sent, and the alerts stay in their list. */
export async function findAlertMails({ db, env, clock }: Deps): Promise<DueAlertMails | null> {
  if (env.OPERATOR_ALERT_EMAIL === "") return null;
  const sentBefore = clock.now() - HOUR_MS;
  const { unmailed } = await readBatch(db, { unmailed: findUnmailed(db, sentBefore, AT_ONCE) });
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
