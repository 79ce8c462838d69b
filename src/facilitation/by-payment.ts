// Facilitation by payment, the form of AEA/P clients (FAC-1, FAC-8). The settled amount finds the intent, so the chain is read before the first trip,
// but never for a caller that has shown only a certificate (FAC-3).
import type { AgentCall } from "../call.ts";
import type { Settled } from "../chain/gateway.ts";
import { hashDid } from "../chain/hashes.ts";
import { findNetwork, type Network, needsBothNodes } from "../chain/networks.ts";
import { type Database, dropAbsentReads, type Read } from "../db/batch.ts";
import { findEscrowOn } from "../escrow/changes.ts";
import { findSeller } from "../identity/owned-store.ts";
import { findNamedIntent, findOpenIntentOf, type PaidIntent } from "../intents/find-store.ts";
import { findIntentsPaidBy } from "../intents/paid-store.ts";
import {
  filterSettlements,
  findBoundLog,
  findMinedAt,
  judgePayment,
  type Mined,
  type Pair,
  requireMined,
  toUnverifiedError,
} from "./evidence.ts";
import { proveParty, refuseMixed, refuseOutsiders } from "./parties.ts";
import { recordSettlement } from "./record.ts";
import type { FacilitationView } from "./responses.ts";
import { findFacilitatedPair, findTimedBuyer, findUsedSettlements } from "./store.ts";
import { judgeByTwo } from "./two-nodes.ts";
import { toFacilitationView } from "./views.ts";
import { requireWallet } from "./wallet.ts";

type PaymentClaim = { readonly txHash: string; readonly network: Network; readonly pair: Pair };

/** `network`: as the body names it. */
type ClaimedPayment = Omit<PaymentClaim, "network"> & { readonly network: string };

export async function facilitatePayment(call: AgentCall, claimed: ClaimedPayment): Promise<FacilitationView> {
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
    readFacts(call, claim, early, settled),
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

/** Reads the facts in the first trip. No read grows with any history. */
function readFacts(call: AgentCall, claim: PaymentClaim, early: Mined | null, settled: Settled | undefined) {
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
