// Derives a provider's escrow from the contract's answer (MKT-15). It is opened with the first market and moved to another vault with a new
// edition of the contract (MKT-22); otherwise only its wallet and contract threshold follow.
import { recordEscrowChange } from "../agents/ratings.ts";
import type { ProviderOnChain } from "../chain/gateway.ts";
import { requireNetwork } from "../chain/networks.ts";
import type { Deps } from "../context.ts";
import type { Statement } from "../db/batch.ts";
import type { MarketRow } from "../db/tables/agents.ts";
import type { EscrowRow, LedgerLine } from "../db/tables/money.ts";
import { hasStateChanged } from "../escrow/changes.ts";
import { computeEscrowState } from "../escrow/states.ts";
import { guardNewestLine, linkThresholds, moveVault, putEscrow, restoreThreshold } from "../escrow/store.ts";
import { computeFirstThreshold } from "../escrow/threshold.ts";
import type { AgentWithPrincipal } from "../identity/store.ts";

type Job = Pick<MarketRow, "did" | "environment" | "network">;

/** The provider's rows: those of the job's environment, and the escrows of the other one. */
export type EscrowFacts = {
  readonly found: AgentWithPrincipal | null;
  readonly markets: MarketRow[];
  readonly escrows: EscrowRow[];
  readonly otherEscrows: EscrowRow[];
  /** The newest ledger line of its vault in the present edition of the contract. */
  readonly newestLine: LedgerLine | null;
};

export const presentEdition = ({ config }: Pick<Deps, "config">, network: string): string =>
  requireNetwork(config.networks, network).settlement_contract.toLowerCase();

/** The contract's answer; `base` is the threshold of an unrated provider. */
export type VaultOnChain = { readonly onChain: ProviderOnChain; readonly wallet: string; readonly base: number };

/**
 * The escrow's row when its first market opens. An existing row of the same vault is not overwritten from a read that may be outdated: its
 * balance follows settlements and its threshold the rating, so only its wallet and contract threshold are written here.
 */
export function deriveEscrow(
  { config }: Deps,
  job: Job,
  { found, escrows, newestLine }: EscrowFacts,
  { onChain, wallet, base }: VaultOnChain,
  now: number,
): EscrowRow | null {
  if (!found) return null;
  const known = findOnNetwork(escrows, job);
  const chainThreshold = Number(onChain.threshold);
  const { currency } = requireNetwork(config.networks, job.network);
  const contract = presentEdition({ config }, job.network);
  const { vault } = onChain;
  const threshold = computeFirstThreshold(base, job.environment, found.agent);
  if (known?.vault === vault) {
    const thresholds = { baseThreshold: base, threshold };
    const back = { ...thresholds, state: computeEscrowState({ ...known, ...thresholds }) };
    return { ...known, contract, operationalWallet: wallet, chainThreshold, ...(known.baseThreshold === 0 && back) };
  }
  // The amount that the follower has booked: it adds later deposits to the row itself.
  const balance = newestLine?.deposited ?? 0;
  return {
    ...job,
    platformId: found.agent.platformId,
    currency,
    vault,
    contract,
    operationalWallet: wallet,
    // A payment through an earlier edition may still be facilitated: `moveVault` adds the wallet that was paid there.
    formerWallets: known?.formerWallets ?? "[]",
    balance,
    contributed: 0,
    baseThreshold: base,
    threshold,
    otherThreshold: 0,
    chainThreshold,
    // The rating may have moved since the contract got its threshold: then the contract's is already outdated.
    behindSince: Date.now(),
    disputed: known?.disputed ?? 0,
    owed: known?.owed ?? 0,
    state: computeEscrowState({ balance, baseThreshold: base, threshold, disputed: known?.disputed ?? 0 }),
    windowsCloseAt: known?.windowsCloseAt ?? 0,
    updatedAt: now,
  };
}

/** Writes the row, and what both environments know of each other. If another vault brought another state, that is reported. */
export function writeEscrow(deps: Deps, job: Job, facts: EscrowFacts, escrow: EscrowRow, now: number): Statement[] {
  const { db } = deps;
  const { operationalWallet, chainThreshold, vault } = escrow;
  const known = findOnNetwork(facts.escrows, job);
  const other = findOnNetwork(facts.otherEscrows, job);
  // An escrow that is still in an earlier edition's vault has its own split there.
  const follows = other?.vault === vault ? [putEscrow(db, { ...other, operationalWallet, chainThreshold })] : [];
  return [
    // An escrow that is opened from an older line would miss amounts that were booked meanwhile.
    ...(known?.vault === vault ? [] : [guardNewestLine(db, { ...job, contract: escrow.contract }, facts.newestLine)]),
    ...(known && known.vault !== vault ? moveVault(db, known, escrow) : [putEscrow(db, escrow)]),
    ...follows,
    ...(known && hasReturned(known, escrow) ? restoreThreshold(db, known, escrow) : []),
    ...(other ? [linkThresholds(db, escrow)] : []),
    ...(known && (known.vault !== vault || known.state !== escrow.state)
      ? recordStateMove(deps, job, facts, [known, escrow], now)
      : []),
  ];
}

/** True if the provider had left the network, which removed its threshold, and now returns (MKT-30). */
const hasReturned = (known: EscrowRow, after: EscrowRow): boolean =>
  known.vault === after.vault && known.baseThreshold === 0 && after.baseThreshold > 0;

function recordStateMove(
  deps: Deps,
  { environment }: Job,
  { found, markets, escrows }: EscrowFacts,
  [before, after]: readonly [EscrowRow, EscrowRow],
  now: number,
): Statement[] {
  if (!found || environment !== found.agent.environment) return [];
  const held = escrows.map((row) => (row === before ? after : row));
  return recordEscrowChange(deps, { ...found, markets, escrows: held }, hasStateChanged({ before, after }), null, now);
}

const findOnNetwork = (rows: readonly EscrowRow[], { network }: Job): EscrowRow | undefined =>
  rows.find((row) => row.network === network);
