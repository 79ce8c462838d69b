// Specification 3.4: what an escrow's balance makes of it. Pure.
import type { EconomicRole, EscrowState } from "../core/vocabulary.ts";

/** FUNDING ⇄ ACTIVE by the balance; CONSTRAINED stays for as long as a dispute holds it. */
export function escrowStateAt(present: EscrowState, balance: number, threshold: number): EscrowState {
  if (present === "CONSTRAINED") return "CONSTRAINED";
  return balance >= threshold ? "ACTIVE" : "FUNDING";
}

const WORST_FIRST = ["CONSTRAINED", "FUNDING", "ACTIVE"] as const satisfies readonly EscrowState[];

/** One word for all networks of a provider: the worst that holds on any of them. Consumers have none. */
export function worstEscrowState(role: EconomicRole, escrows: readonly { state: EscrowState }[]): EscrowState | null {
  if (role === "CONSUMER") return null;
  return WORST_FIRST.find((state) => escrows.some((escrow) => escrow.state === state)) ?? "FUNDING";
}
