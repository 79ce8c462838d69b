// Alerts: what an operator has to look at. Raised in the batch of what was found, or on its own; listed until they are acknowledged; told
// by mail at most once an hour for each kind.
import { newId } from "../core/ids.ts";
import type { AlertKind } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import { putAlert } from "./alert-store.ts";

/** `subject`: what it is about, in one word; the same thing found again is the same alert. */
export type Alert = { readonly kind: AlertKind; readonly subject: string; readonly message: string };

export const raiseAlert = (db: Database, alert: Alert): Statement => {
  // Real time: an operator's hour is no sandbox's.
  const now = Date.now();
  return putAlert(db, { ...alert, alertId: newId("alt", now), raisedAt: now, lastSeenAt: now });
};
