// Specification 4, Facilitation: the consumer's proof, the settlement on-chain, the intent; then escrow, transaction, task
// and events in one batch. Order of trust: the proof, what is stored, the chain, and only then the intent against it.
import { environmentOf, findEscrows, findMarkets, findPublicAgent } from "../agents/store.ts";
import type { AgentCall } from "../call.ts";
import type { ChainGateway, ChainResult, Network, SettlementReading } from "../chain/gateway.ts";
import { intentHash, parseTxHash } from "../chain/hashes.ts";
import { ServiceError } from "../core/errors.ts";
import { present, readBatch } from "../db/batch.ts";
import { findNetwork } from "../markets/networks.ts";
import { findIntent, findNamedIntentOf, findOpenIntentOf, type IntentRow } from "../payments/store.ts";
import type { FacilitationInput, FacilitationView } from "../transactions/schema.ts";
import {
  findBuyer,
  findEscrowsOfIntent,
  findMarketsOfIntent,
  findTransactionOfIntent,
  findTransactionsOnChain,
  ofIntent,
  type TransactionRow,
} from "../transactions/store.ts";
import { toFacilitationView } from "../transactions/views.ts";
import { inTurn } from "./in-turn.ts";
import { recordSettlement } from "./record-settlement.ts";
import {
  chainTime,
  judgePayment,
  type Mined,
  minedOf,
  type Pair,
  settlementsOf,
  unverified,
} from "./settlement-evidence.ts";

/** Seed's form: the intent by name. What else the body says is held against it. */
type ByIntent = {
  readonly intentId: string;
  readonly txHash: string;
  readonly network: Network | null;
  readonly said: Partial<Pair>;
};
/** The AEA/P clients' form: the payment finds its intent. */
type ByPayment = { readonly intentId: null; readonly txHash: string; readonly network: Network; readonly said: Pair };
type Claim = ByIntent | ByPayment;
type Reading = ChainResult<SettlementReading>;

export async function facilitate(call: AgentCall, input: FacilitationInput): Promise<FacilitationView> {
  const claim = toClaim(call, input);
  const read = readOnce(call.deps.chain, claim.txHash);
  return inTurn(call.deps, async (touches) => {
    // Without an intent's name the settled amount finds it, so here the chain is asked before the first trip: but never
    // for somebody who has shown no more than a certificate, which is public.
    const early =
      claim.intentId === null ? await provePair(call, claim, claim.said).then(() => read(claim.network)) : null;
    const found = await readFacts(call, claim, early);
    const first = found.named ?? found.open ?? null;
    if (claim.intentId !== null && !found.named) throw new ServiceError("not_found");
    const seen = await provePair(call, claim, claim.intentId === null ? claim.said : (found.named ?? null));
    const replayed = seen || found.replayed;
    refuseMixed([
      found.caller.environment,
      first?.environment,
      found.provider?.agent.environment,
      found.consumer?.environment,
    ]);
    if (found.named && claim.network && claim.network.network !== found.named.network) throw unverified("network");
    const known = facilitatedBefore(claim, found.byIntent ?? null, found.onChain);
    if (known) return toFacilitationView(call.deps.config, known);
    if (replayed) throw new ServiceError("aeap_verification_failed", { type: "replay", reason: "replay" });
    if (found.byIntent) throw unverified("intent_settled");

    const network = claim.network ?? networkOf(call, first);
    const mined = minedOf(network, early ?? (await read(network)));
    if (claim.intentId === null && settlementsOf(mined, network, claim.said).length === 0) {
      throw unverified(mined.settlements.length === 0 ? "no_settlement" : "other_parties");
    }
    const { provider, consumer, markets, escrows } = found;
    const minedAt = chainTime(call.deps, mined.minedAt);
    const intent = claim.intentId === null ? await intentPaid(call, claim, first, mined, minedAt) : first;
    if (!intent || !provider || !consumer) throw unverified("no_matching_intent");
    const settlement = judgePayment(network, mined, intent, found.onChain, { minedAt, now: call.now });
    // What a party has become since the intent was opened does not matter: the money has moved, and only a recorded
    // settlement can be confirmed or disputed. An agent that is not ACTIVE cannot make this call itself; the other can.
    touches([intent.providerDid]);
    const parties = { provider, consumer, markets, escrows };
    return recordSettlement(call, { network, txHash: claim.txHash, mined, minedAt, settlement, intent, ...parties });
  });
}

function toClaim(call: AgentCall, input: FacilitationInput): Claim {
  const { intent_id, provider_did: providerDid, consumer_did: consumerDid } = input;
  const txHash = parseTxHash(input.payment_tx ?? input.tx_hash ?? "");
  const network = input.network === undefined ? null : findNetwork(call.deps.config.networks, input.network);
  if (txHash === undefined) throw new Error("unreachable: the schema checks the hash");
  if (input.network !== undefined && !network) throw unverified("network");
  if (intent_id !== undefined) {
    const said = {
      ...(providerDid !== undefined && { providerDid }),
      ...(consumerDid !== undefined && { consumerDid }),
    };
    return { intentId: intent_id, txHash, network, said };
  }
  if (!network || providerDid === undefined || consumerDid === undefined)
    throw new Error("unreachable: the rules check the form");
  return { intentId: null, txHash, network, said: { providerDid, consumerDid } };
}

/** One RPC batch a call, however often a collision makes the call decide again. */
function readOnce(chain: ChainGateway, txHash: string): (network: Network) => Promise<Reading> {
  let reading: Promise<Reading> | undefined;
  return ({ network }) => {
    reading ??= chain.readSettlement(network, txHash);
    return reading;
  };
}

/** The first trip. No read grows with anybody's history. */
function readFacts(call: AgentCall, claim: Claim, early: Reading | null) {
  const { db } = call;
  const { intentId } = claim;
  const of = intentId === null ? { ...claim.said, network: claim.network.network } : ofIntent(intentId);
  const environment = environmentOf(of.providerDid);
  const reads = present({
    named: intentId === null ? null : findIntent(db, intentId),
    open: openIntentOf(call, claim, early),
    byIntent: intentId === null ? null : findTransactionOfIntent(db, intentId),
    onChain: findTransactionsOnChain(db, claim.txHash, of.network),
    provider: findPublicAgent(db, of.providerDid),
    consumer: findBuyer(db, of.consumerDid),
    markets: intentId === null ? findMarkets(db, of.providerDid, environment) : findMarketsOfIntent(db, intentId),
    escrows: intentId === null ? findEscrows(db, of.providerDid, environment) : findEscrowsOfIntent(db, intentId),
  });
  return call.read(reads, { replays: "tell" });
}

/** The newest intent of the pair that this payment can settle: its amount is the settled gross. */
function openIntentOf(call: AgentCall, claim: Claim, early: Reading | null) {
  if (claim.intentId !== null || !early?.ok || early.value.state !== "mined") return null;
  const [settled] = settlementsOf(early.value, claim.network, claim.said);
  if (!settled) return null;
  const minedAt = chainTime(call.deps, early.value.minedAt);
  const by = { ...claim.said, network: claim.network.network, amount: Number(settled.gross), minedAt };
  return findOpenIntentOf(call.db, by, call.now);
}

/** A payment that names its intent settles that one, also behind a newer one of the same amount: then it costs a trip more. */
async function intentPaid(call: AgentCall, claim: ByPayment, newest: IntentRow | null, mined: Mined, minedAt: number) {
  const [settled] = settlementsOf(mined, claim.network, claim.said);
  const hash = settled?.intentHash ?? null;
  const isNamed = (intentId: string) => intentHash(intentId) === hash;
  if (!settled || hash === null || (newest && isNamed(newest.intentId))) return newest;
  const by = { ...claim.said, network: claim.network.network, amount: Number(settled.gross), minedAt };
  const { named } = await readBatch(call.db, { named: findNamedIntentOf(call.db, by, isNamed, call.now) });
  return named ?? newest;
}

/**
 * Who may say that this payment was made: either agent of the pair as itself, or whoever holds the consumer's proof bound
 * to the provider. Answers whether such a bound proof was seen before.
 */
async function provePair(call: AgentCall, claim: Claim, pair: Pair | null): Promise<boolean> {
  if (!pair) throw new Error("unreachable: a claim names its pair");
  const isProvider = call.did === pair.providerDid;
  const isConsumer = call.did === pair.consumerDid;
  if (!isProvider && !isConsumer) {
    // In the clients' form the body itself names another agent than the certificate does.
    if (call.proven && claim.intentId !== null) throw new ServiceError("forbidden");
    throw new ServiceError("aeap_verification_failed", { reason: "the certificate is of neither agent" });
  }
  if (!call.proven && !isConsumer) {
    throw new ServiceError("aeap_verification_failed", { reason: "not the provider's own proof" });
  }
  const seen = call.proven ? false : await call.proveBoundTo(pair.providerDid);
  const { providerDid = pair.providerDid, consumerDid = pair.consumerDid } = claim.said;
  const ownSaid = isProvider ? providerDid : consumerDid;
  if (ownSaid !== call.did) {
    throw new ServiceError("aeap_verification_failed", { reason: "the body names another agent" });
  }
  if (providerDid !== pair.providerDid || consumerDid !== pair.consumerDid) throw unverified("other_parties");
  return seen;
}

function refuseMixed(environments: readonly (string | undefined)[]): void {
  if (new Set(environments.filter((one) => one !== undefined)).size > 1) throw new ServiceError("environment_mismatch");
}

/** An identical retry: the same transaction for the same intent, or for the same pair where no intent is named. */
function facilitatedBefore(
  claim: Claim,
  byIntent: TransactionRow | null,
  onChain: readonly TransactionRow[],
): TransactionRow | null {
  if (claim.intentId !== null) return byIntent?.txHash === claim.txHash ? byIntent : null;
  const { providerDid, consumerDid } = claim.said;
  return onChain.find((row) => row.providerDid === providerDid && row.consumerDid === consumerDid) ?? null;
}

function networkOf(call: AgentCall, intent: IntentRow | null): Network {
  const network = intent && findNetwork(call.deps.config.networks, intent.network);
  if (!network) throw unverified("network");
  return network;
}
