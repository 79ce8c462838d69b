// Drives and records chain operations (CHN-14). An operation names the state that the contract should have, and is done when the contract has it,
// whatever happened to a transaction. Each round plans the next call from the contract's present state; the signer sends, resends and replaces. The caller
// commits the record with its own rows. The plan of each kind stands in a file of its own, such as split.ts.
import { systemClock } from "../core/clock.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../core/limits.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { OperationRow } from "../db/tables/chain.ts";
import type { ScheduledUntil } from "./delayed-calls.ts";
import type { ChainGateway, ChainResult, Plan, Precedence, Signer } from "./gateway.ts";
import { changeOperation, noteCheck, type OperationKey, putOperation } from "./store.ts";

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

// ---- Recording -----------------------------------------------------------------------------------------------------------

const toReason = (driven: DriveResult<unknown>): string | null => (driven.state === "done" ? null : driven.reason);

/** Returns the statement that records the progress of an operation that was not read. It is rechecked, however it ended. */
export function putDriven(
  db: Database,
  key: OperationKey,
  wanted: OperationRow["wanted"],
  driven: DriveResult<unknown>,
  now: number,
): Statement {
  const { state: status, txHash } = driven;
  return putOperation(
    db,
    key,
    { wanted, status, reason: toReason(driven), txHash, nextCheckAt: computeFirstCheck(now) },
    now,
  );
}

/** The schedule of an operation that waits for a delay of the contract, as it was last seen. */
export function toSeenSchedule({ wanted }: Pick<OperationRow, "wanted">): ScheduledUntil | null {
  const { effective_at: effectiveAt, nonce } = wanted;
  return effectiveAt && nonce ? { effectiveAt: Number(effectiveAt), nonce: Number(nonce) } : null;
}

/** A kind of operation may record more than how it was driven: a step that is done may leave more to do. */
export type OwnProgress = Pick<OperationRow, "wanted"> &
  Partial<Pick<OperationRow, "status" | "nextCheckAt">> & { readonly scheduled?: ScheduledUntil | null };

/**
 * Records the progress of an operation. Aborts the batch if it changed since it was read. A refusal may end, such as that of a wallet which the token
 * refuses, so a failed operation is tried again each hour; every other one is looked at again after a minute, or once its schedule is over.
 */
export function recordDriven(
  db: Database,
  read: OperationRow,
  driven: DriveResult<unknown>,
  { wanted, scheduled = null, ...own }: OwnProgress,
  now: number,
): Statement[] {
  const { state: status, txHash } = driven;
  const known = status === "done" ? scheduled : toSeenSchedule(read);
  const nextCheckAt = status === "failed" ? now + HOUR_MS : computeFirstCheck(now);
  const set = {
    ...{ status, reason: toReason(driven), nextCheckAt, checks: 0 },
    wanted: { ...wanted, ...(known && { effective_at: String(known.effectiveAt), nonce: String(known.nonce) }) },
    ...(txHash !== null && { txHash }),
    ...(status === "done" && scheduled && toScheduled(scheduled, now)),
  };
  return changeOperation(db, read, { ...set, ...own }, now);
}

const toScheduled = ({ effectiveAt }: ScheduledUntil, now: number) =>
  ({
    status: "waiting",
    reason: "scheduled",
    nextCheckAt: Math.max(effectiveAt + SECOND_MS, now + MINUTE_MS),
  }) as const;

/** Records that the contract still has the state of an operation that is done, unless the operation changed since it was read. */
export function recordRecheck(db: Database, read: OperationRow, now: number): Statement {
  const checks = read.checks + 1;
  const [last, next] = [CHECKS_AFTER_MINUTES[checks - 1], CHECKS_AFTER_MINUTES[checks]];
  // After the last check, the operation's block is deep enough.
  const isDeep = last === undefined || next === undefined;
  return noteCheck(db, read, checks, isDeep ? null : now + (next - last) * MINUTE_MS);
}

/** Records nothing but when the operation is looked at again. Aborts the batch if it changed since it was read. */
export const postponeOperation = (
  db: Database,
  read: OperationRow,
  nextCheckAt: number | null,
  now: number,
): Statement[] => changeOperation(db, read, { nextCheckAt }, now);

export const computeFirstCheck = (now: number): number => now + CHECKS_AFTER_MINUTES[0] * MINUTE_MS;
