// Reads a provider's escrow for its platform (MKT-26, MKT-27), and lists for operators the differences that the reconciliation found (MKT-28).
import { toEscrowView } from "../agents/read.ts";
import { type ManagementCall, type OperatorCall, readPage } from "../call.ts";
import { findNetwork, formatTokenUnits, requireNetwork, toCaip2 } from "../chain/networks.ts";
import type { Config, Deps } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { CHAIN_LOOK_MS, VAULT_MOVEMENTS } from "../core/limits.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import { sells } from "../core/roles.ts";
import type { Environment } from "../core/vocabulary.ts";
import { type ReadResults, readBatch } from "../db/batch.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { pickEditionContract, pickWorstEscrowState } from "../escrow/states.ts";
import { syncVault } from "../follower/check.ts";
import { type AgentWithPrincipal, findEscrows } from "../identity/store.ts";
import type { DifferenceView, EscrowReport, VaultView } from "./responses.ts";
import type { DifferenceQuery } from "./schema.ts";
import {
  findBookedBlocks,
  findVaultLines,
  type ListedDifference,
  listDifferences,
  toDifferencePlace,
  type VaultLine,
} from "./store.ts";

export async function getEscrow(call: ManagementCall<AgentWithPrincipal>, did: string): Promise<EscrowReport> {
  const { deps, environment } = call;
  const { object, ...vaults } = await call.read(buildVaultReads(deps, did, environment));
  return toEscrowReport(deps.config, object, vaults);
}

/** Reads the chain at once: the follower books what the provider's networks have, and its vaults are compared with their lines. */
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

const RETRY_SECONDS = 2;

/** The rows do not grow with the history. */
const buildVaultReads = ({ db, config }: Deps, did: string, environment: Environment) => ({
  escrows: findEscrows(db, did, environment),
  booked: findBookedBlocks(db, did, environment),
  lines: findVaultLines(db, { did, environment }, presentEditionsOf(config), VAULT_MOVEMENTS),
});
type Vaults = ReadResults<ReturnType<typeof buildVaultReads>>;

/** The present edition of each network. */
const presentEditionsOf = ({ networks }: Config): Record<string, string> =>
  Object.fromEntries(networks.map((one) => [one.network, one.settlement_contract.toLowerCase()]));

/** A consumer has no escrow, so its state is null. */
const toEscrowReport = (
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

// ---- Differences -----------------------------------------------------------------------------------------------------------

/** Nothing repairs a difference: the operator finds out what became of the money. */
export async function getDifferences(call: OperatorCall, query: DifferenceQuery): Promise<Page<DifferenceView>> {
  const { config } = call.deps;
  const network = query.network === undefined ? undefined : findNetwork(config.networks, query.network)?.network;
  const filter = { network, did: query.did };
  const page = await readPage(call, query, hashListing("differences", [], filter));
  const { rows } = await call.read({ rows: listDifferences(call.db, filter, page) });
  if (query.network !== undefined && network === undefined)
    throw toValidationError([toFieldError("network", "invalid_value", "No such network; see GET /v1/markets.")]);
  return toPage(
    rows,
    page,
    (row) => ({ at: row.foundAt, id: toDifferencePlace(row) }),
    (row) => toDifferenceView(config, row),
  );
}

function toDifferenceView(config: Config, row: ListedDifference): DifferenceView {
  const network = requireNetwork(config.networks, row.network);
  return {
    network: row.network,
    caip2: toCaip2(network),
    did: row.did,
    contract: row.contract,
    currency: network.currency,
    held: formatTokenUnits(network, row.held),
    expected: formatTokenUnits(network, row.expected),
    block_number: row.blockNumber,
    found_at: toIso(row.foundAt),
    alert_id: row.alertId,
  };
}
