// Facilitates a payment (FAC-1). The body decides between the two forms: by intent, and by payment, the form of AEA/P clients.
import type { AgentCall } from "../call.ts";
import type { Settled } from "../chain/gateway.ts";
import { hashDid, parseTxHash } from "../chain/hashes.ts";
import { findNetwork, type Network, needsBothNodes, requireNetwork } from "../chain/networks.ts";
import { type Database, dropAbsentReads, type Read } from "../db/batch.ts";
import { findEscrowOn } from "../escrow/changes.ts";
import { findSeller, findSellerOf } from "../identity/authority-store.ts";
import {
  findIntentsPaidBy,
  findIntentsPaidOnSameNetwork,
  findNamedIntent,
  findOpenIntentOf,
  type PaidIntent,
} from "../intents/find-store.ts";
import {
  filterSettlements,
  findBoundLog,
  findMinedAt,
  judgeByTwo,
  judgePayment,
  type Mined,
  type Pair,
  requireMined,
  toUnverifiedError,
} from "./evidence.ts";
import {
  type ClaimedParties,
  proveParty,
  refuseMixed,
  refuseOutsiders,
  refuseUnknownIntent,
  requireWallet,
} from "./parties.ts";
import { recordSettlement } from "./record.ts";
import type { FacilitationView } from "./responses.ts";
import type { FacilitationInput } from "./schema.ts";
import { findBuyerOf, findFacilitatedPair, findIntentToSettle, findTimedBuyer, findUsedSettlements } from "./store.ts";
import { toFacilitationView } from "./views.ts";

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

// ---- By intent -------------------------------------------------------------------------------------------------------------

type IntentClaim = {
  readonly intentId: string;
  readonly txHash: string;
  /** The network that the body names. */
  readonly network: string | undefined;
  readonly said: ClaimedParties;
};

/** Checks the other members of the body against the stored intent. */
async function facilitateIntent(call: AgentCall, claim: IntentClaim): Promise<FacilitationView> {
  const { intentId, txHash } = claim;
  const { config, chain } = call.deps;
  const { intent, used, bound, provider, consumer, caller } = await readIntentFacts(call, claim);
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
function readIntentFacts(call: AgentCall, { intentId, txHash }: IntentClaim) {
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

// ---- By payment ------------------------------------------------------------------------------------------------------------

type PaymentClaim = { readonly txHash: string; readonly network: Network; readonly pair: Pair };

/** `network`: as the body names it. */
type ClaimedPayment = Omit<PaymentClaim, "network"> & { readonly network: string };

/**
 * The settled amount finds the intent (FAC-8), so the chain is read before the first trip, but never for a caller that has shown only a certificate
 * (FAC-3).
 */
async function facilitatePayment(call: AgentCall, claimed: ClaimedPayment): Promise<FacilitationView> {
  const { pair, txHash } = claimed;
  await refuseOutsiders(call, pair);
  await proveParty(call, pair, pair);
  const network = findNetwork(call.deps.config.networks, claimed.network);
  if (!network) return refuseNetwork(call);
  const claim = { ...claimed, network };
  const { chain } = call.deps;
  const reading = await chain.readSettlement(network.network, txHash, hashDid(pair.providerDid));
  const early = reading.ok && reading.value.state === "mined" ? reading.value : null;
  const ofPair = early ? filterSettlements(early, network, pair) : [];
  const [settled] = ofPair;
  const [{ known, used, bound, provider, consumer, caller, ...found }, second] = await Promise.all([
    readPaymentFacts(call, claim, early, settled),
    ofPair.some(({ gross }) => needsBothNodes(network, gross))
      ? chain.readSettlementAgain(network.network, txHash, hashDid(pair.providerDid))
      : undefined,
  ]);
  // The intent to which the follower has bound the payment comes first.
  const intent = bound.find((one) => findBoundLog(one, txHash) === settled?.logIndex) ?? found.intent;
  refuseMixed([caller.environment, intent?.environment, provider?.agent.environment, consumer?.environment]);
  // An identical retry: the same transaction for the same pair.
  if (known) return toFacilitationView(call.deps.config, known);

  const own = bound.filter((one) => one.providerDid === pair.providerDid && one.consumerDid === pair.consumerDid);
  const judged = await judgeByTwo(call, { network, txHash, reading, second, bound: own }, (reading) => {
    const mined = requireMined(network, reading);
    if (!settled) throw toUnverifiedError(mined.settlements.length === 0 ? "no_settlement" : "other_parties");
    if (!intent || !provider || !consumer) throw toUnverifiedError("no_matching_intent");
    const minedAt = findMinedAt(intent, txHash, mined, call.ahead);
    const at = { txHash, minedAt, now: call.now, bound, provider: provider.agent };
    const settlement = judgePayment(network, mined, intent, used, at);
    return { mined, minedAt, settlement, intent, provider, consumer };
  });
  const escrow = findEscrowOn(judged.provider.escrows, network);
  await requireWallet(call, { ...judged.intent, settlement: judged.settlement, mined: judged.mined }, escrow);
  const evidence = { network, txHash, escrow, ...judged };
  return recordSettlement(call, evidence);
}

/** Refuses an unknown network, after the caller was judged. */
async function refuseNetwork(call: AgentCall): Promise<never> {
  await call.read({});
  throw toUnverifiedError("network");
}

function readPaymentFacts(call: AgentCall, claim: PaymentClaim, early: Mined | null, settled: Settled | undefined) {
  const { db } = call;
  const { network, pair, txHash } = claim;
  const { providerDid, consumerDid } = pair;
  const reads = dropAbsentReads({
    intent: early && settled ? findIntentForPayment(call, claim, settled, early.minedAt + call.ahead) : null,
    known: findFacilitatedPair(db, txHash, network.network, pair),
    used: findUsedSettlements(db, txHash, [network.network]),
    bound: findIntentsPaidBy(db, network.network, txHash),
    provider: findSeller(db, providerDid),
    consumer: findTimedBuyer(db, consumerDid),
  });
  return call.read(reads, { clock: ({ consumer }) => consumer?.clockOffsetMs });
}

/** A payment that names its intent settles that one, however many newer ones exist; any other payment settles the newest one that it can (FAC-8). */
function findIntentForPayment(
  { db, now }: { readonly db: Database; readonly now: number },
  { network: { network }, pair }: PaymentClaim,
  { intentHash, gross, payer }: Settled,
  minedAt: number,
): Read<PaidIntent | null> {
  if (intentHash !== null) return findNamedIntent(db, intentHash);
  return findOpenIntentOf(db, { ...pair, network, amount: Number(gross), minedAt, payer }, now);
}
