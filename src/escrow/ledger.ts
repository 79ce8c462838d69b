// The ledger of a vault: makes lines from the contract's events (MKT-23). Pure. A line is one movement; what a vault holds beyond its lines came
// without an event, and is a deposit too.
import { digestSettlement } from "../chain/digests.ts";
import type { EventAt } from "../chain/gateway.ts";
import { capBaseUnits } from "../core/text.ts";
import type { LedgerDifference } from "../db/tables/chain.ts";
import type { LedgerLine } from "../db/tables/money.ts";

export type Movement = Extract<EventAt, { kind: "settled" | "deposit" | "release" | "payout" }>;

export const isMovement = (event: EventAt): event is Movement =>
  event.kind === "deposit" || event.kind === "release" || event.kind === "payout" || event.kind === "settled";

export type Vault = Pick<LedgerLine, "did" | "network" | "contract" | "held" | "deposited" | "number">;

export const createEmptyVault = (of: Pick<LedgerLine, "did" | "network" | "contract">): Vault => ({
  ...of,
  held: 0,
  deposited: 0,
  number: 0,
});

/** A vault that held less than its lines say. `expected`: what it should have held. */
export type Difference = Omit<LedgerDifference, "foundAt">;

/** `vault`: as the last of the lines leaves it. */
export type Booked = {
  readonly vault: Vault;
  readonly lines: readonly LedgerLine[];
  readonly differences: readonly Difference[];
};

/**
 * Makes the lines of a vault's movements, which are in the order of the chain. One call has all movements of a block, because settlements that put
 * nothing into the vault are numbered by their place among them, apart from the other lines.
 */
export const toLedgerLines = (vault: Vault, movements: readonly Movement[]): Booked =>
  movements.reduce<Booked>(addMovement, { vault, lines: [], differences: [] });

function addMovement(booked: Booked, movement: Movement, at: number): Booked {
  const { logIndex, vaultBalance } = movement;
  const moved = toMovedUnits(movement);
  const [before, after] = [capBaseUnits(vaultBalance - moved), capBaseUnits(vaultBalance)];
  // A movement out of the vault has its whole amount, even if the vault held more than is counted: the uncounted rest then comes in after it.
  const isFuller = moved < 0n && after - before !== Number(moved);
  const amount = moved < 0n ? Number(moved) : after - before;
  const unseen = { logIndex: computeLogIndexBefore(logIndex), amount };
  const line = { logIndex, kind: toLineKind(movement), amount, ...toLineNames(movement) };
  const isSettled = movement.kind === "settled";
  const found = isFuller ? booked : levelLines(booked, movement, before, unseen);
  const lined =
    amount !== 0 ? addLine(found, movement, line) : isSettled ? addEmptyLine(found, movement, line, at) : found;
  return isFuller ? levelLines(lined, movement, after, unseen) : lined;
}

const LINES_OF_BLOCK = 1_000_000;
/** The highest number that a line which puts nothing into a vault can have after this block. */
export const computeEmptyLineNumber = (blockNumber: number): number => -(blockNumber + 1) * LINES_OF_BLOCK;

function addEmptyLine(booked: Booked, place: LinePlace, line: NewLine, at: number): Booked {
  const { lines } = addLine(booked, place, line);
  const own = lines.slice(-1).map((one) => ({ ...one, number: computeEmptyLineNumber(place.blockNumber - 1) - at }));
  return { ...booked, lines: [...booked.lines, ...own] };
}

/** The balance of a vault at the end of a block, read without an event. */
export type Sight = {
  readonly held: number;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly minedAt: number;
};

/** Makes the line for a balance that was read alone. `vaultAddress` tells apart vaults that were read at one block. */
export function toLineOfSight(vault: Vault, { held, ...block }: Sight, vaultAddress: string): Booked {
  const place = { ...block, txHash: `${block.blockHash}:${vaultAddress}` };
  return levelLines({ vault, lines: [], differences: [] }, place, held, { logIndex: -1, amount: 0 });
}

type NewLine = Pick<LedgerLine, "logIndex" | "kind" | "amount"> & Partial<LineNames>;
type LineNames = Pick<LedgerLine, "settlementKey" | "parts">;
type LinePlace = Pick<LedgerLine, "txHash" | "blockNumber" | "blockHash" | "minedAt">;

/** Compares the lines with what the vault held just before a movement of `amount`: more is a deposit, less a difference. */
function levelLines(
  { vault, lines, differences }: Booked,
  place: LinePlace,
  held: number,
  { logIndex, amount }: Pick<LedgerLine, "logIndex" | "amount">,
): Booked {
  const without = held - vault.held;
  if (without > 0) return addLine({ vault, lines, differences }, place, { logIndex, kind: "deposit", amount: without });
  if (without === 0) return { vault, lines, differences };
  const { did, network, contract } = vault;
  const numbers = { held: held + amount, expected: vault.held + amount, blockNumber: place.blockNumber };
  return { vault: { ...vault, held }, lines, differences: [...differences, { did, network, contract, ...numbers }] };
}

function addLine(
  { vault, lines, differences }: Booked,
  { txHash, blockNumber, blockHash, minedAt }: LinePlace,
  { logIndex, kind, amount, settlementKey = null, parts = null }: NewLine,
): Booked {
  const after = {
    ...vault,
    held: vault.held + amount,
    deposited: vault.deposited + (kind === "settlement" ? 0 : amount),
    number: vault.number + 1,
  };
  const line = {
    ...after,
    txHash,
    logIndex,
    kind,
    amount,
    blockNumber,
    blockHash,
    minedAt,
    reversed: false,
    settlementKey,
    parts,
  };
  return { vault: after, lines: [...lines, line], differences };
}

/** A line without an event has a place of its own, just before the event that shows it. */
const computeLogIndexBefore = (logIndex: number): number => -1 - logIndex;

/** Base units; negative if they left the vault. */
function toMovedUnits(movement: Movement): bigint {
  if (movement.kind === "settled") return movement.escrow;
  return movement.kind === "deposit" ? movement.amount : -movement.amount;
}

const toLineNames = (movement: Movement): Partial<LineNames> => {
  if (movement.kind === "payout") return { settlementKey: movement.settlementKey };
  return movement.kind === "settled" ? { parts: digestSettlement(movement) } : {};
};

const toLineKind = ({ kind }: Movement): LedgerLine["kind"] => (kind === "settled" ? "settlement" : kind);
