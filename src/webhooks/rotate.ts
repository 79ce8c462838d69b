// Rotates the secret of an endpoint (EVT-23): for `grace_hours` each delivery is signed with both.
import type { ManagementCall } from "../call.ts";
import { HOUR_MS } from "../core/limits.ts";
import type { EndpointRow } from "../db/tables/webhooks.ts";
import { recordActivity } from "../journal/activity.ts";
import { drawWebhookSecret } from "../protocol/webhook-signature.ts";
import { wakeEndpoint } from "./nudge.ts";
import { readRealTime } from "./read.ts";
import type { NewWebhookView, SecretRotation } from "./schema.ts";
import { newestSealKey, openSecret, sealSecret } from "./secrets.ts";
import { updateEndpoint } from "./store.ts";
import { toNewWebhookView } from "./views.ts";

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
    subject: { type: "webhook_endpoint", id: webhookId },
  } as const;
  await call.commit([...updateEndpoint(db, before, changed), recordActivity(db, before, call.now, rotated)], view);
  // The endpoint may be backing off because its receiver expected another secret.
  if (before.status === "enabled") call.background(wakeEndpoint(deps.env, webhookId, true));
  return view;
}
