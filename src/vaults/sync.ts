// Reads the chain for one provider at once (MKT-27): the follower books what the provider's networks have, and its vaults are compared with their
// lines.
import type { ManagementCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { CHAIN_LOOK_MS } from "../core/limits.ts";
import { sells } from "../core/roles.ts";
import { readBatch } from "../db/batch.ts";
import { syncVault } from "../follower/check.ts";
import { type AgentWithPrincipal, findEscrows } from "../identity/store.ts";
import { buildVaultReads, toEscrowReport } from "./read.ts";
import type { EscrowReport } from "./responses.ts";

const RETRY_SECONDS = 2;

export async function syncEscrow(call: ManagementCall<AgentWithPrincipal>, did: string): Promise<EscrowReport> {
  const { db, deps, environment } = call;
  const { object: found, escrows } = await call.read({ escrows: findEscrows(db, did, environment) });
  if (!sells(found.agent.economicRole)) throw new ServiceError("role_not_permitted");
  const until = Date.now() + CHAIN_LOOK_MS;
  const synced = await Promise.all(escrows.map(({ network }) => syncVault(deps, did, network, until)));
  if (synced.includes(false))
    throw new ServiceError("chain_unavailable", { headers: { "Retry-After": String(RETRY_SECONDS) } });
  return toEscrowReport(deps.config, found, await readBatch(db, buildVaultReads(deps, did, environment)));
}
