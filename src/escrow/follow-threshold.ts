// Writes a provider's threshold to the contract after a rating has moved it (MKT-20). The cron queues the escrows whose contract has not followed, so
// a rating that moves ten times in a minute costs one transaction.
import { computeFirstCheck } from "../chain/operations.ts";
import { driveSplit, toSplitKey } from "../chain/split.ts";
import { changeWanted } from "../chain/store.ts";
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/clock.ts";
import { isEnvironment } from "../core/vocabulary.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import type { EachJob } from "../jobs/job.ts";
import { createSigner } from "../objects/signers.ts";
import { findEscrow, findLaggingEscrows, setChainThreshold } from "./store.ts";
import { doesContractLag, pickVaultThreshold } from "./threshold.ts";

export type EscrowId = Pick<EscrowRow, "did" | "environment" | "network">;

function parseEscrowId(id: string): EscrowId | null {
  const [did, environment, network] = id.split(" ");
  return did !== undefined && isEnvironment(environment) && network !== undefined
    ? { did, environment, network }
    : null;
}

export const followThresholds: EachJob = {
  kind: "each",
  name: "follow_thresholds",
  find: async ({ db }, after, limit) => {
    const { behind } = await readBatch(db, { behind: findLaggingEscrows(db, after ?? BEFORE_FIRST_DUE, limit) });
    return behind;
  },
  record: async ({ env }, id) => {
    const key = parseEscrowId(id);
    if (key) await env.CHAIN_QUEUE.send({ kind: "follow_threshold", ...key });
    return key !== null;
  },
};

/** Safe to run twice: nothing is sent if the contract is near enough. Returns false if the chain has not answered yet. */
export async function followThreshold(deps: Deps, key: EscrowId, until: number): Promise<boolean> {
  const { db } = deps;
  const [escrow] = (await readBatch(db, { escrow: findEscrow(db, key) })).escrow;
  if (!escrow) return true;
  return !doesContractLag(escrow) || writeThreshold(deps, escrow, until);
}

/** Writes the escrow's threshold to the contract, exact to the base unit. */
export async function writeThreshold(deps: Deps, escrow: EscrowRow, until: number): Promise<boolean> {
  const { db, chain, env } = deps;
  const { did, network } = escrow;
  const threshold = pickVaultThreshold(escrow);
  // Only markets change the wallet.
  const split = { wallet: null, threshold };
  const tools = { chain, signer: createSigner(env, "registrar", network) };
  const driven = await driveSplit(tools, network, did, split, until);
  // Nothing is recorded while the transaction waits: the operation's row still states what the contract has, and is watched.
  if (driven.state === "waiting") return false;
  if (driven.state === "failed") throw new Error(`the threshold was refused: ${driven.reason}`);
  const now = Date.now();
  // The wallet that the markets name, not the contract's: a wallet that is no longer wanted must not count as wanted.
  const wanted = { wallet: escrow.operationalWallet, threshold: String(threshold) };
  // Records the threshold that was sent. If a rating has moved it since, the contract has to follow again.
  await commit(db, [
    changeWanted(
      db,
      toSplitKey(network, did),
      { wanted, txHash: driven.txHash, nextCheckAt: computeFirstCheck(now) },
      now,
    ),
    setChainThreshold(db, escrow, threshold),
  ]);
  return true;
}
