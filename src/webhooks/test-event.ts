// Sends a test event to one endpoint only, to show that it works (EVT-30).
import type { ManagementCall } from "../call.ts";
import { eventRow, writeEvent } from "../journal/events.ts";
import { newDelivery } from "./fan-out.ts";
import { wake } from "./nudge.ts";
import { queueDeliveries } from "./queue-store.ts";
import { known, ownEndpoint, realTime, requireEnabled } from "./read.ts";
import type { DeliveryView } from "./responses.ts";
import { toDeliveryView, toWebhookView } from "./views.ts";

export async function sendTestEvent(call: ManagementCall, webhookId: string): Promise<DeliveryView> {
  const { db, deps } = call;
  const { endpoint } = await call.read(ownEndpoint(call, webhookId));
  const own = known(endpoint);
  requireEnabled(own);
  const now = realTime(call);
  const event = eventRow(own, call.now, { type: "webhook.test", object: toWebhookView(own, now) });
  const delivery = newDelivery(own, event, now);
  const view = toDeliveryView(own, { ...delivery, status: "pending", attempts: [], answers: null });
  await call.commit([writeEvent(db, event), ...queueDeliveries(db, [delivery])], view);
  call.background(wake(deps.env, webhookId, true));
  return view;
}
