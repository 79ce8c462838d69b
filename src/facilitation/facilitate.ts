// Facilitates a payment (FAC-1). The body decides between the two forms: by intent (by-intent.ts) and by payment (by-payment.ts).
import type { AgentCall } from "../call.ts";
import { parseTxHash } from "../chain/hashes.ts";
import { facilitateIntent } from "./by-intent.ts";
import { facilitatePayment } from "./by-payment.ts";
import type { FacilitationView } from "./responses.ts";
import type { FacilitationInput } from "./schema.ts";

export async function facilitate(call: AgentCall, input: FacilitationInput): Promise<FacilitationView> {
  const { intent_id: intentId, provider_did: providerDid, consumer_did: consumerDid, network } = input;
  const txHash = parseTxHash(input.payment_tx ?? input.tx_hash ?? "");
  if (txHash === undefined) throw new Error("unreachable: the schema checks the hash");
  if (intentId !== undefined) {
    const said = { providerDid, consumerDid };
    return facilitateIntent(call, { intentId, txHash, network, said });
  }
  if (network === undefined || providerDid === undefined || consumerDid === undefined) {
    throw new Error("unreachable: the rules check the form");
  }
  return facilitatePayment(call, { txHash, network, pair: { providerDid, consumerDid } });
}
