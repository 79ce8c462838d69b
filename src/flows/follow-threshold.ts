// Contract section 6, Escrow: a rating moves a provider's threshold, and the contract splits by what it was last told. The
// cron hands what is behind to the queue, so a rating that moves ten times in a minute costs one transaction.
import { didHash } from "../chain/hashes.ts";
import { createChainSender } from "../chain/sender.ts";
import { registrarOn } from "../chain/signer.ts";
import type { Deps } from "../context.ts";
import { systemClock } from "../core/clock.ts";
import { commit, readBatch } from "../db/batch.ts";
import { findBehind, findEscrow, setChainThreshold } from "../escrow/store.ts";

export type Escrowed = { did: string; environment: string; network: string };

/** The cron's. */
export async function followThresholds(deps: Deps, slice: number): Promise<void> {
  const { behind } = await readBatch(deps.db, { behind: findBehind(deps.db, slice) });
  for (const { did, environment, network } of behind) {
    await deps.env.JOBS.send({ kind: "follow_threshold", did, environment, network });
  }
}

/** Safe to run twice: the gateway sends nothing when the chain already says so. False when the chain has not answered yet. */
export async function followThreshold(deps: Deps, key: Escrowed, until: number): Promise<boolean> {
  const { db } = deps;
  const [escrow] = (await readBatch(db, { escrow: findEscrow(db, key) })).escrow;
  if (!escrow || escrow.threshold === escrow.chainThreshold) return true;
  const signer = registrarOn(deps.env, key.network);
  const sent = await deps.chain.setThreshold(key.network, didHash(key.did), BigInt(escrow.threshold), signer);
  if (!sent.ok) return false;
  if (sent.value.state === "refused") throw new Error(`the threshold was refused: ${sent.value.reason}`);
  if (sent.value.state === "submitted") {
    const sender = createChainSender(deps.config.networks);
    const seen = await sender.waitForReceipt(key.network, sent.value.txHash, Math.max(0, until - systemClock.now()));
    if (!seen.ok || seen.value.state === "waiting") return false;
    if (seen.value.state === "reverted") throw new Error("the threshold was reverted");
  }
  // What was told, not what is wanted by now: a rating may have moved on, and then the escrow is behind again.
  await commit(db, [setChainThreshold(db, key, escrow.threshold)]);
  return true;
}
