// Reads an intent for its parties (PAY-17), lists an agent's own intents (PAY-22), and maps rows to the shapes of responses.ts (PAY-2).
import { type AgentCall, type Precheck, precheck, readPage } from "../call.ts";
import { type Hash, hashDid, hashIntent } from "../chain/hashes.ts";
import { formatTokenUnits, type Network, requireNetwork, toCaip2 } from "../chain/networks.ts";
import type { Config } from "../context.ts";
import { measureAhead, toIso, toIsoOrNull } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { SECOND_MS, SETTLEMENT_FEE_BPS_MAX } from "../core/limits.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import type { IntentRow } from "../db/tables/money.ts";
import { listIntents } from "../intents/list-store.ts";
import { hasHoldEnded, toEffectiveIntentStatus } from "../intents/states.ts";
import { findIntent, findIntentFor } from "../intents/store.ts";
import { computeSettlementKey, encodeSettle } from "../protocol/payment.ts";
import { refuseStrangers } from "./order.ts";
import type { AddressView, IntentView } from "./responses.ts";
import type { IntentQuery } from "./schema.ts";

export async function getIntent(call: AgentCall, intentId: string): Promise<IntentView> {
  const { intent } = await call.read(
    { intent: findIntentFor(call.db, intentId, call.did, call.now) },
    { clock: (found) => found.intent?.clockOffsetMs },
  );
  refuseNonParties(call, intent);
  const seen = intent.readThrough === null ? null : intent.readThrough + call.ahead;
  const released = hasHoldEnded(intent, seen);
  return toIntentView(call.deps.config, intent, call.now, { released, confirmBy: intent.confirmBy });
}

/** Refuses an unknown intent (404) and a stranger to it (403) before 422. */
export const precheckIntentReading = (call: AgentCall, intentId: string): Precheck =>
  precheck({ intent: findIntent(call.db, intentId) }, ({ intent }) => {
    refuseNonParties(call, intent);
    return [];
  });

export function refuseNonParties<I extends IntentRow>(call: AgentCall, intent: I | null): asserts intent is I {
  if (!intent) throw new ServiceError("not_found");
  refuseStrangers(call, intent);
}

export async function getIntents(call: AgentCall, query: IntentQuery): Promise<Page<IntentView>> {
  const { db, deps, did } = call;
  const { status, role } = query;
  const page = await readPage(call, query, hashListing("intents", [did], { status, role }));
  const real = deps.clock.now();
  const { intents } = await call.read({ intents: listIntents(db, did, { status, role }, real, page) });
  return toPage(
    intents,
    page,
    ({ createdAt, intentId }) => ({ at: createdAt, id: intentId }),
    (intent) => {
      // Each intent is judged on its own clock, and block times are shifted to that clock too.
      const offset = intent.clockOffsetMs ?? 0;
      const seen = intent.readThrough === null ? null : intent.readThrough + measureAhead(deps.clock) + offset;
      const shown = { released: hasHoldEnded(intent, seen), confirmBy: intent.confirmBy };
      return toIntentView(deps.config, intent, real + offset, shown);
    },
  );
}

// ---- Views -----------------------------------------------------------------------------------------------------------------

type IntentExtras = {
  /** The hold has ended, though no job has recorded this yet. */
  readonly released?: boolean;
  /** The end of its task's window. */
  readonly confirmBy?: number | null;
};

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

const toPaymentView = ({ paymentTx, paidAt }: IntentRow): IntentView["payment"] =>
  paymentTx === null || paidAt === null ? null : { tx_hash: paymentTx, mined_at: toIso(paidAt) };

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
