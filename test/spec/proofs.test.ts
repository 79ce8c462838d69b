// A consumer's bound proof that the provider presents, and a management key on agents' routes, over HTTP (PRF-6 to PRF-8, CRED-3).
import { beforeAll, describe, expect, it } from "vitest";
import { payOnChain } from "../support/chain.ts";
import { type Agent, createWorld, expectStatus, type Reply, type World } from "../support/world.ts";

let world: World;
let provider: Agent;
let consumer: Agent;
beforeAll(async () => {
  world = await createWorld();
  provider = await world.provider();
  consumer = await world.consumer();
});

const send = (method: string, path: string, headers: Record<string, string>, body?: unknown): Promise<Reply> =>
  world.call(method, path, { key: null, headers, ...(body !== undefined && { body }) });
const outcome = ({ status, body }: Reply) => [status, body.code, body.type];

describe("PRF-6: a consumer's proof that the provider presents", () => {
  it("facilitates, and after that can neither confirm the task, nor make an intent, nor facilitate another payment", async () => {
    const intent = await world.intent(consumer, provider, "2.00");
    const payment_tx = await payOnChain(consumer.did, provider.did, 2_000_000, { intentId: intent.intent_id });
    const captured = await world.proveBound(consumer, provider.did);
    const claim = { intent_id: intent.intent_id, payment_tx };
    const { task_id } = expectStatus(await send("POST", "/v1/facilitate", captured, claim), 200);

    const refused = [401, "aeap_verification_failed", undefined];
    const order = { consumer_did: consumer.did, provider_did: provider.did, amount: "1.00", currency: "USDC" };
    expect(outcome(await send("POST", `/v1/tasks/${task_id}/confirm`, captured, { outcome: "confirmed" }))).toEqual(
      refused,
    );
    expect(outcome(await send("POST", "/v1/payment-intents", captured, order))).toEqual(refused);
    expect(outcome(await send("GET", `/v1/tasks/${task_id}`, captured))).toEqual(refused);

    const second = await world.intent(consumer, provider, "3.00");
    const paid = await payOnChain(consumer.did, provider.did, 3_000_000, { intentId: second.intent_id });
    const again = { intent_id: second.intent_id, payment_tx: paid };
    expect(outcome(await send("POST", "/v1/facilitate", captured, again))).toEqual([
      401,
      "aeap_verification_failed",
      "replay",
    ]);
    const task = expectStatus(await world.as(consumer, "GET", `/v1/tasks/${task_id}`), 200);
    expect(task.status).toBe("open");
  });

  it("does not confirm anything either if it was never used to facilitate", async () => {
    const intent = await world.intent(consumer, provider, "4.00");
    const payment_tx = await payOnChain(consumer.did, provider.did, 4_000_000, { intentId: intent.intent_id });
    const claim = { intent_id: intent.intent_id, payment_tx };
    const { task_id } = expectStatus(await world.as(provider, "POST", "/v1/facilitate", claim), 200);
    const captured = await world.proveBound(consumer, provider.did);
    const reply = await send("POST", `/v1/tasks/${task_id}/confirm`, captured, { outcome: "confirmed" });
    expect(outcome(reply)).toEqual([401, "aeap_verification_failed", undefined]);
  });
});

describe("PRF-6: a proof bound to the service itself", () => {
  it("is accepted on intents, once", async () => {
    const { service_did } = expectStatus(await send("GET", "/.well-known/aeap", {}), 200);
    const headers = await world.proveBound(consumer, service_did);
    const order = { consumer_did: consumer.did, provider_did: provider.did, amount: "1.00", currency: "USDC" };
    expectStatus(await send("POST", "/v1/payment-intents", headers, order), 201);
    expect(outcome(await send("POST", "/v1/payment-intents", headers, order))).toEqual([
      401,
      "aeap_verification_failed",
      "replay",
    ]);
  });
});

describe("CRED-3: a management key on an agent's call is rejected", () => {
  it.each([
    ["POST", "/v1/payment-intents"],
    ["GET", "/v1/payment-address?market=DE-USDC&network=base-sepolia"],
    ["POST", "/v1/facilitate"],
    ["GET", "/v1/tasks/tsk_nothing"],
    ["POST", "/v1/tasks/tsk_nothing/confirm"],
  ])("%s %s: 401 certificate_required", async (method, path) => {
    const reply = await world.call(method, path, method === "POST" ? { body: {} } : {});
    expect(outcome(reply)).toEqual([401, "certificate_required", undefined]);
  });

  it("and an agent's headers are refused on management calls: 401 invalid_credentials", async () => {
    const headers = await world.prove(consumer, "GET", "/v1/agents");
    expect(outcome(await send("GET", "/v1/agents", headers))).toEqual([401, "invalid_credentials", undefined]);
  });
});
