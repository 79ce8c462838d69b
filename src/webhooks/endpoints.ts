// Creates, reads, changes and deletes endpoints (EVT-22), and rotates their secrets (EVT-23).
import { type ManagementCall, type Precheck, precheck, readPage } from "../call.ts";
import { type FieldError, ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import { HOUR_MS, WEBHOOKS_MAX } from "../core/limits.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import { isHostAsWritten } from "../core/text.ts";
import type { ActivityAction } from "../core/vocabulary.ts";
import { dropAbsentReads } from "../db/batch.ts";
import type { EndpointRow } from "../db/tables/webhooks.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { findAddressee } from "../journal/alert-store.ts";
import { type Notice, recordNoticeTo } from "../journal/alerts.ts";
import { toCanonicalJson } from "../protocol/canonical-json.ts";
import { drawWebhookSecret } from "../protocol/webhook-signature.ts";
import { judgeAddress } from "./address.ts";
import { toDisabledNotice } from "./deliver.ts";
import { wakeEndpoint } from "./fan-out.ts";
import { isLocal } from "./post.ts";
import type { WebhookView } from "./responses.ts";
import type { NewWebhookView, SecretRotation, WebhookInput, WebhookPatch, WebhookQuery } from "./schema.ts";
import { newestSealKey, openSecret, sealSecret } from "./secrets.ts";
import {
  countEndpoints,
  deleteEndpoint,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  updateEndpoint,
} from "./store.ts";
import { toNewWebhookView, toWebhookView } from "./views.ts";

// ---- Creation ------------------------------------------------------------------------------------------------------------

export const precheckNewWebhook = (call: ManagementCall, { url }: Partial<WebhookInput>): Precheck =>
  precheck({ count: countEndpoints(call.db, call.tenant) }, ({ count }) => [
    ...findAddressFaults(call, url),
    ...findLimitFaults(count),
  ]);

function findLimitFaults(count: number): FieldError[] {
  if (count < WEBHOOKS_MAX) return [];
  const message = `An account can have at most ${WEBHOOKS_MAX} endpoints in an environment.`;
  return [toFieldError("url", "invalid_value", message)];
}

/** The response shows the endpoint's secret; the database holds it sealed. */
export async function createWebhook(call: ManagementCall, input: WebhookInput): Promise<NewWebhookView> {
  const { db, deps, tenant, environment } = call;
  const now = readRealTime(call);
  // The insert enforces the limit. Only a retry after a conflict counts again, so that it can name the limit as the fault.
  const {
    caller,
    account,
    count = 0,
  } = await call.read({
    account: findAddressee(db, tenant.platformId),
    ...dropAbsentReads({ count: call.contended ? countEndpoints(db, tenant) : null }),
  });
  const faults = [...findAddressFaults(call, input.url), ...findLimitFaults(count)];
  if (faults.length > 0) throw toValidationError(faults);
  const webhookId = createId("whe", now);
  const secret = drawWebhookSecret();
  const row = {
    webhookId,
    platformId: caller.platformId,
    environment,
    url: input.url,
    eventTypes: dedupeEventTypes(input.event_types),
    description: input.description ?? null,
    status: "enabled",
    disabledCause: null,
    secret: await sealSecret(deps.env, webhookId, secret),
    sealKey: await newestSealKey(deps.env),
    previousSecret: null,
    previousUntil: null,
    failingSince: null,
    createdAt: now,
    updatedAt: now,
  } as const;
  const view = toNewWebhookView(row, now, secret);
  const created = {
    action: "webhook.created",
    actor: caller.actor,
    subject: toSubject(webhookId),
  } as const;
  const data = { environment, webhookId, host: new URL(row.url).host };
  await call.commit(
    [
      ...insertEndpoint(db, row),
      recordActivity(db, row, call.now, created),
      ...recordNoticeTo(db, account, now, { kind: "customer.webhook_created", data }),
    ],
    view,
  );
  return view;
}

// ---- Reading -------------------------------------------------------------------------------------------------------------

export const findNamedWebhook = ({ db, tenant }: ManagementCall, { webhook_id }: { webhook_id: string }) =>
  findEndpoint(db, tenant, webhook_id);

export const getWebhook = async (call: ManagementCall<EndpointRow>): Promise<WebhookView> =>
  toWebhookView((await call.read({})).object, readRealTime(call));

export async function getWebhooks(call: ManagementCall, query: WebhookQuery): Promise<Page<WebhookView>> {
  const page = await readPage(call, query, hashListing("webhooks", [call.environment], {}));
  const { rows } = await call.read({ rows: listEndpoints(call.db, call.tenant, page) });
  const now = readRealTime(call);
  return toPage(
    rows,
    page,
    (row) => ({ at: row.createdAt, id: row.webhookId }),
    (row) => toWebhookView(row, now),
  );
}

// ---- Changes -------------------------------------------------------------------------------------------------------------

export const precheckWebhookPatch = (call: ManagementCall, { url }: Partial<WebhookPatch>): Precheck =>
  precheck({}, () => findAddressFaults(call, url));

/** Each change is its own entry in the activity log. */
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
  const subject = toSubject(webhookId);
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

/** Deliveries write `failingSince` too, so it is left alone unless a new address or status makes a fresh start. */
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

// ---- Rotation (EVT-23) ---------------------------------------------------------------------------------------------------

/** For `grace_hours` each delivery is signed with both secrets. */
export async function rotateSecret(
  call: ManagementCall<EndpointRow>,
  { grace_hours }: SecretRotation,
): Promise<NewWebhookView> {
  const { db, deps } = call;
  const now = readRealTime(call);
  const { caller, object: before } = await call.read({});
  const { webhookId } = before;
  const secret = drawWebhookSecret();
  const changed = {
    secret: await sealSecret(deps.env, webhookId, secret),
    sealKey: await newestSealKey(deps.env),
    // Seals it again under the newest key: the older seal key may be removed during the grace period.
    previousSecret:
      grace_hours === 0
        ? null
        : await sealSecret(deps.env, webhookId, await openSecret(deps.env, webhookId, before.secret)),
    previousUntil: grace_hours === 0 ? null : now + grace_hours * HOUR_MS,
    updatedAt: Math.max(now, before.updatedAt + 1),
  };
  const view = toNewWebhookView({ ...before, ...changed }, now, secret);
  const rotated = {
    action: "webhook.secret_rotated",
    actor: caller.actor,
    subject: toSubject(webhookId),
  } as const;
  await call.commit([...updateEndpoint(db, before, changed), recordActivity(db, before, call.now, rotated)], view);
  // The endpoint may be backing off because its receiver expected another secret.
  if (before.status === "enabled") call.background(wakeEndpoint(deps.env, webhookId, true));
  return view;
}

// ---- Deletion ------------------------------------------------------------------------------------------------------------

/** The endpoint's object drops queued deliveries, and retention drops logged ones. The account gets a notice if it was enabled (EVT-34). */
export async function deleteWebhook(call: ManagementCall<EndpointRow>): Promise<null> {
  const { db, deps, now } = call;
  const { caller, object: before, account } = await call.read({ account: findAddressee(db, call.tenant.platformId) });
  const { webhookId } = before;
  const deleted = {
    action: "webhook.deleted",
    actor: caller.actor,
    subject: toSubject(webhookId),
  } as const;
  await call.commit(
    [
      ...deleteEndpoint(db, webhookId),
      recordActivity(db, before, now, deleted),
      ...(before.status === "enabled"
        ? recordNoticeTo(db, account, readRealTime(call), toDisabledNotice(before, "deleted"))
        : []),
    ],
    null,
  );
  call.background(wakeEndpoint(deps.env, webhookId));
  return null;
}

// ---- Shared parts --------------------------------------------------------------------------------------------------------

/** Secrets expire and deliveries are pruned in real time, whatever a sandbox clock says. */
export const readRealTime = ({ deps }: ManagementCall): number => deps.clock.now();

export function requireEnabled({ status }: EndpointRow): void {
  if (status === "enabled") return;
  throw new ServiceError("invalid_status", { message: "The endpoint is disabled.", detail: { status } });
}

function findAddressFaults({ deps }: ManagementCall, url: string | undefined): FieldError[] {
  if (url === undefined) return [];
  const own = new URL(deps.config.issuer).hostname;
  const fault = judgeAddress(url, { local: isLocal(deps.env), own });
  if (fault !== null) return [toFieldError("url", "invalid_value", fault)];
  return isHostAsWritten(url)
    ? []
    : [toFieldError("url", "invalid_format", "Must name its host in its canonical form.")];
}

const dedupeEventTypes = (names: readonly string[]): string[] => [...new Set(names)];

const toSubject = (webhookId: string) => ({ type: "webhook_endpoint", id: webhookId });
