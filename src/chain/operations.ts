// Chain operations (CHN-14). An operation names the state that the contract should have, and is done when the contract has it, whatever
// became of a transaction. Driving it plans the next call from the contract's present state; the signer sends, resends and replaces. The
// caller commits the outcome with its own rows.
import { systemClock } from "../core/clock.ts";
import { MINUTE_MS } from "../core/limits.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { ChainGateway, ProviderOnChain, Signer, WantedSplit } from "./gateway.ts";
import { didHash } from "./hashes.ts";
import { type OperationKey, putOperation } from "./store.ts";

/** A provider's operational wallet and threshold in base units. A null wallet is left as it is. */
export type Split = { readonly wallet: string | null; readonly threshold: number };

/** `failed`: the contract refuses, and would again. `waiting`: a later run continues. */
export type Driven =
  | { readonly state: "done"; readonly onChain: ProviderOnChain; readonly txHash: string | null }
  | { readonly state: "failed"; readonly reason: string; readonly txHash: string | null }
  | { readonly state: "waiting"; readonly reason: WaitingFor; readonly txHash: string | null };

/** `mining`: a transaction is sent and not mined. */
export type WaitingFor = "mining" | "chain_unavailable" | "insufficient_gas" | "fee_above_bound" | "node_refused";

export type ChainTools = { readonly chain: ChainGateway; readonly signer: Signer };

/** A registration or a wallet, then a threshold, then a reading. More rounds mean a node that does not see its own blocks. */
const ROUNDS = 4;

/** When the contract is read again, in minutes after it first had the wanted state (CHN-19). */
const CHECKS_AFTER_MINUTES = [1, 3, 7, 15] as const;

export const splitKey = (network: string, did: string): OperationKey => ({
  network,
  kind: "provider_split",
  subject: did,
});

/** Drives a provider's split until the contract has it, or until the time is over (epoch ms, real time). */
export async function driveSplit(
  { chain, signer }: ChainTools,
  network: string,
  did: string,
  split: Split,
  until: number,
): Promise<Driven> {
  const wanted: WantedSplit = {
    providerDidHash: didHash(did),
    operationalWallet: split.wallet,
    threshold: BigInt(split.threshold),
  };
  let txHash: string | null = null;
  for (let round = 0; round < ROUNDS; round++) {
    const planned = await chain.planSplit(network, wanted);
    if (!planned.ok) return { state: "waiting", reason: "chain_unavailable", txHash };
    const plan = planned.value;
    if (plan.state === "done") return { state: "done", onChain: plan.onChain, txHash };
    if (plan.state === "impossible") return { state: "failed", reason: plan.reason, txHash };
    const sent = await signer.submit(`provider_split:${did}`, plan.call);
    if (!sent.ok) return { state: "waiting", reason: "chain_unavailable", txHash };
    // The node that planned was behind: the provider is registered, so the next plan starts from there.
    if (sent.value.state === "refused" && sent.value.reason === "ProviderExists") continue;
    if (sent.value.state === "refused") return { state: "failed", reason: sent.value.reason, txHash };
    if (sent.value.state === "waiting") return { state: "waiting", reason: sent.value.reason, txHash };
    txHash = sent.value.txHash;
    if (sent.value.state === "mined") continue;
    const seen = await chain.waitForReceipt(network, txHash, Math.max(0, until - systemClock.now()));
    if (!seen.ok) return { state: "waiting", reason: "chain_unavailable", txHash };
    if (seen.value.state === "waiting") return { state: "waiting", reason: "mining", txHash };
    if (seen.value.state === "reverted" && !(await says(chain, network, wanted))) {
      return { state: "failed", reason: "reverted", txHash };
    }
  }
  return { state: "waiting", reason: "mining", txHash };
}

/** A receipt alone proves nothing: the contract's state counts. */
async function says(chain: ChainGateway, network: string, wanted: WantedSplit): Promise<boolean> {
  const planned = await chain.planSplit(network, wanted);
  return planned.ok && planned.value.state === "done";
}

/** The operation's progress, for the caller's batch. */
export function recordOperation(
  db: Database,
  key: OperationKey,
  { wallet, threshold }: Split,
  driven: Driven,
  now: number,
): Statement {
  const { state, txHash } = driven;
  const reason = driven.state === "done" ? null : driven.reason;
  const nextCheckAt = state === "done" ? now + CHECKS_AFTER_MINUTES[0] * MINUTE_MS : null;
  const wanted = { wallet, threshold: String(threshold) };
  return putOperation(db, key, { wanted, status: state, reason, txHash, nextCheckAt }, now);
}

/** When an operation with so many checks is checked again; null when its block is deep enough. */
export function nextCheck(checks: number, now: number): number | null {
  const [last, next] = [CHECKS_AFTER_MINUTES[checks - 1], CHECKS_AFTER_MINUTES[checks]];
  return last === undefined || next === undefined ? null : now + (next - last) * MINUTE_MS;
}
