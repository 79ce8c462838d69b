// Creates an endpoint (EVT-22). The response shows its secret; the database holds it sealed.
import { type ManagementCall, type Precheck, precheck } from "../call.ts";
import { type FieldError, toFieldError, toValidationError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import { WEBHOOKS_MAX } from "../core/limits.ts";
import { isHostAsWritten } from "../core/text.ts";
import { dropAbsentReads } from "../db/batch.ts";
import { recordActivity } from "../journal/activity.ts";
import { findAddressee } from "../journal/notice-store.ts";
import { recordNoticeTo } from "../journal/notices.ts";
import { drawWebhookSecret } from "../protocol/webhook-signature.ts";
import { judgeAddress } from "./address.ts";
import { readRealTime } from "./read.ts";
import { isLocal } from "./resolve.ts";
import type { NewWebhookView, WebhookInput } from "./schema.ts";
import { newestSealKey, sealSecret } from "./secrets.ts";
import { countEndpoints, insertEndpoint } from "./store.ts";
import { toNewWebhookView } from "./views.ts";

export function findAddressFaults({ deps }: ManagementCall, url: string | undefined): FieldError[] {
  if (url === undefined) return [];
  const own = new URL(deps.config.issuer).hostname;
  const fault = judgeAddress(url, { local: isLocal(deps.env), own });
  if (fault !== null) return [toFieldError("url", "invalid_value", fault)];
  return isHostAsWritten(url)
    ? []
    : [toFieldError("url", "invalid_format", "Must name its host in its canonical form.")];
}

/** Reports these faults together with those of the other fields. */
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

export const dedupeEventTypes = (names: readonly string[]): string[] => [...new Set(names)];

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
    subject: { type: "webhook_endpoint", id: webhookId },
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
