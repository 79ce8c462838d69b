// Facilitation by payment, the form of AEA/P clients (FAC-1, FAC-8): the payment finds its intent by the settled amount, so the chain is
// asked before the first trip, but never for a caller that has shown only a certificate (FAC-3).
import type { AgentCall } from "../call.ts";
import type { Settled } from "../chain/gateway.ts";
import { intentHash } from "../chain/hashes.ts";
import { findNetwork, type Network } from "../chain/networks.ts";
import { present, readBatch } from "../db/batch.ts";
import type { IntentRow } from "../db/tables/money.ts";
import { environmentOf, findPublicAgent } from "../identity/store.ts";
import { findNamedIntentOf, findOpenIntentOf } from "../intents/store.ts";
import { judgePayment, type Mined, minedOf, type Pair, settlementsOf, unverified } from "./evidence.ts";
import { proveParty, refuseMixed, refuseOutsiders } from "./parties.ts";
import { recordSettlement } from "./record.ts";
import type { FacilitationView } from "./schema.ts";
import { findEscrow, findFacilitatedPair, findTimedBuyer, findUsedSettlements } from "./store.ts";
import { toFacilitationView } from "./views.ts";
import { requireWallet } from "./wallet.ts";

type PaymentClaim = { readonly txHash: string; readonly network: Network; readonly pair: Pair };

/** `network` as the body names it. */
type Claimed = Omit<PaymentClaim, "network"> & { readonly network: string };

export async function facilitatePayment(call: AgentCall, claimed: Claimed): Promise<FacilitationView> {
  const { pair, txHash } = claimed;
  await refuseOutsiders(call, pair);
  await proveParty(call, pair, pair);
  const network = findNetwork(call.deps.config.networks, claimed.network);
  if (!network) return refuseNetwork(call);
  const claim = { ...claimed, network };
  const reading = await call.deps.chain.readSettlement(network.network, txHash);
  const early = reading.ok && reading.value.state === "mined" ? reading.value : null;
  const [settled] = early ? settlementsOf(early, network, pair) : [];
  const { open, known, used, provider, consumer, escrow, caller } = await readFacts(call, claim, early, settled);
  refuseMixed([caller.environment, open?.environment, provider?.agent.environment, consumer?.environment]);
  // An identical retry: the same transaction for the same pair.
  if (known) return toFacilitationView(call.deps.config, known);

  const mined = minedOf(network, reading);
  if (!settled) throw unverified(mined.settlements.length === 0 ? "no_settlement" : "other_parties");
  const minedAt = mined.minedAt + call.ahead;
  const intent = await intentPaid(call, claim, open ?? null, settled, minedAt);
  if (!intent || !provider || !consumer) throw unverified("no_matching_intent");
  const settlement = judgePayment(network, mined, intent, used, { minedAt, now: call.now });
  await requireWallet(call, { ...intent, settlement, minedAt: mined.minedAt }, escrow);
  const evidence = { network, txHash, mined, minedAt, settlement, intent, provider, consumer, escrow };
  return recordSettlement(call, evidence);
}

/** Refuses a network that the service does not know, once the caller is judged. */
async function refuseNetwork(call: AgentCall): Promise<never> {
  await call.read({});
  throw unverified("network");
}

/** The first trip. No read grows with any history. */
function readFacts(call: AgentCall, claim: PaymentClaim, early: Mined | null, settled: Settled | undefined) {
  const { db, now } = call;
  const { network, pair, txHash } = claim;
  const { providerDid, consumerDid } = pair;
  const reads = present({
    open: early && settled ? findOpenIntentOf(db, paidBy(claim, settled, early.minedAt + call.ahead), now) : null,
    known: findFacilitatedPair(db, txHash, network.network, pair),
    used: findUsedSettlements(db, txHash, network.network),
    provider: findPublicAgent(db, providerDid),
    consumer: findTimedBuyer(db, consumerDid),
    escrow: findEscrow(db, providerDid, environmentOf(providerDid), network.network),
  });
  return call.read(reads, { clock: ({ consumer }) => consumer?.clockOffsetMs });
}

const paidBy = ({ network, pair }: PaymentClaim, settled: Settled, minedAt: number) => ({
  ...pair,
  network: network.network,
  amount: Number(settled.gross),
  minedAt,
});

/** A payment that names its intent settles that one, also behind a newer one of the same amount, at the cost of a further trip (FAC-8). */
async function intentPaid(
  call: AgentCall,
  claim: PaymentClaim,
  newest: IntentRow | null,
  settled: Settled,
  minedAt: number,
): Promise<IntentRow | null> {
  const isNamed = (intentId: string) => intentHash(intentId) === settled.intentHash;
  if (settled.intentHash === null || (newest && isNamed(newest.intentId))) return newest;
  const by = paidBy(claim, settled, minedAt);
  const { named } = await readBatch(call.db, { named: findNamedIntentOf(call.db, by, isNamed, call.now) });
  return named ?? newest;
}
