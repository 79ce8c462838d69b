// Raises alerts (JOB-9, JOB-10), in the batch of the finding or alone.
import { createId } from "../core/ids.ts";
import type { AlertKind } from "../core/vocabulary.ts";
import type { Condition, Database, Statement } from "../db/batch.ts";
import { putAlert, putAlerts } from "./alert-store.ts";

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
