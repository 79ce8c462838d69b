// Sends a test event to one endpoint only, to show that it works (EVT-30).
import type { ManagementCall } from "../call.ts";
import { toEventRow, writeEvent } from "../journal/events.ts";
import { toNewDelivery } from "./fan-out.ts";
import { wakeEndpoint } from "./nudge.ts";
import { queueDeliveries } from "./queue-store.ts";
import { readOwnEndpoint, readRealTime, requireEnabled, requireEndpoint } from "./read.ts";
import type { DeliveryView } from "./responses.ts";
import { toDeliveryView, toWebhookView } from "./views.ts";

export async function sendTestEvent(call: ManagementCall, webhookId: string): Promise<DeliveryView> {
  const { db, deps } = call;
  const { endpoint } = await call.read(readOwnEndpoint(call, webhookId));
  const own = requireEndpoint(endpoint);
  requireEnabled(own);
  const now = readRealTime(call);
  const event = toEventRow(own, call.now, { type: "webhook.test", object: toWebhookView(own, now) });
  const delivery = toNewDelivery(own, event, now);
  const view = toDeliveryView(own, { ...delivery, status: "pending", attempts: [], answers: null });
  await call.commit([writeEvent(db, event), ...queueDeliveries(db, [delivery])], view);
  call.background(wakeEndpoint(deps.env, webhookId, true));
  return view;
}
