// A provider's escrow as its platform sees it: what counts, the thresholds, and the newest movements of each vault (MKT-26). It takes one trip, whose
// rows do not grow with the history.
import { toEscrowView } from "../agents/views.ts";
import type { ManagementCall } from "../call.ts";
import { formatTokenUnits, requireNetwork } from "../chain/networks.ts";
import type { Config, Deps } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { VAULT_MOVEMENTS } from "../core/limits.ts";
import type { Environment } from "../core/vocabulary.ts";
import type { ReadResults } from "../db/batch.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { pickEditionContract, pickWorstEscrowState } from "../escrow/states.ts";
import { type AgentWithPrincipal, findEscrows } from "../identity/store.ts";
import type { EscrowReport, VaultView } from "./responses.ts";
import { findBookedBlocks, findVaultLines, type VaultLine } from "./store.ts";

export const buildVaultReads = ({ db, config }: Deps, did: string, environment: Environment) => ({
  escrows: findEscrows(db, did, environment),
  booked: findBookedBlocks(db, did, environment),
  lines: findVaultLines(db, { did, environment }, presentEditionsOf(config), VAULT_MOVEMENTS),
});
export type Vaults = ReadResults<ReturnType<typeof buildVaultReads>>;

/** The present edition of each network. */
const presentEditionsOf = ({ networks }: Config): Record<string, string> =>
  Object.fromEntries(networks.map((one) => [one.network, one.settlement_contract.toLowerCase()]));

export async function getEscrow(call: ManagementCall<AgentWithPrincipal>, did: string): Promise<EscrowReport> {
  const { deps, environment } = call;
  const { object, ...vaults } = await call.read(buildVaultReads(deps, did, environment));
  return toEscrowReport(deps.config, object, vaults);
}

/** A consumer has no escrow, so its state is null. */
export const toEscrowReport = (
  config: Config,
  { agent }: AgentWithPrincipal,
  { escrows, lines, booked }: Vaults,
): EscrowReport => ({
  did: agent.did,
  escrow_state: pickWorstEscrowState(agent.economicRole, escrows),
  escrow: escrows.map((escrow) => toVaultView(config, escrow, lines, booked.get(escrow.network) ?? null)),
});

function toVaultView(
  config: Config,
  escrow: EscrowRow,
  lines: readonly VaultLine[],
  bookedBlock: number | null,
): VaultView {
  const network = requireNetwork(config.networks, escrow.network);
  const own = lines
    .filter((line) => line.network === escrow.network && line.contract === pickEditionContract(escrow, network))
    .toSorted((one, other) => other.number - one.number);
  const shown = (units: number): string => formatTokenUnits(network, units);
  return {
    ...toEscrowView(config, escrow),
    as_of_block: bookedBlock,
    operational_wallet: escrow.operationalWallet,
    base_threshold: shown(escrow.baseThreshold),
    chain_threshold: shown(escrow.chainThreshold),
    held: shown(own[0]?.held ?? 0),
    contributed: shown(escrow.contributed),
    movements: own.map((line) => ({
      kind: line.kind,
      amount: shown(Math.abs(line.amount)),
      held: shown(line.held),
      transaction_id: line.transactionId,
      // A movement without an event has no transaction of its own.
      tx_hash: line.logIndex < 0 ? null : line.txHash,
      block_number: line.blockNumber,
      mined_at: toIso(line.minedAt),
    })),
  };
}
