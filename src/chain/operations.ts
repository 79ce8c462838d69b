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

/** The purpose under which the signer keeps the transactions of a provider's split. */
export const splitPurpose = (did: string): string => `provider_split:${did}`;

/**
 * Drives a provider's split until the contract has it and no transaction waits that would change its wallet, or until the time is over
 * (epoch ms, real time).
 */
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
  const purpose = splitPurpose(did);
  // A threshold waits for a wallet that is on its way; a wallet replaces whatever was wanted before.
  const place = split.wallet === null ? "behind" : "instead";
  let txHash: string | null = null;
  for (let round = 0; round < ROUNDS; round++) {
    const planned = await chain.planSplit(network, wanted);
    if (!planned.ok) return { state: "waiting", reason: "chain_unavailable", txHash };
    const plan = planned.value;
    if (plan.state === "impossible") return { state: "failed", reason: plan.reason, txHash };
    if (plan.state === "done") {
      const { onChain } = plan;
      // After a transaction of its own, nothing else waits for this purpose.
      const cleared =
        place === "behind" || txHash !== null || (await withdraw({ chain, signer }, network, purpose, until));
      if (cleared === true) return { state: "done", onChain, txHash };
      if (cleared === false) continue;
      return cleared;
    }
    const sent = await signer.submit(purpose, plan.call, place, until);
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

/** True when nothing waits for the purpose. False when the contract may just have changed, so that it has to be planned again. */
async function withdraw(
  { chain, signer }: ChainTools,
  network: string,
  purpose: string,
  until: number,
): Promise<boolean | Extract<Driven, { state: "waiting" }>> {
  const waiting = (reason: WaitingFor) => ({ state: "waiting", reason, txHash: null }) as const;
  const left = await signer.withdraw(purpose, until);
  if (!left.ok) return waiting("chain_unavailable");
  if (left.value.state === "waiting") return waiting(left.value.reason);
  if (left.value.state !== "submitted") return left.value.state === "clear";
  const seen = await chain.waitForReceipt(network, left.value.txHash, Math.max(0, until - systemClock.now()));
  if (!seen.ok) return waiting("chain_unavailable");
  return seen.value.state === "waiting" ? waiting("mining") : false;
}

/** A receipt alone proves nothing: the contract's state counts. */
async function says(chain: ChainGateway, network: string, wanted: WantedSplit): Promise<boolean> {
  const planned = await chain.planSplit(network, wanted);
  return planned.ok && planned.value.state === "done";
}

/** The operation's progress, for the caller's batch. The contract is looked at again, however it ended. */
export function recordOperation(
  db: Database,
  key: OperationKey,
  { wallet, threshold }: Split,
  driven: Driven,
  now: number,
): Statement {
  const { state, txHash } = driven;
  const reason = driven.state === "done" ? null : driven.reason;
  const wanted = { wallet, threshold: String(threshold) };
  return putOperation(db, key, { wanted, status: state, reason, txHash, nextCheckAt: firstCheck(now) }, now);
}

export const firstCheck = (now: number): number => now + CHECKS_AFTER_MINUTES[0] * MINUTE_MS;

/** When an operation with so many checks is checked again; null when its block is deep enough. */
export function nextCheck(checks: number, now: number): number | null {
  const [last, next] = [CHECKS_AFTER_MINUTES[checks - 1], CHECKS_AFTER_MINUTES[checks]];
  return last === undefined || next === undefined ? null : now + (next - last) * MINUTE_MS;
}
