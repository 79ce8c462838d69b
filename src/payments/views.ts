// Rows → the shapes of schema.ts. What a payer needs to pay, and what stands for the parties on-chain.
import type { Network } from "../chain/gateway.ts";
import { didHash, intentHash } from "../chain/hashes.ts";
import type { Config } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { formatAmount } from "../core/money.ts";
import { caip2Of, findNetwork } from "../markets/networks.ts";
import type { AddressView, IntentView } from "./schema.ts";
import { effectiveIntentStatus } from "./states.ts";
import type { IntentRow } from "./store.ts";

type Place = Omit<AddressView, "intent_id" | "expires_at">;

export const toAddressView = (network: Network): Place => ({
  contract: network.settlement_contract,
  token: network.token,
  chain_id: network.chain_id,
  currency: network.currency,
  decimals: network.decimals,
  network: network.network,
  caip2: caip2Of(network),
});

/** A network that was ever paid on stays in the configuration: its intents are read for good. */
function networkOf(config: Config, intent: IntentRow): Network {
  const network = findNetwork(config.networks, intent.network);
  if (!network) throw new Error(`network ${intent.network} is not configured any more`);
  return network;
}

export const toIntentAddressView = (config: Config, intent: IntentRow): AddressView => ({
  ...toAddressView(networkOf(config, intent)),
  intent_id: intent.intentId,
  expires_at: toIso(intent.expiresAt),
});

export function toIntentView(config: Config, intent: IntentRow, now: number): IntentView {
  const network = networkOf(config, intent);
  return {
    intent_id: intent.intentId,
    status: effectiveIntentStatus(intent, now),
    amount: formatAmount(intent.amount, network.decimals),
    amount_base_units: String(intent.amount),
    ...toAddressView(network),
    provider_did: intent.providerDid,
    consumer_did: intent.consumerDid,
    provider_did_hash: didHash(intent.providerDid),
    consumer_did_hash: didHash(intent.consumerDid),
    intent_hash: intentHash(intent.intentId),
    expires_at: toIso(intent.expiresAt),
  };
}
