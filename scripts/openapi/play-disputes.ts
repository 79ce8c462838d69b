// Disputes in the story of two agents: one that is settled, one that is conceded, one that is withdrawn, and one that an arbiter decides.
import { type Agent, boundHeaders, payOnChain, pick } from "../client.ts";
import type { Stage } from "./stage.ts";

export async function playDisputes(stage: Stage, provider: Agent, consumer: Agent): Promise<void> {
  const [settled, conceded, withdrawn, decided] = await purchases(stage, provider, consumer, 4);
  await settle(stage, provider, consumer, String(settled));
  await concede(stage, provider, consumer, String(conceded));
  await withdraw(stage, consumer, String(withdrawn));
  await decide(stage, provider, consumer, String(decided));
}

async function purchases(stage: Stage, provider: Agent, consumer: Agent, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const order = { consumer_did: consumer.did, provider_did: provider.did, amount: "10.50", currency: "USDC" };
    const intent = await stage.ask("createPaymentIntent", { as: consumer, body: order });
    const body = {
      intent_id: pick<string>(intent, "intent_id"),
      payment_tx: await payOnChain(stage.service.chain, intent),
    };
    const headers = await boundHeaders(consumer, provider);
    ids.push(pick(await stage.ask("facilitate", { headers, body }), "transaction_id"));
  }
  return ids;
}

async function filed(
  stage: Stage,
  consumer: Agent,
  transaction_id: string,
  call: Stage["show"],
): Promise<{ dispute_id: string }> {
  const body = {
    transaction_id,
    reason: "not_as_described",
    description: "The third page was not translated.",
    disputed_amount: "1.00",
  };
  const dispute = await call.call(stage, "fileDispute", { as: consumer, body });
  return { dispute_id: pick(dispute, "dispute_id") };
}

async function settle(stage: Stage, provider: Agent, consumer: Agent, id: string): Promise<void> {
  await stage.show("getFacilitationStanding", { params: { facilitation_id: id } });
  const params = await filed(stage, consumer, id, stage.show);
  const body = { message: "The third page was hard to read; we offer half.", offer_amount: "0.50" };
  await stage.show("respondToDispute", { as: provider, params, body });
  await stage.show("acceptOffer", { as: consumer, params });
}

async function concede(stage: Stage, provider: Agent, consumer: Agent, id: string): Promise<void> {
  const params = await filed(stage, consumer, id, stage.ask);
  await stage.show("concedeDispute", { as: provider, params });
}

async function withdraw(stage: Stage, consumer: Agent, id: string): Promise<void> {
  const params = await filed(stage, consumer, id, stage.ask);
  await stage.show("withdrawDispute", { as: consumer, params });
}

async function decide(stage: Stage, provider: Agent, consumer: Agent, id: string): Promise<void> {
  const params = await filed(stage, consumer, id, stage.ask);
  await stage.ask("respondToDispute", { as: provider, params, body: { message: "It was translated." } });
  const evidence = {
    description: "The file as it was delivered.",
    uri: "https://lumiere.example/evidence/4711",
    sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    media_type: "application/pdf",
    submitted_by: "consumer",
  };
  await stage.show("addDisputeEvidence", { as: consumer, params, body: evidence });
  await stage.show("escalateDispute", { as: consumer, params });
  await stage.show("listAllDisputes", { query: { limit: "1" } });
  const verdict = { resolution: "partially_upheld", refund_amount: "0.75", reason: "A page of four is missing." };
  await stage.show("resolveDispute", { params, body: verdict });
  await stage.show("getDispute", { as: consumer, params });
  await stage.show("getDisputeCase", { params });
  await stage.show("listDisputes", { query: { limit: "1" } });
  await stage.show("listDisputes", { headers: { Accept: "text/csv" } });
}
