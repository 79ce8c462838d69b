// Reads an agent's vaults for production (AGT-34). Deposits at any time and contributions of production's settlements count there; contributions of
// the sandbox's settlements to the same vault are test money.
import type { Deps } from "../context.ts";
import { SECOND_MS } from "../core/limits.ts";
import { readBatch } from "../db/batch.ts";
import type { MarketRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { syncVault } from "../follower/check.ts";
import { isFunded, pickEscrowsInUse } from "../follower/escrow-turns.ts";
import { findEscrows } from "../identity/store.ts";

/** `seen`: false if the chain could not be read, and the escrows are as they were known. */
export type SyncedEscrows = { readonly escrows: EscrowRow[]; readonly seen: boolean };

/** Returns the escrows in production. If they are not funded as far as they are known, the vaults are read now. */
export async function syncVaults(
  deps: Deps,
  did: string,
  known: EscrowRow[],
  markets: readonly MarketRow[],
): Promise<SyncedEscrows> {
  if (isFunded(known, markets)) return { escrows: known, seen: true };
  const until = Date.now() + SYNC_WAIT_MS;
  const seen = await Promise.all(
    pickEscrowsInUse(known, markets).map(({ network }) => syncVault(deps, did, network, until)),
  );
  const { escrows } = await readBatch(deps.db, { escrows: findEscrows(deps.db, did, "production") });
  return { escrows, seen: seen.every(Boolean) };
}

/** How long a call waits for the follower. */
const SYNC_WAIT_MS = 5 * SECOND_MS;
