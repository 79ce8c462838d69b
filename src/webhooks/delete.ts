// Deletes an endpoint (EVT-22). Its object drops the queued deliveries, and the retention of 30 days drops the logged ones. The account gets a notice
// if the endpoint was enabled (EVT-34).
import type { ManagementCall } from "../call.ts";
import type { EndpointRow } from "../db/tables/webhooks.ts";
import { recordActivity } from "../journal/activity.ts";
import { findAddressee } from "../journal/notice-store.ts";
import { recordNoticeTo } from "../journal/notices.ts";
import { toDisabledNotice } from "./disable.ts";
import { wakeEndpoint } from "./nudge.ts";
import { readRealTime } from "./read.ts";
import { deleteEndpoint } from "./store.ts";

export async function deleteWebhook(call: ManagementCall<EndpointRow>): Promise<null> {
  const { db, deps, now } = call;
  const { caller, object: before, account } = await call.read({ account: findAddressee(db, call.tenant.platformId) });
  const { webhookId } = before;
  const deleted = {
    action: "webhook.deleted",
    actor: caller.actor,
    subject: { type: "webhook_endpoint", id: webhookId },
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
