// Sends a test event to one endpoint only, to show that it works (EVT-30).
import type { ManagementCall } from "../call.ts";
import type { EndpointRow } from "../db/tables/webhooks.ts";
import { toEventRow } from "../journal/events.ts";
import { insertEvent } from "../journal/store.ts";
import { toNewDelivery } from "./fan-out.ts";
import { wakeEndpoint } from "./nudge.ts";
import { queueDeliveries } from "./queue-store.ts";
import { readRealTime, requireEnabled } from "./read.ts";
import type { DeliveryView } from "./responses.ts";
import { toDeliveryView, toWebhookView } from "./views.ts";

export async function sendTestEvent(call: ManagementCall<EndpointRow>): Promise<DeliveryView> {
  const { db, deps } = call;
  const { object: own } = await call.read({});
  requireEnabled(own);
  const now = readRealTime(call);
  const event = toEventRow(own, call.now, { type: "webhook.test", object: toWebhookView(own, now) });
  const delivery = toNewDelivery(own, event, now);
  const view = toDeliveryView(own, { ...delivery, status: "pending", attempts: [], answers: null });
  await call.commit([insertEvent(db, event), ...queueDeliveries(db, [delivery])], view);
  call.background(wakeEndpoint(deps.env, own.webhookId, true));
  return view;
}
