// Plays an endpoint from its creation to its deletion, with a receiver on this machine.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { must, pickValue } from "../client.ts";
import { sleep } from "../processes.ts";
import type { Stage } from "./stage.ts";

const TRIES = 100;
const WAIT_MS = 100;
const URL = "https://hooks.example.com/accountability";

export async function playWebhooks(stage: Stage): Promise<void> {
  const receiver = createServer((request, response) => {
    request.resume();
    response.end("thanks");
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  try {
    await play(stage, `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`);
  } finally {
    receiver.close();
    receiver.closeAllConnections();
  }
}

async function play(stage: Stage, here: string): Promise<void> {
  const created = await stage.show("createWebhook", {
    body: { url: URL, event_types: ["transaction.settled", "dispute.filed"], description: "The ledger" },
  });
  const params = { webhook_id: pickValue<string>(created, "webhook_id") };
  await stage.show("listWebhooks", { query: { limit: "1" } });
  await stage.show("getWebhook", { params });
  await stage.show("rotateWebhookSecret", { params, body: { grace_hours: 24 } });
  // The URL in the examples has no receiver, so the deliveries go to the receiver on this machine.
  await stage.ask("patchWebhook", { params, body: { url: here } });
  const sent = await stage.show("testWebhook", { params });
  for (let tried = 0; ; tried++) {
    const listed = await stage.show("listDeliveries", { params, query: { limit: "1" } });
    if (pickValue<string>(listed, "data.0.status") === "delivered") break;
    must(tried < TRIES, "the test event was not delivered");
    await sleep(WAIT_MS);
  }
  await stage.show("redeliver", { params: { ...params, delivery_id: pickValue<string>(sent, "delivery_id") } });
  await stage.show("replayEvents", { params, body: { since: pickValue<string>(sent, "event_id") } });
  await stage.show("patchWebhook", { params, body: { url: URL, event_types: ["*"] } });
  await stage.show("deleteWebhook", { params });
}
