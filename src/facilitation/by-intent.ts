// Facilitation by intent (FAC-1): the body names the intent, and its other members are checked against the stored one.
import type { AgentCall } from "../call.ts";
import { hashDid } from "../chain/hashes.ts";
import { findNetwork, needsBothNodes, requireNetwork } from "../chain/networks.ts";
import { findEscrowOn } from "../escrow/changes.ts";
import { findSellerOf } from "../identity/owned-store.ts";
import { findIntentsPaidOnSameNetwork } from "../intents/paid-store.ts";
import { findMinedAt, judgePayment, requireMined, toUnverifiedError } from "./evidence.ts";
import { type ClaimedParties, proveParty, refuseMixed, refuseUnknownIntent } from "./parties.ts";
import { recordSettlement } from "./record.ts";
import type { FacilitationView } from "./responses.ts";
import { findBuyerOf, findIntentToSettle, findUsedSettlements } from "./store.ts";
import { judgeByTwo } from "./two-nodes.ts";
import { toFacilitationView } from "./views.ts";
import { requireWallet } from "./wallet.ts";

type IntentClaim = {
  readonly intentId: string;
  readonly txHash: string;
  /** The network that the body names. */
  readonly network: string | undefined;
  readonly said: ClaimedParties;
};

export async function facilitateIntent(call: AgentCall, claim: IntentClaim): Promise<FacilitationView> {
  const { intentId, txHash } = claim;
  const { config, chain } = call.deps;
  const { intent, used, bound, provider, consumer, caller } = await readFacts(call, claim);
  if (!intent) return refuseUnknownIntent(call, claim.said);
  await proveParty(call, intent, claim.said);
  const network = requireNetwork(config.networks, intent.network);
  refuseMixed([caller.environment, intent.environment, provider?.agent.environment, consumer?.environment]);
  const named = claim.network === undefined ? network : findNetwork(config.networks, claim.network);
  if (named !== network) throw toUnverifiedError("network");
  const { settled } = intent;
  // An identical retry is answered from the stored transaction; one intent has one settlement (FAC-13).
  if (settled?.transaction.txHash === txHash) return toFacilitationView(config, settled);
  if (settled) throw toUnverifiedError("intent_settled");

  const [reading, second] = await Promise.all([
    chain.readSettlement(network.network, txHash, hashDid(intent.providerDid)),
    needsBothNodes(network, intent.amount)
      ? chain.readSettlementAgain(network.network, txHash, hashDid(intent.providerDid))
      : undefined,
  ]);
  const { mined, minedAt, settlement } = await judgeByTwo(
    call,
    { network, txHash, reading, second, bound: [intent] },
    (reading) => {
      const mined = requireMined(network, reading);
      const minedAt = findMinedAt(intent, txHash, mined, call.ahead);
      const at = { txHash, minedAt, now: call.now, bound, provider: provider?.agent };
      const here = used.filter((one) => one.network === intent.network);
      return { mined, minedAt, settlement: judgePayment(network, mined, intent, here, at) };
    },
  );
  if (!provider || !consumer) throw new Error(`the intent ${intentId} has lost its agents`);
  const escrow = findEscrowOn(provider.escrows, network);
  await requireWallet(call, { ...intent, settlement, mined }, escrow);
  // The other party's state does not matter (FAC-4): the money has moved, and only a recorded settlement can be confirmed or disputed.
  const evidence = { network, txHash, mined, minedAt, settlement, intent, provider, consumer, escrow };
  return recordSettlement(call, evidence);
}

/** Reads the facts in the first trip. No read grows with any history. */
function readFacts(call: AgentCall, { intentId, txHash }: IntentClaim) {
  const { db, deps } = call;
  const everywhere = deps.config.networks.map(({ network }) => network);
  const reads = {
    intent: findIntentToSettle(db, intentId),
    used: findUsedSettlements(db, txHash, everywhere),
    bound: findIntentsPaidOnSameNetwork(db, intentId, txHash),
    provider: findSellerOf(db, intentId),
    consumer: findBuyerOf(db, intentId),
  };
  return call.read(reads, { clock: ({ intent }) => intent?.clockOffsetMs });
}
