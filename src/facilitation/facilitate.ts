// Facilitates a payment (FAC-1): the body decides between the two forms, by intent (by-intent.ts) and by payment (by-payment.ts).
import type { AgentCall } from "../call.ts";
import { parseTxHash } from "../chain/hashes.ts";
import { findNetwork } from "../chain/networks.ts";
import { facilitateIntent } from "./by-intent.ts";
import { facilitatePayment } from "./by-payment.ts";
import { unverified } from "./evidence.ts";
import { refusedUnproven } from "./parties.ts";
import type { FacilitationInput, FacilitationView } from "./schema.ts";

export async function facilitate(call: AgentCall, input: FacilitationInput): Promise<FacilitationView> {
  const { intent_id: intentId, provider_did: providerDid, consumer_did: consumerDid } = input;
  const txHash = parseTxHash(input.payment_tx ?? input.tx_hash ?? "");
  if (txHash === undefined) throw new Error("unreachable: the schema checks the hash");
  const network = input.network === undefined ? null : findNetwork(call.deps.config.networks, input.network);
  if (input.network !== undefined && !network) throw await refusedUnproven(call, unverified("network"));
  if (intentId !== undefined) {
    const said = { providerDid, consumerDid };
    return facilitateIntent(call, { intentId, txHash, network, said });
  }
  if (!network || providerDid === undefined || consumerDid === undefined) {
    throw new Error("unreachable: the rules check the form");
  }
  const pair = { providerDid, consumerDid };
  return facilitatePayment(call, { txHash, network, pair });
}
