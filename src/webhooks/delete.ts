// Deletes an endpoint (EVT-22). What waits for it is dropped by its object, and what was tried by the retention of 30 days.
import type { ManagementCall } from "../call.ts";
import { recordActivity } from "../journal/activity.ts";
import { wake } from "./nudge.ts";
import { known, ownEndpoint } from "./read.ts";
import { deleteEndpoint } from "./store.ts";

export async function deleteWebhook(call: ManagementCall, webhookId: string): Promise<null> {
  const { db, deps, now } = call;
  const { caller, endpoint } = await call.read(ownEndpoint(call, webhookId));
  const before = known(endpoint);
  const deleted = {
    action: "webhook.deleted",
    actor: caller.actor,
    subject: { type: "webhook_endpoint", id: webhookId },
  } as const;
  await call.commit([...deleteEndpoint(db, webhookId), recordActivity(db, before, now, deleted)], null);
  call.background(wake(deps.env, webhookId));
  return null;
}
