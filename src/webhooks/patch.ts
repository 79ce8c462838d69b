// Changes an endpoint (EVT-22): its address, event selection, description and status. Each change is its own entry in the activity log.
import { type ManagementCall, type Precheck, precheck } from "../call.ts";
import { ServiceError, toValidationError } from "../core/errors.ts";
import type { ActivityAction } from "../core/vocabulary.ts";
import { dropAbsentReads } from "../db/batch.ts";
import type { EndpointRow } from "../db/tables/webhooks.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { findAddressee } from "../journal/notice-store.ts";
import { type Notice, recordNoticeTo } from "../journal/notices.ts";
import { toCanonicalJson } from "../protocol/canonical-json.ts";
import { dedupeEventTypes, findAddressFaults } from "./create.ts";
import { toDisabledNotice } from "./disable.ts";
import { wakeEndpoint } from "./nudge.ts";
import { readRealTime } from "./read.ts";
import type { WebhookView } from "./responses.ts";
import type { WebhookPatch } from "./schema.ts";
import { updateEndpoint } from "./store.ts";
import { toWebhookView } from "./views.ts";

/** The address is judged with the other fields. */
export const precheckWebhookPatch = (call: ManagementCall, { url }: Partial<WebhookPatch>): Precheck =>
  precheck({}, () => findAddressFaults(call, url));

export async function patchWebhook(call: ManagementCall<EndpointRow>, patch: WebhookPatch): Promise<WebhookView> {
  const { db, deps } = call;
  const now = readRealTime(call);
  const {
    caller,
    object: before,
    account,
  } = await call.read(
    dropAbsentReads({ account: mayNotify(patch) ? findAddressee(db, call.tenant.platformId) : null }),
  );
  const { webhookId } = before;
  const faults = findAddressFaults(call, patch.url);
  if (faults.length > 0) throw toValidationError(faults);
  const changed = toChangedColumns(before, patch, now);
  const after = { ...before, ...changed };
  const entries = toEntries(before, after);
  if (entries.length === 0) throw new ServiceError("no_changes_requested");
  const view = toWebhookView(after, now);
  const subject = { type: "webhook_endpoint", id: webhookId };
  await call.commit(
    [
      ...updateEndpoint(db, before, changed),
      ...entries.map(({ action, changes }) =>
        recordActivity(db, before, call.now, { action, actor: caller.actor, subject, changes }),
      ),
      ...toNotices(before, after).flatMap((notice) => recordNoticeTo(db, account, now, notice)),
    ],
    view,
  );
  if (after.status === "enabled") call.background(wakeEndpoint(deps.env, webhookId, true));
  return view;
}

/** Whether the patch may lead to a notice to the account (EVT-34). */
const mayNotify = ({ url, status }: WebhookPatch): boolean => url !== undefined || status === "disabled";

/** The notice about a disabled endpoint names the host that got its events so far. */
function toNotices(before: EndpointRow, after: EndpointRow): Notice[] {
  const { environment, webhookId } = before;
  const [host, previousHost] = [new URL(after.url).host, new URL(before.url).host];
  const moved: Notice = {
    kind: "customer.webhook_url_changed",
    data: { environment, webhookId, host, previousHost },
  };
  const isDisabled = before.status === "enabled" && after.status === "disabled";
  return [...(after.url === before.url ? [] : [moved]), ...(isDisabled ? [toDisabledNotice(before, "owner")] : [])];
}

/** The columns to write. Deliveries write `failingSince` too, so it is left alone unless the address or the status changes. */
function toChangedColumns(before: EndpointRow, patch: WebhookPatch, now: number): Partial<EndpointRow> {
  const { url = before.url, event_types, description = before.description, status = before.status } = patch;
  const afresh = url !== before.url || status !== before.status;
  const cause = status === "enabled" ? null : "owner";
  return {
    url,
    eventTypes: event_types === undefined ? before.eventTypes : dedupeEventTypes(event_types),
    description,
    status,
    disabledCause: status === before.status ? before.disabledCause : cause,
    // A new address or status is a fresh start.
    ...(afresh && { failingSince: null }),
    updatedAt: Math.max(now, before.updatedAt + 1),
  };
}

type Entry = { readonly action: ActivityAction; readonly changes: Changes };

function toEntries(before: EndpointRow, after: EndpointRow): Entry[] {
  const entry = (action: ActivityAction, name: string, from: unknown, to: unknown): Entry[] =>
    toCanonicalJson(from) === toCanonicalJson(to) ? [] : [{ action, changes: { [name]: { from, to } } }];
  return [
    ...entry("webhook.url_changed", "url", before.url, after.url),
    ...entry("webhook.events_changed", "event_types", before.eventTypes, after.eventTypes),
    ...entry("webhook.description_changed", "description", before.description, after.description),
    ...entry(`webhook.${after.status}`, "status", before.status, after.status),
  ];
}
