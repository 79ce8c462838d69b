// Drives chain operations (CHN-14). An operation names the state that the contract should have, and is done when the contract has it, whatever
// happened to a transaction. Each round plans the next call from the contract's present state; the signer sends, resends and replaces. The caller
// commits the outcome with its own rows. Each kind has its own file, such as split.ts.
import { systemClock } from "../core/clock.ts";
import { MINUTE_MS } from "../core/limits.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { ChainGateway, ChainResult, Plan, Precedence, Signer } from "./gateway.ts";
import { type OperationKey, putOperation } from "./store.ts";

/** `done`: `onChain` is the contract's state. `failed`: the contract refuses, and would refuse again. `waiting`: a later run continues. */
export type DriveResult<T> =
  | { readonly state: "done"; readonly onChain: T; readonly txHash: string | null }
  | Failed
  | Waiting;
type Failed = { readonly state: "failed"; readonly reason: string; readonly txHash: string | null };
type Waiting = { readonly state: "waiting"; readonly reason: WaitingFor; readonly txHash: string | null };

export type WaitingFor = "mining" | "chain_unavailable" | "insufficient_gas" | "fee_above_bound" | "node_refused";

export type ChainTools = { readonly chain: ChainGateway; readonly signer: Signer };

export type Operation<T> = {
  readonly network: string;
  /** The signer keeps the transactions under it. Only one transaction of a purpose waits at a time. */
  readonly purpose: string;
  readonly place: Precedence;
  readonly plan: () => Promise<ChainResult<Plan<T>>>;
  /** The refusal which shows that a stale node made the plan. The operation is then planned again. */
  readonly outdated: string | null;
};

/** If an operation needs more rounds, the node does not see its own blocks. */
const ROUNDS = 4;

/** Minutes after the contract first had the wanted state at which it is read again (CHN-19). */
const CHECKS_AFTER_MINUTES = [1, 3, 7, 15] as const;

/** Drives until the contract has the state and no waiting transaction would change it, or until `until` (epoch ms, real time). */
export async function driveOperation<T>(
  { chain, signer }: ChainTools,
  { network, purpose, place, plan, outdated }: Operation<T>,
  until: number,
): Promise<DriveResult<T>> {
  let txHash: string | null = null;
  let refusedBefore: string | null = null;
  const waiting = (reason: WaitingFor): Waiting => ({ state: "waiting", reason, txHash });
  const failed = (reason: string): Failed => ({ state: "failed", reason, txHash });
  // Another run may make the same change between the plan and the call, so a refusal counts only if it is repeated.
  const isFinal = (reason: string): boolean => {
    const again = reason === refusedBefore;
    refusedBefore = reason;
    return again;
  };
  for (let round = 0; round < ROUNDS; round++) {
    const planned = await plan();
    if (!planned.ok) return waiting("chain_unavailable");
    const { value: next } = planned;
    if (next.state === "impossible") {
      if (isFinal(next.reason)) return failed(next.reason);
      continue;
    }
    if (next.state === "done") {
      // If this run sent a transaction, no other transaction waits for this purpose.
      const cleared =
        place === "behind" || txHash !== null || (await withdrawWaiting({ chain, signer }, network, purpose, until));
      if (cleared === true) return { state: "done", onChain: next.onChain, txHash };
      if (cleared === false) continue;
      return cleared;
    }
    const sent = await signer.submit(purpose, next.call, place, until);
    if (!sent.ok) return waiting("chain_unavailable");
    if (sent.value.state === "refused") {
      const { reason } = sent.value;
      if (reason !== outdated && isFinal(reason)) return failed(reason);
      continue;
    }
    if (sent.value.state === "waiting") return waiting(sent.value.reason);
    txHash = sent.value.txHash;
    if (sent.value.state === "mined") continue;
    const seen = await chain.waitForReceipt(network, txHash, Math.max(0, until - systemClock.now()));
    if (!seen.ok) return waiting("chain_unavailable");
    if (seen.value.state === "waiting") return waiting("mining");
    if (seen.value.state === "reverted" && !(await isPlannedDone(plan))) return failed("reverted");
  }
  return waiting("mining");
}

/** Returns true if nothing waits for the purpose. Returns false if the contract may just have changed, so that the caller has to plan again. */
async function withdrawWaiting(
  { chain, signer }: ChainTools,
  network: string,
  purpose: string,
  until: number,
): Promise<boolean | Waiting> {
  const waiting = (reason: WaitingFor) => ({ state: "waiting", reason, txHash: null }) as const;
  const left = await signer.withdraw(purpose, until);
  if (!left.ok) return waiting("chain_unavailable");
  if (left.value.state === "waiting") return waiting(left.value.reason);
  if (left.value.state !== "submitted") return left.value.state === "clear";
  const seen = await chain.waitForReceipt(network, left.value.txHash, Math.max(0, until - systemClock.now()));
  if (!seen.ok) return waiting("chain_unavailable");
  return seen.value.state === "waiting" ? waiting("mining") : false;
}

/** Reads the contract, because a receipt alone proves nothing. */
async function isPlannedDone<T>(plan: Operation<T>["plan"]): Promise<boolean> {
  const planned = await plan();
  return planned.ok && planned.value.state === "done";
}

/** Returns the statement that records the progress, for the caller's batch. The operation is rechecked, however it ended. */
export function recordOperation(
  db: Database,
  key: OperationKey,
  wanted: Readonly<Record<string, string | null>>,
  driven: DriveResult<unknown>,
  now: number,
): Statement {
  const { state, txHash } = driven;
  const reason = driven.state === "done" ? null : driven.reason;
  return putOperation(db, key, { wanted, status: state, reason, txHash, nextCheckAt: computeFirstCheck(now) }, now);
}

export const computeFirstCheck = (now: number): number => now + CHECKS_AFTER_MINUTES[0] * MINUTE_MS;

/** Returns the instant of the next recheck after `checks` rechecks; null if the operation's block is deep enough. */
export function computeNextCheck(checks: number, now: number): number | null {
  const [last, next] = [CHECKS_AFTER_MINUTES[checks - 1], CHECKS_AFTER_MINUTES[checks]];
  return last === undefined || next === undefined ? null : now + (next - last) * MINUTE_MS;
}
