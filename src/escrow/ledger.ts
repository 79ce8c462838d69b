// The ledger of a vault: lines out of the contract's events (MKT-22). Pure. A line is one movement; what a vault holds beyond its lines came to
// it without an event, and is a deposit too.
import type { EventAt } from "../chain/gateway.ts";
import type { LedgerLine } from "../db/tables/money.ts";

/** An event that moves a vault's token. */
export type Movement = Extract<EventAt, { kind: "settled" | "deposit" | "release" | "payout" }>;

export const isMovement = (event: EventAt): event is Movement =>
  event.kind === "deposit" || event.kind === "release" || event.kind === "payout" || event.kind === "settled";

/** The vault that lines are of, and what its newest line says. */
export type Vault = Pick<LedgerLine, "did" | "network" | "contract"> & {
  readonly held: number;
  readonly number: number;
};

/** `expected`: what a vault should have held at a place by its lines, where it held less. */
export type Difference = Pick<LedgerLine, "did" | "network" | "txHash" | "blockNumber" | "held"> & {
  readonly expected: number;
};

export type Booked = { readonly lines: readonly LedgerLine[]; readonly differences: readonly Difference[] };

/** The lines of a vault's movements, in the order of the chain. A settlement that put nothing into it is no movement. */
export function linesOf(vault: Vault, movements: readonly Movement[]): Booked {
  const lines: LedgerLine[] = [];
  const differences: Difference[] = [];
  const { did, network, contract } = vault;
  let { held, number } = vault;
  for (const movement of movements) {
    const { txHash, logIndex, blockNumber, blockHash, minedAt } = movement;
    const place = { did, network, contract, txHash, blockNumber, blockHash, minedAt, reversed: false };
    const amount = amountOf(movement);
    const after = Number(movement.vaultBalance);
    const without = after - amount - held;
    if (without > 0) {
      number += 1;
      lines.push({
        ...place,
        logIndex: beforeEvent(logIndex),
        kind: "deposit",
        amount: without,
        held: after - amount,
        number,
      });
    }
    if (without < 0) differences.push({ did, network, txHash, blockNumber, held: after, expected: held + amount });
    if (amount !== 0) {
      number += 1;
      lines.push({ ...place, logIndex, kind: kindOf(movement), amount, held: after, number });
    }
    held = after;
  }
  return { lines, differences };
}

/** What came without an event has a place of its own, just before the event that shows it. */
const beforeEvent = (logIndex: number): number => -1 - logIndex;

/** Base units; less than zero where they left the vault. */
function amountOf(movement: Movement): number {
  if (movement.kind === "settled") return Number(movement.escrow);
  return movement.kind === "deposit" ? Number(movement.amount) : -Number(movement.amount);
}

const kindOf = ({ kind }: Movement): LedgerLine["kind"] => (kind === "settled" ? "settlement" : kind);

/** What of the lines counts for state and threshold by itself: settlements count once they are facilitated. */
export const countingAmount = (lines: readonly LedgerLine[]): number =>
  lines.reduce((sum, { kind, amount }) => (kind === "settlement" ? sum : sum + amount), 0);
