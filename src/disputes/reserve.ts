// Sets the contract's reserve to what open disputes and unpaid awards claim of a vault (DSP-15). Anyone may release a vault's surplus, and the
// reserve is not surplus.
import { hashDid } from "../chain/hashes.ts";
import { requireNetwork, selectEdition } from "../chain/networks.ts";
import { recordDriven, recordRecheck } from "../chain/operations.ts";
import { findOperation } from "../chain/store.ts";
import { driveAct } from "../chain/vault-acts.ts";
import type { Deps } from "../context.ts";
import { leaveConflicts } from "../core/retry.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { OperationRow } from "../db/tables/chain.ts";
import type { DisputeRow } from "../db/tables/disputes.ts";
import { pickEditionContract } from "../escrow/states.ts";
import { findEscrowsOfVault } from "../escrow/store.ts";
import { tendOperations } from "../jobs/tend.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";
import { createSigner } from "../objects/signers.ts";

/** Queues the chain work after a commit that changed a claim. If a message is lost, the minute's job finds the work. */
export const queueReserve = async (
  { env }: Pick<Deps, "env">,
  { network, providerDid, disputeId, refundFrom }: DisputeRow,
): Promise<void> => {
  const sends = [
    env.CHAIN_QUEUE.send({ kind: "set_reserve", network, did: providerDid }),
    ...(refundFrom === "vault" ? [env.CHAIN_QUEUE.send({ kind: "pay_award", network, disputeId })] : []),
  ];
  await Promise.all(sends).catch(() => undefined);
};

/** Returns false if the chain does not answer in time, or if another claim was requested meanwhile: a later run continues. */
export const setReserve = (deps: Deps, vault: { network: string; did: string }, until: number): Promise<boolean> =>
  leaveConflicts(() => driveReserve(deps, vault, until));

async function driveReserve(deps: Deps, vault: { network: string; did: string }, until: number): Promise<boolean> {
  const { db, chain, env, config } = deps;
  const { network, did } = vault;
  const { operation, escrows } = await readBatch(db, {
    operation: findOperation(db, { network, kind: "reserve", subject: did }),
    escrows: findEscrowsOfVault(db, vault),
  });
  if (!operation || operation.nextCheckAt === null) return true;
  const present = requireNetwork(config.networks, network);
  const [escrow] = escrows;
  const on = escrow ? selectEdition(present, pickEditionContract(escrow, present)) : null;
  if (!on) return true;
  const kept = escrows.reduce((sum, { disputed, owed }) => sum + Math.max(0, disputed + owed), 0);
  const act = { kind: "reserve", providerDidHash: hashDid(did), reserve: BigInt(kept) } as const;
  const driven = await driveAct({ chain, signer: createSigner(env, "arbiter", network) }, on, act, null, until);
  const reserve = String(kept);
  const now = Date.now();
  const stays = driven.state === "done" && operation.status === "done" && operation.wanted["reserve"] === reserve;
  await commit(
    db,
    stays
      ? [recordRecheck(db, operation, now)]
      : [
          ...recordDriven(db, operation, driven, { wanted: { reserve } }, now),
          ...(driven.state === "failed" ? [raiseAlert(db, toRefusedReserveAlert(operation, driven.reason))] : []),
        ],
  );
  return driven.state !== "waiting";
}

const toRefusedReserveAlert = ({ subject, network }: OperationRow, reason: string): Alert => ({
  kind: "award",
  subject: `${subject} on ${network}`,
  message: `The contract refused the vault's new reserve for disputes: ${reason}.`,
});

export const keepReserves = tendOperations("keep_reserves", "reserve", ({ env }, network, did) =>
  env.CHAIN_QUEUE.send({ kind: "set_reserve", network, did }),
);
