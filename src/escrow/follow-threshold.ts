// A rating moves a provider's threshold, and the contract splits by what it was last told. The
// cron hands what is behind to the queue, so a rating that moves ten times in a minute costs one transaction.
import { didHash } from "../chain/hashes.ts";
import { createChainSender } from "../chain/sender.ts";
import type { Deps } from "../context.ts";
import { systemClock } from "../core/clock.ts";
import { isEnvironment } from "../core/vocabulary.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import type { EachJob } from "../jobs/job.ts";
import { registrarOn } from "../objects/signers.ts";
import { findBehind, findEscrow, setChainThreshold } from "./store.ts";

export type Escrowed = Pick<EscrowRow, "did" | "environment" | "network">;

const idOf = ({ did, environment, network }: Escrowed): string => `${did} ${environment} ${network}`;
function keyOf(id: string): Escrowed | null {
  const [did, environment, network] = id.split(" ");
  return did !== undefined && isEnvironment(environment) && network !== undefined
    ? { did, environment, network }
    : null;
}

export const followThresholds: EachJob = {
  kind: "each",
  name: "follow_thresholds",
  find: async ({ db, clock }, after, limit) => {
    const { behind } = await readBatch(db, { behind: findBehind(db, after && keyOf(after.id), limit) });
    // Since when is not stored: what the contract says follows within a minute or two.
    return behind.map((key) => ({ at: clock.now(), id: idOf(key) }));
  },
  record: async ({ env }, id) => {
    const key = keyOf(id);
    if (key) await env.CHAIN_QUEUE.send({ kind: "follow_threshold", ...key });
    return key !== null;
  },
};

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
