// Maps rows to the shapes of schema.ts: the data that a payer needs, and the on-chain hashes of the parties (PAY-2).
import { type Hash, hashDid, hashIntent } from "../chain/hashes.ts";
import { formatTokenUnits, type Network, requireNetwork, toCaip2 } from "../chain/networks.ts";
import type { Config } from "../context.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { SECOND_MS, SETTLEMENT_FEE_BPS_MAX } from "../core/limits.ts";
import type { IntentRow } from "../db/tables/money.ts";
import { toEffectiveIntentStatus } from "../intents/states.ts";
import { computeSettlementKey, encodeSettle } from "../protocol/payment.ts";
import type { AddressView, IntentView } from "./responses.ts";

type Place = Omit<AddressView, "intent_id" | "expires_at">;

export const toAddressView = (network: Network): Place => ({
  contract: network.settlement_contract,
  token: network.token,
  chain_id: network.chain_id,
  currency: network.currency,
  decimals: network.decimals,
  network: network.network,
  caip2: toCaip2(network),
});

export const toIntentAddressView = (config: Config, intent: IntentRow): AddressView => ({
  ...toAddressView(requireNetwork(config.networks, intent.network)),
  intent_id: intent.intentId,
  expires_at: toIso(intent.expiresAt),
});

const toPaymentView = ({ paymentTx, paidAt }: IntentRow): IntentView["payment"] =>
  paymentTx === null || paidAt === null ? null : { tx_hash: paymentTx, mined_at: toIso(paidAt) };

type IntentExtras = {
  /** The hold has ended, though no job has recorded this yet. */
  readonly released?: boolean;
  /** The end of its task's window. */
  readonly confirmBy?: number | null;
};

type IntentHashes = Readonly<Record<"providerDidHash" | "consumerDidHash" | "intentHash", Hash>>;

/**
 * The ready `settle` call of an open intent that names its payer, who also gets the refunds: at the contract's highest fee, until the intent's end
 * (PAY-25).
 */
function toSettleCall(network: Network, intent: IntentRow, named: IntentHashes, now: number): IntentView["call"] {
  const { amount, payer, operationalWallet, expiresAt } = intent;
  if (payer === null || toEffectiveIntentStatus(intent, now) !== "OPEN") return null;
  const data = encodeSettle({
    ...named,
    token: network.token as Hash,
    amount: BigInt(amount),
    operationalWallet: operationalWallet as Hash,
    maxFeeBps: SETTLEMENT_FEE_BPS_MAX,
    deadline: BigInt(Math.floor(expiresAt / SECOND_MS)),
    refundTo: payer as Hash,
  });
  return { to: network.settlement_contract, data, value: "0" };
}

export function toIntentView(
  config: Config,
  intent: IntentRow,
  now: number,
  { released = false, confirmBy = null }: IntentExtras = {},
): IntentView {
  const network = requireNetwork(config.networks, intent.network);
  const [providerDidHash, consumerDidHash] = [hashDid(intent.providerDid), hashDid(intent.consumerDid)];
  const hash = hashIntent(intent.intentId, intent.payer);
  const named = { providerDidHash, consumerDidHash, intentHash: hash };
  return {
    intent_id: intent.intentId,
    status: toEffectiveIntentStatus(intent, now),
    amount: formatTokenUnits(network, intent.amount),
    amount_base_units: String(intent.amount),
    ...toAddressView(network),
    provider_did: intent.providerDid,
    consumer_did: intent.consumerDid,
    operational_wallet: intent.operationalWallet,
    provider_did_hash: providerDidHash,
    consumer_did_hash: consumerDidHash,
    intent_hash: hash,
    payment: toPaymentView(intent),
    hold_released: intent.status === "ABANDONED" || released,
    settlement_key: computeSettlementKey({ ...named, token: network.token, amount: BigInt(intent.amount) }),
    expires_at: toIso(intent.expiresAt),
    cancelled_at: toIsoOrNull(intent.cancelledAt),
    payer: intent.payer,
    call: toSettleCall(network, intent, named, now),
    task_id: intent.taskId,
    confirm_by: toIsoOrNull(confirmBy),
  };
}
