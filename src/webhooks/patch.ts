// Changes an endpoint (EVT-22): its address, event selection, description and status. Each change is its own entry in the activity log.
import { type ManagementCall, type Precheck, precheck } from "../call.ts";
import { ServiceError, validationError } from "../core/errors.ts";
import type { ActivityAction } from "../core/vocabulary.ts";
import { present } from "../db/batch.ts";
import type { EndpointRow } from "../db/tables/webhooks.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { findAddressee } from "../journal/notice-store.ts";
import { type Notice, noticeTo } from "../journal/notices.ts";
import { canonicalJson } from "../protocol/canonical-json.ts";
import { addressFaults, selectionOf } from "./create.ts";
import { disabledNotice } from "./disable.ts";
import { wake } from "./nudge.ts";
import { known, ownEndpoint, realTime } from "./read.ts";
import type { WebhookView } from "./responses.ts";
import type { WebhookPatch } from "./schema.ts";
import { updateEndpoint } from "./store.ts";
import { toWebhookView } from "./views.ts";

/** Answers 404 for an unknown endpoint before any fault of the request. The address is judged with the other fields. */
export const precheckPatch = (call: ManagementCall, webhookId: string, { url }: Partial<WebhookPatch>): Precheck =>
  precheck(ownEndpoint(call, webhookId), ({ endpoint }) => {
    known(endpoint);
    return addressFaults(call, url);
  });

export async function patchWebhook(call: ManagementCall, webhookId: string, patch: WebhookPatch): Promise<WebhookView> {
  const { db, deps } = call;
  const now = realTime(call);
  const { caller, endpoint, account } = await call.read({
    ...ownEndpoint(call, webhookId),
    ...present({ account: mayTell(patch) ? findAddressee(db, call.tenant.platformId) : null }),
  });
  const before = known(endpoint);
  const faults = addressFaults(call, patch.url);
  if (faults.length > 0) throw validationError(faults);
  const changed = changesOf(before, patch, now);
  const after = { ...before, ...changed };
  const entries = entriesOf(before, after);
  if (entries.length === 0) throw new ServiceError("no_changes_requested");
  const view = toWebhookView(after, now);
  const subject = { type: "webhook_endpoint", id: webhookId };
  await call.commit(
    [
      ...updateEndpoint(db, before, changed),
      ...entries.map(({ action, changes }) =>
        recordActivity(db, before, call.now, { action, actor: caller.actor, subject, changes }),
      ),
      ...noticesOf(before, after).flatMap((notice) => noticeTo(db, account, now, notice)),
    ],
    view,
  );
  if (after.status === "enabled") call.background(wake(deps.env, webhookId, true));
  return view;
}

/** Whether the patch may lead to a notice to the account (EVT-34). */
const mayTell = ({ url, status }: WebhookPatch): boolean => url !== undefined || status === "disabled";

/** The notice about a disabled endpoint names the host that got its events so far. */
function noticesOf(before: EndpointRow, after: EndpointRow): Notice[] {
  const { environment, webhookId } = before;
  const [host, previousHost] = [new URL(after.url).host, new URL(before.url).host];
  const moved: Notice = {
    kind: "customer.webhook_url_changed",
    data: { environment, webhookId, host, previousHost },
  };
  const isDisabled = before.status === "enabled" && after.status === "disabled";
  return [...(after.url === before.url ? [] : [moved]), ...(isDisabled ? [disabledNotice(before, "owner")] : [])];
}

/** The columns to write. Deliveries write `failingSince` too, so it is left alone unless the address or the status changes. */
function changesOf(before: EndpointRow, patch: WebhookPatch, now: number): Partial<EndpointRow> {
  const { url = before.url, event_types, description = before.description, status = before.status } = patch;
  const afresh = url !== before.url || status !== before.status;
  const cause = status === "enabled" ? null : "owner";
  return {
    url,
    eventTypes: event_types === undefined ? before.eventTypes : selectionOf(event_types),
    description,
    status,
    disabledCause: status === before.status ? before.disabledCause : cause,
    // A new address or status is a fresh start.
    ...(afresh && { failingSince: null }),
    updatedAt: Math.max(now, before.updatedAt + 1),
  };
}

type Entry = { readonly action: ActivityAction; readonly changes: Changes };

function entriesOf(before: EndpointRow, after: EndpointRow): Entry[] {
  const entry = (action: ActivityAction, name: string, from: unknown, to: unknown): Entry[] =>
    canonicalJson(from) === canonicalJson(to) ? [] : [{ action, changes: { [name]: { from, to } } }];
  return [
    ...entry("webhook.url_changed", "url", before.url, after.url),
    ...entry("webhook.events_changed", "event_types", before.eventTypes, after.eventTypes),
    ...entry("webhook.description_changed", "description", before.description, after.description),
    ...entry(`webhook.${after.status}`, "status", before.status, after.status),
  ];
}
