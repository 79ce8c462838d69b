// Proves that the caller may facilitate: either agent of the pair as itself, or any caller with the consumer's proof bound to the provider (FAC-2).
// Also checks that the payment went to a wallet that the service had registered (FAC-17).
import { type AgentCall, type Precheck, precheck } from "../call.ts";
import type { Settled } from "../chain/gateway.ts";
import { ServiceError } from "../core/errors.ts";
import type { Environment } from "../core/vocabulary.ts";
import { commit, dropAbsentReads, readBatch } from "../db/batch.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { wasRegistered } from "../escrow/former-wallets.ts";
import { findIsWalletNamed } from "../escrow/wallet-store.ts";
import { findMarketsEverywhere } from "../identity/store.ts";
import { findIntent } from "../intents/store.ts";
import { raiseAlert } from "../journal/alerts.ts";
import { type Mined, type Pair, toUnansweredError, toUnverifiedError } from "./evidence.ts";
import type { NamedParties } from "./schema.ts";

/** The DIDs that a body names, which are checked against the stored pair. */
export type ClaimedParties = { readonly [K in keyof Pair]?: Pair[K] | undefined };

/** Throws if the caller is neither agent of the pair, or its proof does not count here. */
export async function proveParty(call: AgentCall, pair: Pair, said: ClaimedParties): Promise<void> {
  await proveCaller(call, findCallee(call, pair, said));
  const isProvider = call.did === pair.providerDid;
  if (!isProvider && call.did !== pair.consumerDid) throw new ServiceError("forbidden");
  const own = isProvider ? said.providerDid : said.consumerDid;
  if (own !== undefined && own !== call.did) throw await call.unproven();
  const other = isProvider ? said.consumerDid : said.providerDid;
  if (other !== undefined && other !== (isProvider ? pair.consumerDid : pair.providerDid)) {
    throw toUnverifiedError("other_parties");
  }
}

/**
 * The agent to which the caller's proof may be bound: the provider, if the caller is the intent's consumer; if the intent is another's or does not
 * exist, the provider that the body names. A certificate alone must not reveal whose intent it is (PRF-11).
 */
function findCallee(call: AgentCall, pair: Pair | null, said: ClaimedParties): string | undefined {
  if (call.did === pair?.consumerDid) return pair.providerDid;
  return call.did === pair?.providerDid ? undefined : said.providerDid;
}

/** Throws unless the caller has proven itself, or its proof is bound to this agent. */
async function proveCaller(call: AgentCall, calleeDid: string | undefined): Promise<void> {
  if (call.proven) return;
  if (calleeDid === undefined) throw await call.unproven();
  await call.proveBoundTo(calleeDid);
}

/** Refuses a caller that is neither of the agents that the body names (FAC-3). */
export async function refuseOutsiders(call: AgentCall, { providerDid, consumerDid }: Pair): Promise<void> {
  if (call.did !== providerDid && call.did !== consumerDid) throw await call.unproven();
}

/** Refuses an unknown intent. Only a proven caller learns that it does not exist (PRF-11). */
export async function refuseUnknownIntent(call: AgentCall, said: ClaimedParties): Promise<never> {
  await proveCaller(call, findCallee(call, null, said));
  throw new ServiceError("not_found");
}

/** Finds the agent that verifies a bound proof when the schema refuses the body (FAC-3). */
export function precheckFacilitation(call: AgentCall, { intentId, providerDid }: NamedParties): Precheck {
  const reads = dropAbsentReads({ intent: intentId === undefined ? null : findIntent(call.db, intentId) });
  return {
    ...precheck(reads, () => []),
    calleeOf: ({ intent }: { intent?: Pair | null }) => findCallee(call, intent ?? null, { providerDid }),
  };
}

/** Refuses a call that mixes objects of both environments (ACC-8). */
export function refuseMixed(environments: readonly (Environment | undefined)[]): void {
  if (new Set(environments.filter((one) => one !== undefined)).size > 1) throw new ServiceError("environment_mismatch");
}

// ---- The paid wallet -------------------------------------------------------------------------------------------------------

type PaidSettlement = {
  readonly providerDid: string;
  readonly network: string;
  readonly settlement: Pick<Settled, "operationalWallet">;
  readonly mined: Mined;
  /** The block up to which the follower has booked. */
  readonly bookedBlock: number | null;
};

/**
 * Throws unless the service had registered the paid wallet, in force at the payment's block. The contract pays the wallet that it has stored, and a
 * stolen registrar key could have changed that one.
 */
export async function requireWallet(call: AgentCall, paid: PaidSettlement, escrow: EscrowRow | null): Promise<void> {
  const { db } = call;
  const { providerDid, network, settlement, mined, bookedBlock } = paid;
  const wallet = settlement.operationalWallet;
  if (escrow && wasRegistered(escrow, wallet, mined.minedAt)) return;
  const { markets, named } = await readBatch(db, {
    markets: findMarketsEverywhere(db, providerDid),
    named: findIsWalletNamed(db, { did: providerDid, network, wallet }),
  });
  if (named) return;
  // The contract may already have a wallet that its markets still wait for.
  const requested = markets.some(
    (row) =>
      row.network === network && row.status !== "FAILED" && [row.operationalWallet, row.pendingWallet].includes(wallet),
  );
  if (requested) return;
  if ((bookedBlock ?? 0) < mined.blockNumber) return awaitFollower(call, network);
  const registered = escrow?.operationalWallet ?? null;
  await commit(db, [
    raiseAlert(db, {
      kind: "operational_wallet",
      subject: `${providerDid} on ${network}`,
      message:
        `A payment in block ${mined.blockNumber} went to ${wallet}. The service has ${registered ?? "no wallet"} for this provider, and no wallet of ` +
        "the provider changed it on-chain. The change came through the authority: if this service did not request it, the registrar's key may be " +
        "compromised.",
    }),
  ]);
  throw toUnverifiedError("other_wallet", {
    paid_wallet: wallet,
    registered_wallet: registered,
    block: mined.blockNumber,
    confirmed_by: null,
  });
}

/** Sends the follower, which may not have read yet that a wallet of the provider named this one, and refuses for now. */
function awaitFollower(call: AgentCall, network: string): never {
  call.background(call.deps.env.CHAIN_QUEUE.send({ kind: "follow_chain", network }).catch(() => undefined));
  throw toUnansweredError("wallet_unread");
}
